// Setup and cleanup of every file of Vitest's project "postgres".

import { afterAll, inject } from "vitest";
import { closePool } from "./postgres-stores.ts";

process.env["DATABASE_URL"] = inject("postgresUrl");
afterAll(closePool);

import { afterAll } from "vitest";
import { providerContract } from "../../../src/testing/conformance/index.ts";
import { IN_POSTGRES, openInPostgres } from "./postgres-store.ts";
import { closePool } from "../../support/postgres-stores.ts";

afterAll(closePool);
providerContract("PostgreSQL", openInPostgres, IN_POSTGRES);

import { afterAll } from "vitest";
import { providerContract } from "../../src/testing/conformance/index.ts";
import { closePostgres, IN_POSTGRES, openInPostgres } from "./postgres-store.ts";

afterAll(closePostgres);
providerContract("PostgreSQL", openInPostgres, IN_POSTGRES);

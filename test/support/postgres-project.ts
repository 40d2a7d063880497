// Vitest's project "postgres": one server for all its files, there while they run.
//   Its address travels to the files by `provide`; postgres-files.ts takes it up in each.

import type { TestProject } from "vitest/node";
import { postgres } from "./postgres.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** The server that the project "postgres" runs on. */
    postgresUrl: string;
  }
}

/** The server ends with this process, by itself (PG2). */
export default async function setUp(project: TestProject): Promise<void> {
  project.provide("postgresUrl", (await postgres()).url);
}

// Vitest's project "postgres": one server for all its files.
//   `provide` passes its address to the files; postgres-files.ts reads it in each file.

import type { TestProject } from "vitest/node";
import { postgres } from "./postgres.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** The server that the project "postgres" runs on. */
    postgresUrl: string;
  }
}

/** The server stops when this process ends (postgres.1). */
export default async function setUp(project: TestProject): Promise<void> {
  project.provide("postgresUrl", (await postgres()).url);
}

// The contract on SQLite: in a file, and with PERDURE_FULL also in memory. The test kit uses a store in memory, so
// `npm test` runs that store all the time.

import { providerContract } from "../../../src/testing/conformance/index.ts";
import { IN_FILE, IN_MEMORY, openInFile, openInMemory } from "./sqlite-store.ts";

providerContract("SQLite in a file", openInFile, IN_FILE);
if (process.env["PERDURE_FULL"] === "1") {
  providerContract("SQLite in memory", openInMemory, IN_MEMORY);
}

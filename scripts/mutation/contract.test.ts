// The whole contract of a store, on SQLite in memory: the tests of what the store decides in TypeScript.

import { contractSubjects, registerCases } from "../../src/testing/conformance/index.ts";
import { IN_MEMORY, openInMemory } from "../../test/stores/conformance/sqlite-store.ts";

for (const subject of contractSubjects) registerCases(subject, openInMemory, IN_MEMORY);

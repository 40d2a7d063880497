import { providerContract } from "../../../src/testing/conformance/index.ts";
import { IN_FILE, IN_MEMORY, openInFile, openInMemory } from "./sqlite-store.ts";

providerContract("SQLite in memory", openInMemory, IN_MEMORY);
providerContract("SQLite in a file", openInFile, IN_FILE);

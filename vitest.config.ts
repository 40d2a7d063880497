// How `npm test` runs: every test file in a process of its own, nothing retried.

import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { ClosingReporter } from "./test/support/closing-reporter.ts";

export default defineConfig({
  test: {
    include: ["src/**/*.test.ts", "test/**/*.test.ts"],
    pool: "forks",
    // The main process does next to nothing: two cores are for two files.
    maxWorkers: Math.max(availableParallelism(), 2),
    testTimeout: 60_000,
    hookTimeout: 60_000,
    retry: 0,
    reporters: ["default", new ClosingReporter()],
  },
});

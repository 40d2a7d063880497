// How `npm test` runs: every test file in a process of its own, nothing retried.

import { defineConfig } from "vitest/config";
import { ClosingReporter } from "./test/support/closing-reporter.ts";

export default defineConfig({
  test: {
    include: ["src/**/*.test.ts", "test/**/*.test.ts"],
    pool: "forks",
    testTimeout: 60_000,
    hookTimeout: 60_000,
    retry: 0,
    reporters: ["default", new ClosingReporter()],
  },
});

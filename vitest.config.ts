// How `npm test` runs: every test file in a process of its own, nothing retried.
//   Two projects: all tests, on SQLite where they do not say otherwise; and, once more, the same files on PostgreSQL,
//   as many of them as there is time for, all of them with PERDURE_FULL.

import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { ClosingReporter, MAIN_PROJECT } from "./test/support/closing-reporter.ts";

const ON_POSTGRES = [
  "test/scenarios/*.test.ts",
  "test/operations/*.test.ts",
  "test/kill/{sharing,takeover}.test.ts",
  "test/trouble/killers.test.ts",
  "test/{gate,schedule}/processes.test.ts",
];
const ON_POSTGRES_FULL = [
  "test/lifecycle/*.test.ts",
  "test/limits/*.test.ts",
  "test/programs/*.test.ts",
  "test/routing/*.test.ts",
  "test/flow/{compaction,failures,lifecycle,shapes,workers}.test.ts",
];
const isFull = process.env["PERDURE_FULL"] === "1";

export default defineConfig({
  test: {
    pool: "forks",
    // The main process does next to nothing: two cores are for two files.
    maxWorkers: Math.max(availableParallelism(), 2),
    testTimeout: isFull ? 600_000 : 60_000, // full sizes on a machine that is busy with others of them
    hookTimeout: 60_000,
    expect: { poll: { timeout: 30_000 } }, // a second is little on a busy machine
    retry: 0,
    reporters: ["default", new ClosingReporter()],
    projects: [
      {
        extends: true,
        test: { name: MAIN_PROJECT, include: ["src/**/*.test.ts", "test/**/*.test.ts"] },
      },
      {
        extends: true,
        test: {
          name: "postgres",
          include: isFull ? [...ON_POSTGRES, ...ON_POSTGRES_FULL] : ON_POSTGRES,
          env: { PERDURE_TEST_STORE: "postgres" },
          globalSetup: "./test/support/postgres-project.ts",
          setupFiles: "./test/support/postgres-files.ts",
          testTimeout: isFull ? 600_000 : 300_000, // a virtual month is many round trips
        },
      },
    ],
  },
});

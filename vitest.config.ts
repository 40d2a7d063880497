// How `npm test` runs: every test file in its own process, without retries.
//   Two projects: all tests, on SQLite unless a file says otherwise; and some of the same files again on PostgreSQL,
//   all of them with PERDURE_FULL.

import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { defineConfig } from "vitest/config";
import { ClosingReporter, MAIN_PROJECT } from "./test/support/closing-reporter.ts";
import { fastTemporaryDirectory } from "./test/support/fast-directory.ts";
import { SlowFilesFirst } from "./test/support/slow-files-first.ts";

const ON_POSTGRES = [
  "test/scenarios/**/*.test.ts",
  "test/operations/*.test.ts",
  "test/faults/kill/{sharing,takeover}.test.ts",
  "test/features/{batch,limiter,schedule}/processes.test.ts",
  "test/features/{jobs/limits,queues/operator}.test.ts",
  "test/interfaces/callback/{answers,security,webhooks}.test.ts",
];
const ON_POSTGRES_FULL = [
  "test/faults/trouble/killers.test.ts",
  "test/features/lifecycle/*.test.ts",
  "test/features/limits/*.test.ts",
  "test/features/programs/*.test.ts",
  "test/features/routing/*.test.ts",
  "test/features/flow/{compaction,failures,lifecycle,shapes,workers}.test.ts",
];
const isFull = process.env["PERDURE_FULL"] === "1";
// Test processes and the hundreds of processes that they start compile each source once. Node checks the text of a
// cached module, so the cache may outlive the run.
process.env["NODE_COMPILE_CACHE"] ??= join(tmpdir(), "perdure-compile-cache");
process.env["TMPDIR"] = fastTemporaryDirectory();

export default defineConfig({
  test: {
    pool: "forks",
    // V8 of Node 24 sometimes aborts with "Check failed: jit_page.has_value()" where the processor has memory protection
    // keys and threads end while others start (nodejs/node#64500). Tests of activity threads do that all the time.
    execArgv: ["--no-memory-protection-keys"],
    // Two files more than there are cores: tests wait for child processes, servers, browsers and timers for almost half
    // of their time.
    maxWorkers: availableParallelism() + 2,
    sequence: { sequencer: SlowFilesFirst },
    testTimeout: isFull ? 600_000 : 120_000, // full sizes, or a busy machine
    hookTimeout: 120_000,
    expect: { poll: { timeout: 30_000 } }, // a second is little on a busy machine
    retry: 0,
    reporters: ["default", new ClosingReporter()],
    projects: [
      {
        extends: true,
        test: { name: MAIN_PROJECT, include: ["test/**/*.test.ts"] },
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

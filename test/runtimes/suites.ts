// The suites, and how one runs on a run time.
//   - Vitest itself runs on the run time under test. Its test processes, and the workers that tests start and kill, are
//       started from `process.execPath`, so they run on it, too.
//   - A suite that does not end within its time is killed and counts as one failure. The reason is printed.

import { join } from "node:path";
import { runBounded, type Ended } from "./bounded-process.ts";
import { exceptionsOf, type Exception } from "./exceptions.ts";
import { FOLDER, type RunTime, type RunTimeName } from "./run-times.ts";

const ROOT = join(FOLDER, "../..");
const VITEST = [join(ROOT, "node_modules/vitest/vitest.mjs"), "run", "--project", "all"];
const SECONDS_MAX = 1_800;
/** On a busy machine a worker gets this long to find work before it is killed idle (test/faults/kill/killer.ts). */
const ENVIRONMENT = { PERDURE_IDLE_MS: "10000", NO_COLOR: "1" };
const LAST_LINES = 40;

export interface Suite {
  readonly name: string;
  /** Test files and folders; or a program, which counts as one test. */
  readonly tests?: readonly string[];
  readonly program?: string;
  /** The run times that it applies to, if not to all. */
  readonly runTimes?: readonly RunTimeName[];
}

export const SUITES: readonly Suite[] = [
  { name: "conformance sqlite", tests: ["test/stores/conformance/sqlite.test.ts"] },
  { name: "conformance postgres", tests: ["test/stores/conformance/postgres.test.ts"] },
  { name: "scenarios", tests: ["test/scenarios"] },
  {
    name: "kill",
    tests: ["sigkill", "sharing", "takeover"].map((name) => `test/faults/kill/${name}.test.ts`),
  },
  // What depends most on the run time.
  {
    name: "host",
    tests: [
      "test/features/guards",
      "test/features/context",
      "test/features/routing/executors.test.ts",
      "test/faults/trouble/foreign-await.test.ts",
      "test/faults/trouble/rejections.test.ts",
      "test/unit/sqlite/busy.test.ts",
      "test/unit/sqlite/liveness-thread.test.ts",
      "test/interfaces/cli/worker.test.ts",
    ],
  },
  { name: "demo", program: "demo/main.ts" },
  // The set-ups of docs/typescript.md.
  { name: "typescript", tests: ["test/project/typescript.test.ts"] },
  { name: "tsx", program: "test/runtimes/tsx.ts", runTimes: ["node24", "node26"] },
];

export interface SuiteResult {
  readonly runTime: string;
  readonly suite: string;
  readonly passed: number;
  readonly failed: number;
  readonly seconds: number;
  /** Why it counts as failed although no test did. */
  readonly problem?: string;
  /** The output of a suite that failed. */
  readonly output?: string;
}

export async function runSuite(runTime: RunTime, suite: Suite): Promise<SuiteResult> {
  const exceptions = exceptionsOf(runTime.name, [suite]);
  const began = performance.now();
  const ended = await runBounded(runTime.program, [...runTime.args, ...argsOf(suite, exceptions)], {
    seconds: SECONDS_MAX,
    env: ENVIRONMENT,
  });
  const seconds = (performance.now() - began) / 1_000;
  return { runTime: runTime.name, suite: suite.name, seconds, ...countsOf(suite, ended) };
}

function argsOf({ tests, program = "" }: Suite, exceptions: readonly Exception[]) {
  if (tests === undefined) return [join(ROOT, program)];
  if (exceptions.length === 0) return [...VITEST, ...tests];
  const titles = exceptions.map(({ title }) => escaped(title)).join("|");
  return [...VITEST, ...tests, "--testNamePattern", `^(?!.*(?:${titles}))`];
}

function escaped(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&");
}

function countsOf({ tests }: Suite, { text, code, isLate }: Ended) {
  const found = [...text.matchAll(/^(?<passed>\d+) passed, (?<failed>\d+) failed/gm)].at(-1);
  const isProgram = tests === undefined;
  const passed = Number(found?.groups?.["passed"] ?? (isProgram && code === 0 ? 1 : 0));
  const failed = Number(found?.groups?.["failed"] ?? 0);
  if (code === 0 && failed === 0 && passed > 0) return { passed, failed };
  if (failed > 0 && !isLate) return { passed, failed, output: text };
  const last = text.trimEnd().split("\n").slice(-LAST_LINES).join("\n");
  const problem = isLate
    ? `killed after ${SECONDS_MAX / 60} minutes`
    : `ended with ${code ?? "a signal"}, without a failed test`;
  return { passed, failed: failed + 1, problem, output: last };
}

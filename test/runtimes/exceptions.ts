// Tests that cannot apply to a run time, by name, each with the reason. docs/runtimes.md describes what users see of it.

import type { RunTimeName } from "./run-times.ts";

export interface Exception {
  readonly runTimes: readonly RunTimeName[];
  readonly suite: string;
  /** The title of a test, or the part of it that is the same for all its rows. */
  readonly title: string;
  readonly reason: string;
}

const NAMED_IMPORTS = "names imported from Node's modules do not follow the guards";
const REJECTIONS =
  "unhandled rejections come without their async context, so Perdure cannot know that user code caused them";
const THREAD_COUNT =
  "the test counts threads with process.report, which does not list them on this run time";
const LOOP_TURNS =
  "the event loop turns between two immediates, so a promise that is not durable may settle within a drain";

const EXCEPTIONS: readonly Exception[] = [
  ...exceptions(["bun"], "scenarios", REJECTIONS, [
    "an unhandled rejection in an orchestration is logged and ends nothing",
  ]),
  ...exceptions(["bun", "deno"], "host", NAMED_IMPORTS, [
    "imported by name, is refused like the property",
    "names imported from Node's modules are guarded and restored afterwards",
  ]),
  ...exceptions(["bun", "deno"], "host", "threads have no memory limit", [
    "by hoard loses only the attempt of its task",
  ]),
  ...exceptions(["bun", "deno"], "host", THREAD_COUNT, [
    "is replaced after a backoff, not before",
    "threads end with the runtime, and their tasks are released without counting an attempt",
  ]),
  ...exceptions(["bun"], "host", REJECTIONS, [
    "an unhandled rejection in an activity, a step or an orchestration is logged once",
    "an unhandled rejection of the user's own program ends the process as it would without Perdure",
    "after the user's handler survived an unhandled rejection, those of handlers still do not end the process",
    "never results from an unhandled rejection, which is only logged",
  ]),
  ...exceptions(
    ["bun"],
    "host",
    "it is refused, but the error names setImmediate, which it calls",
    ["scheduler.yield is refused at the call"],
  ),
  ...exceptions(["deno"], "host", "the promisified function is not the guarded one", [
    "a promisified setTimeout is refused",
  ]),
  ...exceptions(["deno"], "host", LOOP_TURNS, [
    "work of another thread is blocked at once",
    "work of another thread after durable work is blocked",
    "a foreign promise in Promise.",
    "a foreign promise that settles before its turn is written is blocked all the same",
  ]),
];

function exceptions(
  runTimes: readonly RunTimeName[],
  suite: string,
  reason: string,
  titles: readonly string[],
): readonly Exception[] {
  return titles.map((title) => ({ runTimes, suite, title, reason }));
}

export function exceptionsOf(
  runTime: RunTimeName,
  suites: readonly { readonly name: string }[],
): readonly Exception[] {
  return EXCEPTIONS.filter(
    ({ runTimes, suite }) =>
      runTimes.includes(runTime) && suites.some(({ name }) => name === suite),
  );
}

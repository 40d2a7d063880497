// Executors: where an activity runs. Descriptions only; the runtime carries them out.
//   X1. Checked when they are made or given: a wrong one never meets a task.
//   X2. `threads(…)` is plain data. One call of it stands for one set of threads in each runtime that uses it, so
//       that activities which share the value share the threads.

import type { ActivityContext } from "./activity-context.ts";
import { PerdureError } from "./errors.ts";
import { showValue } from "./ids.ts";
import { checkMembers, type Members } from "./known-members.ts";

/** One attempt, as an executor of your own receives it. */
export interface ExecutorTask {
  /** The activity's name. */
  readonly name: string;
  /** Decoded, and checked by the activity's schema if it has one. */
  readonly input: unknown;
  readonly context: ActivityContext;
}
/** Runs attempts in place of the activity's own function; what it returns or throws is their outcome. */
export type ExecutorFunction = (task: ExecutorTask) => unknown;

/** What `threads(…)` takes. */
export interface ThreadsOptions {
  /** The module that exports the activities, such as `new URL("./hashing.ts", import.meta.url)`. */
  readonly module: string | URL;
  /** Threads at most; each runs one activity at a time. Default: as many as the machine has cores. */
  readonly size?: number;
  /** How much heap a thread may use, in megabytes, before it ends. Default: Node's own limit. */
  readonly memoryMb?: number;
}
/** A set of worker threads, as described by `threads(…)`. */
export interface Threads {
  readonly kind: "threads";
  readonly module: string;
  readonly size: number | null;
  readonly memoryMb: number | null;
}

/** Where an activity runs: in the process, in threads, or wherever a function of yours takes it. */
export type Executor = "process" | Threads | ExecutorFunction;

const OPTIONS: Members<ThreadsOptions> = { module: true, size: true, memoryMb: true };

/** Describes a set of worker threads that load a module and run the activities it exports. */
export function threads(options: ThreadsOptions): Threads {
  checkMembers(options, OPTIONS, "threads");
  const { module, size, memoryMb } = options;
  return Object.freeze({
    kind: "threads",
    module: moduleAddress(module),
    size: wholeNumber(size, "size"),
    memoryMb: wholeNumber(memoryMb, "memoryMb"),
  });
}

/** Refuses what is no executor. */
export function checkExecutor(executor: unknown, what: string): void {
  if (executor === "process" || typeof executor === "function" || isThreads(executor)) return;
  throw invalid(`${what} is "process", threads(…) or a function, not ${showValue(executor)}`);
}

function isThreads(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const { kind, module, size, memoryMb }: Partial<Record<string, unknown>> = { ...value };
  const isCount = (count: unknown): boolean => count === null || typeof count === "number";
  return kind === "threads" && typeof module === "string" && isCount(size) && isCount(memoryMb);
}

function moduleAddress(module: unknown): string {
  const address = module instanceof URL ? module.href : module;
  if (typeof address === "string" && URL.canParse(address)) return address;
  const example = `new URL("./activities.ts", import.meta.url)`;
  throw invalid(`module of threads is a URL such as ${example}, not ${showValue(module)}`);
}

function wholeNumber(value: number | undefined, name: string): number | null {
  if (value === undefined) return null;
  if (Number.isSafeInteger(value) && value >= 1) return value;
  throw invalid(`${name} of threads is a whole number of at least 1, not ${showValue(value)}`);
}

function invalid(why: string): PerdureError {
  return new PerdureError("INVALID_ARGUMENT", `Executor: ${why}.`);
}

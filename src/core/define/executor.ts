// Executors: where an activity runs. This file only describes executors; the runtime executes the attempts.
//   - An executor is checked when the definition or the runtime receives it, before any task runs on it.
//   - The result of `threads(…)` is plain data. Each runtime keeps one set of threads per result, so that
//       activities which share the result share the threads.

import type { ActivityContext } from "../context/activity-context.ts";
import { showValue } from "../ids/ids.ts";
import { checkInteger, checkMembers, invalidArgument, type Members } from "../checks.ts";

/** One attempt, as a custom executor function receives it. */
export interface ExecutorTask {
  /** The activity's name. */
  readonly name: string;
  /** The decoded input, after validation by the activity's schema if it has one. */
  readonly input: unknown;
  readonly context: ActivityContext;
}
/**
 * Runs attempts instead of the activity's function. Its return value or error is the outcome of the attempt.
 */
export type ExecutorFunction = (task: ExecutorTask) => unknown;

/** Options of `threads(…)`. */
export interface ThreadsOptions {
  /** The module that exports the activities, such as `new URL("./hashing.ts", import.meta.url)`. */
  readonly module: string | URL;
  /** The largest number of threads; each thread runs one activity at a time. Default: one per core. */
  readonly size?: number;
  /** The heap limit of a thread, in megabytes. A thread that exceeds it exits. Default: Node's own limit. */
  readonly memoryMb?: number;
}
/** A set of worker threads, as described by `threads(…)`. */
export interface Threads {
  readonly kind: "threads";
  readonly module: string;
  readonly size: number | null;
  readonly memoryMb: number | null;
}

/** Where an activity runs: in the worker's process, in threads, or in a custom function. */
export type Executor = "process" | Threads | ExecutorFunction;

const OPTIONS: Members<ThreadsOptions> = { module: true, size: true, memoryMb: true };

/** Describes a set of worker threads that load a module and run the activities it exports. */
export function threads(options: ThreadsOptions): Threads {
  checkMembers(options, OPTIONS, "threads");
  const { size = null, memoryMb = null } = options;
  const module = moduleAddress(options.module);
  checkInteger(options.size, 1, "threads: size");
  checkInteger(options.memoryMb, 1, "threads: memoryMb");
  return Object.freeze({ kind: "threads", module, size, memoryMb });
}

/** Throws unless the value is an executor. */
export function checkExecutor(executor: unknown, what: string): void {
  if (executor === "process" || typeof executor === "function" || isThreads(executor)) return;
  const got = showValue(executor);
  throw invalidArgument(`${what} must be "process", threads(…) or a function; got ${got}.`);
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
  const got = showValue(module);
  throw invalidArgument(`threads: module must be a URL such as ${example}; got ${got}.`);
}

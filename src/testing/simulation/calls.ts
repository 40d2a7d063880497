// Calls of a provider, as the simulation sees them on their way to the store.

import { PerdureError } from "../../core/errors.ts";
import type { Provider } from "../../core/provider/provider.ts";

type Functions = {
  [
    Name in keyof Provider as Provider[Name] extends (...args: never[]) => Promise<unknown>
      ? Name
      : never
  ]: Provider[Name];
};
/** The methods that ask the store. */
export type Method = Exclude<keyof Functions, "close">;

/** Those that change nothing; a store whose disk is full still answers them. */
const READS: ReadonlySet<string> = new Set<Method>([
  "settle",
  "takeMessages",
  "lostTasks",
  "peek",
  "readInstance",
  "readHistory",
  "readExecutions",
  "readTasks",
  "readInbox",
  "readEvents",
  "listRuntimes",
  "listInstances",
  "findInstances",
  "countInstances",
  "listChildren",
  "readMetrics",
  "readQueues",
  "readWaiting",
  "readLoads",
  "readLeases",
  "readStatistics",
  "readKeyValue",
  "readKeyValues",
  "listSessions",
]);

export function isRead(method: string): boolean {
  return READS.has(method);
}

/** What was asked, and what the store said. */
export type Call = {
  [M in Method]: {
    readonly method: M;
    readonly args: Parameters<Functions[M]>;
    readonly result: Awaited<ReturnType<Functions[M]>>;
  };
}[Method];

/** A call that the store carried out: by whom, when by its own clock, and how long after the beginning. */
export type Carried = Call & { readonly by: string; readonly now: number; readonly atMs: number };

/** Without a stack: nobody reads those of faults that were meant, and to take them costs more than the call. */
export function unavailable(method: string, why: string): PerdureError {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  const error = new PerdureError("STORE_UNAVAILABLE", `${method}: ${why} (simulated)`);
  Error.stackTraceLimit = stackTraceLimit;
  return error;
}

// Provider calls as data: the type of the calls that travel from a simulated process to the store.

import { PerdureError } from "../../core/errors/errors.ts";
import type { Dispatch } from "../../core/provider/asks.ts";
import type { CommitItem, CommitResult } from "../../core/provider/commit.ts";
import type { Provider } from "../../core/provider/provider.ts";
import { defined } from "../../core/values/defined.ts";

type Functions = {
  [
    Name in keyof Provider as Provider[Name] extends (...args: never[]) => Promise<unknown>
      ? Name
      : never
  ]: Provider[Name];
};
/** The name of a provider method that accesses the store. */
export type Method = Exclude<keyof Functions, "close">;

/** Methods that change nothing. A store whose disk is full still executes them. */
const READS: ReadonlySet<string> = new Set<Method>([
  "settle",
  "takeMessages",
  "lostTasks",
  "peek",
  "nextDue",
  "readInstance",
  "readHistory",
  "readExecutions",
  "readTasks",
  "readInbox",
  "readEvents",
  "readAsks",
  "listRuntimes",
  "listInstances",
  "findInstances",
  "countInstances",
  "readWaits",
  "listChildren",
  "readMetrics",
  "readQueues",
  "readQueueStates",
  "readQueueFigures",
  "readQueueKeys",
  "readWaiting",
  "readLoads",
  "readLeases",
  "readStatistics",
  "readKeyValue",
  "readKeyValues",
  "readStream",
  "listStreams",
  "storeId",
  "readKept",
  "listSessions",
]);

export function isRead(method: string): boolean {
  return READS.has(method);
}

/** A call: its method, its arguments and the result of the store. */
export type Call = {
  [M in Method]: {
    readonly method: M;
    readonly args: Parameters<Functions[M]>;
    readonly result: Awaited<ReturnType<Functions[M]>>;
  };
}[Method];

/** An executed call: the caller, the time by the store's clock, and the time since the start of the run. */
export type Carried = Call & { readonly by: string; readonly now: number; readonly atMs: number };

/** The same call, with each first turn of a start as a separate item (commit.5). */
export function withFirstTurns(call: Carried): Carried {
  if (call.method !== "commit") return call;
  const [items] = call.args;
  if (!items.some((item) => item.kind === "start" && item.firstTurn !== undefined)) return call;
  const pairs = items.flatMap((item, index) => separated(item, call.result[index]));
  const args = [pairs.map(([item]) => item)] satisfies Parameters<Provider["commit"]>;
  return { ...call, args, result: pairs.map(([, result]) => result) };
}

function separated(
  item: CommitItem,
  result: CommitResult | undefined,
): (readonly [CommitItem, CommitResult])[] {
  if (result === undefined) return [];
  if (item.kind !== "start" || item.firstTurn === undefined) return [[item, result]];
  const { firstTurn, ...start } = item;
  if (result.kind !== "started" || result.due === undefined) return [[start, result]];
  const { key, execution, due, undelivered } = result;
  const message = { id: 0, kind: "start", execution, sequence: null, name: null } as const;
  const leased = { ...message, key: null, data: item.started, visibleAt: 0 };
  return [
    [start, { kind: "started", key, execution, leased }],
    [
      { ...firstTurn, key, ...(item.lease === null ? { isUnleased: true } : {}) },
      { kind: "committed", due, ...defined({ undelivered }) },
    ],
  ];
}

/** The items that a committed turn wrote to other instances, without the refused ones. */
export function writtenDispatches(
  item: CommitItem,
  result: CommitResult | undefined,
): readonly Dispatch["item"][] {
  if (item.kind !== "turn" || result?.kind !== "committed") return [];
  const { dispatched = [] } = item;
  const refused = new Set(result.undelivered?.map(({ sequence }) => sequence));
  return dispatched.flatMap((each) => (refused.has(each.sequence) ? [] : [each.item]));
}

/** Whether a turn's start replaces an instance that has ended, or that it ends. */
export function isReplacement(item: Dispatch["item"]): boolean {
  const start = item.kind === "ask" ? item.start : item;
  if (start?.kind !== "start") return false;
  return start.onConflict === "restart" || start.onConflict === "terminateExisting";
}

/** The ids of the instances that starts of turns, or starts of jobs under a key, may have replaced. */
export function replacedInstances(call: Carried): readonly string[] {
  if (call.method !== "commit") return [];
  return call.args[0].flatMap((item, i) => {
    const result = call.result[i];
    if (item.kind === "enqueue") return result?.kind === "replaced" ? [result.id] : [];
    return writtenDispatches(item, result)
      .filter(isReplacement)
      .map(({ id }) => id);
  });
}

/**
 * The call without the rewinds that repeat an earlier one: they return its result and begin nothing. Meanwhile
 * the instance may have begun further executions.
 * `executionOf`: the newest execution before the call.
 */
export function withoutRepeatedRewinds(
  call: Carried,
  executionOf: (id: string) => number | undefined,
): Carried {
  if (call.method !== "commit") return call;
  const [items] = call.args;
  const isNew = items.map((item, i) => {
    const result = call.result[i];
    if (item.kind !== "rewind" || result?.kind !== "rewound") return true;
    return (executionOf(item.id) ?? 0) < result.execution;
  });
  if (!isNew.includes(false)) return call;
  const args = [items.filter((_, i) => isNew[i])] satisfies Parameters<Provider["commit"]>;
  return { ...call, args, result: call.result.filter((_, i) => isNew[i]) };
}

/** The ids of the instances that rewinds began again. */
export function rewoundInstances(call: Carried): readonly string[] {
  if (call.method !== "commit") return [];
  return call.args[0].flatMap((item, i) => {
    const isRewound = item.kind === "rewind" && call.result[i]?.kind === "rewound";
    return isRewound ? item.targets.map(({ id }) => id) : [];
  });
}

/** The error of an injected fault. It has no stack: capturing a stack costs more than the call itself. */
export function unavailable(method: string, why: string): PerdureError {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  const error = new PerdureError("STORE_UNAVAILABLE", `${method}: ${why} (simulated)`);
  Error.stackTraceLimit = stackTraceLimit;
  return error;
}

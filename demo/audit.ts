// The audit: compares the store's histories with the recorded side effects of the orders.
//   - Lost: an order without its right result, a call without an outcome, an outcome without a side effect.
//   - Doubled: a second outcome of one call, a gap or overlap in a history, a side effect without a call.

import type { Handle, HistoryEvent } from "../src/index.ts";
import type { Fulfilled } from "./fulfilment.ts";
import { activitiesOf, totalOf, type Order } from "./orders.ts";
import type { RecordedEffect } from "./side-effects.ts";

export interface OrderAudit {
  readonly order: Order;
  /** Null if the order has no result. */
  readonly result: Fulfilled | null;
  readonly steps: number;
  readonly timers: number;
  readonly approvals: number;
  readonly activities: {
    readonly run: number;
    readonly rerun: number;
    readonly recorded: number;
  };
  /** The processes that worked on it. */
  readonly processes: number;
  readonly faults: readonly string[];
}

export async function auditOrder(
  order: Order,
  handle: Handle<Fulfilled>,
  effects: readonly RecordedEffect[],
): Promise<OrderAudit> {
  const result = await handle.result().catch(() => null);
  const history = await handle.history();
  const own = effects.filter((effect) => effect.order === order.id);
  const keys = new Set(own.map((effect) => effect.key));
  return {
    order,
    result,
    steps: count(history, "StepCompleted"),
    timers: count(history, "TimerFired"),
    approvals: count(history, "EventReceived"),
    activities: {
      run: own.length,
      rerun: own.length - keys.size,
      recorded: count(history, "ActivityCompleted"),
    },
    processes: new Set(own.map((effect) => effect.pid)).size,
    faults: [
      ...resultFaults(order, result),
      ...historyFaults(history),
      ...callFaults(history, keys),
    ],
  };
}

/** Idempotency keys of the calls whose results are recorded. */
export function recordedKeys(history: readonly HistoryEvent[]): readonly string[] {
  return history.flatMap((event) =>
    event.kind === "ActivityCompleted" ? [keyOf(history, event.scheduled)] : [],
  );
}

function resultFaults(order: Order, result: Fulfilled | null): string[] {
  if (result === null) return ["the order failed"];
  const right = result.status === "shipped" && result.total === totalOf(order);
  return right && result.parcels.length === order.lines.length ? [] : ["the result is wrong"];
}

function historyFaults(history: readonly HistoryEvent[]): string[] {
  const gaps = history.filter((event, index) => event.sequence !== index + 1);
  const ends = history.filter((event) => event.kind === "OrchestrationCompleted");
  const isWhole = gaps.length === 0 && history.at(0)?.kind === "OrchestrationStarted";
  const endsOnce = ends.length === 1 && history.at(-1) === ends[0];
  return [
    ...(isWhole ? [] : ["the history has gaps"]),
    ...(endsOnce ? [] : ["the history does not have exactly one end"]),
  ];
}

function callFaults(history: readonly HistoryEvent[], keys: ReadonlySet<string>): string[] {
  const faults: string[] = [];
  const asked = history.filter((event) => event.kind === "ActivityScheduled");
  const recorded = recordedKeys(history);
  for (const { name, sequence } of asked) {
    const key = keyOf(history, sequence);
    const times = recorded.filter((other) => other === key).length;
    if (times !== 1) faults.push(`${name} has ${times} results`);
    if (!keys.has(key)) faults.push(`${name} has a result but never ran`);
  }
  const strays =
    keys.size - asked.filter(({ sequence }) => keys.has(keyOf(history, sequence))).length;
  return strays === 0 ? faults : [...faults, `${strays} side effects without a call`];
}

/** The idempotency key of an activity: run, execution and position in the history. */
function keyOf(history: readonly HistoryEvent[], sequence: number): string {
  const [started] = history;
  return started?.kind === "OrchestrationStarted" ? `${started.runId}:1:${sequence}` : "";
}

function count(history: readonly HistoryEvent[], kind: HistoryEvent["kind"]): number {
  return history.filter((event) => event.kind === kind).length;
}

export function isComplete(audit: OrderAudit): boolean {
  return audit.faults.length === 0 && audit.activities.recorded === activitiesOf(audit.order);
}

// The work that an execution has completed. A restart runs the code from the start, so it runs this work
// again with new idempotency keys. The command line and the dashboard show the list before they restart an
// instance.

import type { HistoryEvent } from "../../core/history/events.ts";
import { projectHistory } from "../../core/history/projection.ts";

/** Calls of one name that an execution completed. */
export interface CompletedWork {
  readonly kind: "activity" | "step" | "child";
  readonly name: string;
  /** How many calls of this name completed. */
  readonly count: number;
}

/** In the order in which the first call of each name was scheduled. */
export function completedWorkOf(events: readonly HistoryEvent[]): readonly CompletedWork[] {
  const found = new Map<string, CompletedWork>();
  for (const { kind, scheduled, outcome } of projectHistory(events).calls.values()) {
    if (kind !== "activity" && kind !== "step" && kind !== "child") continue;
    if (outcome?.status !== "completed") continue;
    if (!("name" in scheduled)) continue;
    const { name } = scheduled;
    const key = `${kind} ${name}`;
    found.set(key, { kind, name, count: (found.get(key)?.count ?? 0) + 1 });
  }
  return [...found.values()];
}

// Invariant 14: a parent receives the end of each child once, and the received outcome is the child's
// outcome.

import { wasRewound } from "./copied.ts";
import type { EndedExecution } from "./attempts.ts";
import type { InstanceSnapshot } from "./snapshot.ts";

export function childFaults(
  executions: readonly EndedExecution[],
  newest: (id: string) => InstanceSnapshot | null,
): string[] {
  const found: string[] = [];
  for (const { id, execution, events } of executions) {
    const received = new Map<number, number>();
    for (const event of events) {
      if (event.kind !== "ChildCompleted" && event.kind !== "ChildFailed") continue;
      const { scheduled } = event;
      const call = events[scheduled - 1];
      received.set(scheduled, (received.get(scheduled) ?? 0) + 1);
      if (call?.kind !== "ChildScheduled") continue;
      const child = newest(call.id)?.record;
      const link = child?.parent;
      // Another instance has this id. It is not a child of this call, so its end is not compared.
      if (child === undefined || link?.id !== id || link.execution !== execution) continue;
      if (link.sequence !== scheduled) continue;
      if (wasRewound(newest(call.id)?.events ?? [])) continue; // after that end
      const isSame =
        event.kind === "ChildCompleted"
          ? child.status === "completed" && child.output === event.output
          : child.status === event.outcome;
      if (!isSame) {
        found.push(
          `${id}#${execution}/${scheduled} received ${event.kind}, but ${call.id} is ${child.status}`,
        );
      }
    }
    for (const [scheduled, times] of received) {
      if (times > 1) found.push(`${id}#${execution}/${scheduled} received ${times} outcomes`);
    }
  }
  return found;
}

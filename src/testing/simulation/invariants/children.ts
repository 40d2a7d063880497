// 14. A parent is told of each child's end once, and what it is told is how the child ended.

import type { EndedExecution } from "./attempts.ts";
import type { InstanceSnapshot } from "./snapshot.ts";

export function childFaults(
  executions: readonly EndedExecution[],
  newest: (id: string) => InstanceSnapshot | null,
): string[] {
  const found: string[] = [];
  for (const { id, execution, events } of executions) {
    const told = new Map<number, number>();
    for (const event of events) {
      if (event.kind !== "ChildCompleted" && event.kind !== "ChildFailed") continue;
      const { scheduled } = event;
      const call = events[scheduled - 1];
      told.set(scheduled, (told.get(scheduled) ?? 0) + 1);
      if (call?.kind !== "ChildScheduled") continue;
      const child = newest(call.id)?.record;
      const link = child?.parent;
      // Another instance of that id, which was there before, or began after: the call was told that instead.
      if (child === undefined || link?.id !== id || link.execution !== execution) continue;
      if (link.sequence !== scheduled) continue;
      const isSame =
        event.kind === "ChildCompleted"
          ? child.status === "completed" && child.output === event.output
          : child.status === event.outcome;
      if (!isSame) {
        found.push(
          `${id}#${execution}/${scheduled} was told ${event.kind}; ${call.id} is ${child.status}`,
        );
      }
    }
    for (const [scheduled, times] of told) {
      if (times > 1) found.push(`${id}#${execution}/${scheduled} was told ${times} times`);
    }
  }
  return found;
}

// Open events: the checkpoint of a run, for the row of its next commit (core/history/checkpoint.ts).

import { isCheckpointDue, type Checkpoint } from "../history/checkpoint.ts";
import type { Run } from "./run.ts";

/**
 * The checkpoint after the events `first` to `last`; null if none is due. A run that is over gets none: the
 * tasks of a blocked run may differ from its history.
 */
export function dueCheckpoint(run: Run, first: number, last: number): Checkpoint | null {
  const { openTasks, mailbox, stillVisible } = run;
  const entries = openTasks.size + mailbox.unreadCount + stillVisible.length;
  if (!isCheckpointDue(first, last, entries)) return null;
  if (run.isOver || run.lastSequence !== last) return null;
  const events = [...stillVisible];
  for (const task of openTasks.values()) {
    events.push(task.sequence);
    if (task.kind === "step" && task.failedAt > 0) events.push(task.failedAt);
  }
  return { events: events.sort((a, b) => a - b), unread: mailbox.unreadCounts() };
}

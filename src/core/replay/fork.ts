// Forks: instances that start with a copy of the history of another instance (semantics 21a).
//   - The first commit of a fork schedules the tasks again that have no outcome in the copied history:
//        activities and steps with new idempotency keys, children with new ids, timers at their recorded
//        time. Waits stay open.
//   - That commit also writes a mark, which records that the tasks were scheduled again.

import type { ChildScheduled } from "../history/events.ts";
import { childInstanceId } from "../ids/ids.ts";
import type { Run } from "./run.ts";

const FORK_MARK = "perdure.fork";

/**
 * A child that was called in the copied history belongs to the source instance. The fork's child gets a
 * separate id.
 */
export function childOfFork(run: Run, sequence: number, body: ChildScheduled): ChildScheduled {
  if (sequence > (run.options.copiedUntil ?? 0)) return body;
  const { explicitId: _, ...rest } = body;
  const { instanceId: parent, execution } = run;
  return { ...rest, id: childInstanceId({ parent, execution, sequence }) };
}

export function rescheduleCopied(run: Run): void {
  const copiedUntil = run.options.copiedUntil ?? 0;
  run.mark({ kind: "PatchMarked", change: FORK_MARK });
  for (const task of run.openTasks.values()) {
    if (task.sequence > copiedUntil) continue; // a new command: its effects are added anyway
    switch (task.kind) {
      case "activity": {
        const { sequence, body } = task;
        const { scheduleToCloseMs: delayMs } = body;
        run.effects.add(sequence, body, run);
        if (delayMs !== undefined) run.effects.addTimer({ kind: "deadline", sequence, delayMs });
        break;
      }
      case "child":
      case "ask":
      case "send":
        run.effects.add(task.sequence, task.body, run);
        break;
      case "timer":
        run.effects.addTimer({ kind: "timer", sequence: task.sequence, dueAt: task.due });
        break;
      case "step": // the runtime runs it after the commit, like every open step
      case "event":
      case "requests":
        break;
    }
  }
}

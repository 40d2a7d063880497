// Forks: an instance that began with a copy of another's past (semantics 21a).
//   FK1. What was scheduled in the copied past and has no outcome there is scheduled anew in the first commit:
//        activities and steps under new keys, children under new ids, timers at their recorded time; waits
//        stay open.
//   FK2. A mark written with that commit says that it was done.

import type { ChildScheduled } from "./history-events.ts";
import { childInstanceId } from "./ids.ts";
import type { Run } from "./run.ts";

const FORK_MARK = "perdure.fork";

/** A child called in the copied past is the source's; ours gets an id of its own. */
export function ownChild(run: Run, sequence: number, body: ChildScheduled): ChildScheduled {
  if (sequence > (run.options.copiedUntil ?? 0)) return body;
  const { explicitId: _, ...rest } = body;
  const { instanceId: parent, execution } = run;
  return { ...rest, id: childInstanceId({ parent, execution, sequence }) };
}

export function scheduleAnew(run: Run): void {
  const copiedUntil = run.options.copiedUntil ?? 0;
  run.mark(FORK_MARK);
  for (const task of run.open.values()) {
    if (task.sequence > copiedUntil) continue; // asked for beyond the copy: it is carried out anyway
    switch (task.kind) {
      case "activity":
      case "child":
        run.effects.add(task.sequence, task.body, run);
        break;
      case "timer":
        run.effects.addTimer({ kind: "timer", sequence: task.sequence, dueAt: task.due });
        break;
      case "step": // entered after the commit, like every open step
      case "event":
        break;
    }
  }
}

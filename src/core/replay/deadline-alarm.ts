// The deadline alarm: one message in the inbox for the `scheduleToClose` deadlines of all open activities of
// an execution.
//   - deadline-alarm.1: After every commit that leaves an activity with a deadline open, the inbox holds an
//       alarm that is due no later than the earliest of these deadlines. A worker that takes the instance
//       over therefore needs nothing but the store.
//   - An alarm that comes early fails no activity. The turn that consumes it writes the next alarm. So a chain
//       of activities with deadlines writes one alarm, not one per activity.
//   - The deadline of an activity follows from its history: the time of its `ActivityScheduled` event plus
//       `scheduleToCloseMs`. What a turn writes depends only on the deadlines that were open when it began and
//       those that are open when it ends, so a live run and a replayed run write the same (I5).
//   - A turn that leaves no deadline open withdraws the alarm, so that an instance that sleeps is not woken.
//   - An activity in the copied history of a fork counts its deadline from the fork, so it has a message of
//       its own (fork.ts). Earlier versions wrote such a message for every activity; it counts as an alarm.

import type { ActivityScheduled } from "../history/events.ts";
import type { OpenActivity } from "./open-task.ts";
import type { Run } from "./run.ts";

/** The sequence number of the alarm. No event has it. */
const ALARM = 0;

export class DeadlineAlarm {
  /** When the alarm in the inbox is due, at the latest; null: there is none, or this turn consumed it. */
  #dueAt: number | null = null;
  /** Whether an activity of the run had a deadline. */
  #isUsed = false;

  /** The deadline of an activity that is scheduled now; null: it has none, or a message of its own. */
  deadlineOf(run: Run, sequence: number, { scheduleToCloseMs }: ActivityScheduled): number | null {
    if (scheduleToCloseMs === undefined || isCopied(run, sequence)) return null;
    this.#isUsed = true;
    return Math.ceil(run.eventTime + scheduleToCloseMs);
  }

  /** The last commit left an alarm if a deadline was open (deadline-alarm.1). */
  beginTurn(run: Run): void {
    if (this.#isUsed) this.#dueAt = earliest(run)?.deadline ?? null;
  }

  /** The alarm came. Returns the activity that missed its deadline, if any. */
  fired(run: Run, at: number): OpenActivity | null {
    this.#dueAt = null;
    const first = earliest(run);
    return first !== null && first.deadline <= at ? first.activity : null;
  }

  /** Adds what the turn must write to the effects of the run. Call it once, at the end of a turn. */
  settle(run: Run): void {
    if (!this.#isUsed || run.isOver || run.isReplaying) return;
    const first = earliest(run);
    if (first !== null && (this.#dueAt === null || first.deadline < this.#dueAt)) {
      this.#dueAt = first.deadline;
      run.effects.addTimer({ kind: "deadline", sequence: ALARM, dueAt: first.deadline });
    } else if (first === null && this.#dueAt !== null) {
      this.#dueAt = null;
      run.effects.cancelTimer("deadline", ALARM);
    }
  }
}

/** The activity is closed. Withdraws the message of its own, if it has one. */
export function withdrawDeadline(run: Run, { sequence, body }: OpenActivity): void {
  if (body.scheduleToCloseMs === undefined || !isCopied(run, sequence)) return;
  run.effects.cancelTimer("deadline", sequence);
}

function earliest(run: Run): { readonly activity: OpenActivity; readonly deadline: number } | null {
  let first: { activity: OpenActivity; deadline: number } | null = null;
  for (const task of run.openTasks.values()) {
    if (task.kind !== "activity" || task.deadline === null) continue;
    if (first !== null && first.deadline <= task.deadline) continue;
    first = { activity: task, deadline: task.deadline };
  }
  return first;
}

function isCopied(run: Run, sequence: number): boolean {
  return sequence <= (run.options.copiedUntil ?? 0);
}

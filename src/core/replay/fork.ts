// Copied pasts: executions that begin with a copy of the history of another instance (a fork, semantics 21a) or of an
// earlier execution of the same instance (a rewind, semantics 21b).
//   - The first commit schedules the tasks again that have no outcome in the copied history. A fork schedules
//        activities and steps with new idempotency keys, a rewind with those of the earlier execution. Children get new
//        ids, timers their recorded time. Waits stay open.
//   - That commit also writes a mark, which records that the tasks were scheduled again.
//   - replay.fork.1: A rewind does not schedule a call whose outcome it has put into the inbox, nor a child that still
//        runs. The store delivers the outcome of such a child to the newest execution (commit.8).
//   - replay.fork.2: After a rewind, a step that has no outcome begins with its first attempt again: its failed attempts
//        in the copied history do not count.
//   - replay.fork.3: After a rewind, a detached start without an outcome is made again with the run id of the first time.
//        The store recognizes its own start (commit.9).

import type {
  ActivityScheduled,
  ChildScheduled,
  OrchestrationStarted,
  StepScheduled,
} from "../history/events.ts";
import { sameCommand } from "../history/matching.ts";
import { childInstanceId } from "../ids/ids.ts";
import type { Codec } from "../values/codec.ts";
import type { EffectSource } from "./effects.ts";
import type { Run } from "./run.ts";

const FORK_MARK = "perdure.fork";

/**
 * A child that was called in the copied history belongs to the source instance, or to an earlier execution. The
 * child that is started again gets a separate id.
 */
export function childOfFork(run: Run, sequence: number, body: ChildScheduled): ChildScheduled {
  if (sequence > (run.options.copiedUntil ?? 0) || isKept(run, sequence)) return body;
  const { explicitId: _, ...rest } = body;
  const { instanceId: parent, execution } = run;
  return { ...rest, id: childInstanceId({ parent, execution, sequence }) };
}

export function rescheduleCopied(run: Run): void {
  const copiedUntil = run.options.copiedUntil ?? 0;
  run.mark({ kind: "PatchMarked", change: FORK_MARK });
  for (const task of run.openTasks.values()) {
    if (task.sequence > copiedUntil) continue; // a new command: its effects are added anyway
    if (isKept(run, task.sequence)) continue;
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
        run.effects.add(task.sequence, task.body, run);
        break;
      case "send":
        run.effects.add(task.sequence, task.body, senderOf(run, task.sequence));
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

/** The execution that made the detached start first (replay.fork.3). */
function senderOf(run: Run, sequence: number): EffectSource {
  const { instanceId, runId, priority, startedAt, started } = run;
  return { instanceId, runId, priority, startedAt, started, execution: madeIn(run, sequence) };
}

/** Whether the outcome of the open call is on its way (replay.fork.1). */
export function isKept({ started }: Run, sequence: number): boolean {
  return started.rewound?.kept?.includes(sequence) ?? false;
}

/** Whether a failed attempt belongs to a past that a rewind copied (replay.fork.2). */
export function isForgottenAttempt({ started, options, deliveredSequence }: Run): boolean {
  return started.rewound !== undefined && deliveredSequence <= (options.copiedUntil ?? 0);
}

interface KeyOwner {
  readonly started: OrchestrationStarted;
  readonly execution: number;
  readonly codec: Codec;
}

/** The execution in which the call of the copied past was made first; for another call, the run's own. */
export function madeIn(
  { started, execution }: Pick<KeyOwner, "started" | "execution">,
  sequence: number,
): number {
  const sources = started.rewound?.keys ?? [];
  return sources.find(({ until }) => sequence <= until)?.execution ?? execution;
}

/** The execution that owns the idempotency key of a call. */
export function keyExecution(
  run: KeyOwner,
  sequence: number,
  call: ActivityScheduled | StepScheduled,
): number {
  const { started, execution, codec } = run;
  const first = madeIn(run, sequence);
  if (started.rewound === undefined || first !== execution) return first;
  const { redone } = started.rewound;
  const isRedone = redone?.sequence === sequence && sameCommand(redone.call, call, codec);
  return isRedone ? redone.execution : execution;
}

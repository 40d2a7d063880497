// Task choice: which of the waiting tasks that a store has found are taken, and in which order
// (provider.tasks.2).
//   - A suspect waits in the same order as other tasks. The result contains one that runs alone, or several that
//     are tried together with those that the worker holds (semantics 13). Suspects do not overtake each other.
//   - A task that the rule of its queue holds back is skipped (queue-admission.ts).
//   - New sessions are chosen in the order of their tasks, up to the number that the caller may claim.

import { NEVER } from "../callbacks.ts";
import type { LeaseTasksRequest } from "../tasks.ts";
import type { QueueAdmission, QueuedTask } from "./queue-admission.ts";

/** A waiting task, with what determines its position in the queue. */
export interface Candidate {
  readonly instance: number;
  readonly execution: number;
  readonly sequence: number;
  readonly session: string | null;
  readonly suspect: boolean;
  /** A suspect that is tried alone (blame.ts). */
  readonly runsAlone: boolean;
  /** available at + priority · ageing; tasks in fair order have the lowest rank of their part of the queue */
  readonly rank: number;
  /** Set: the position among tasks in fair order. */
  readonly position?: number;
  /** Set: the task belongs to a queue with a rule. */
  readonly queued?: QueuedTask;
}

/** What was read of one part of the queue. */
export interface QueuePart {
  /** When the next task of this part comes due. */
  readonly nextAt: number | null;
}

export interface TaskChoice<Task> {
  /** In order. One task more than the limit shows that there are more. */
  readonly takeable: readonly Task[];
  /** The sessions that may be served, including the newly chosen ones. */
  readonly served: ReadonlySet<string>;
  /** Whether a task was skipped because no more sessions may be claimed. */
  readonly isFull: boolean;
}

/** The tasks to take, and when to poll again. */
export interface FoundTasks<Task> {
  readonly waiting: readonly Task[];
  readonly more: boolean;
  readonly nextAt: number | null;
}

/** How many suspect tasks a worker tries at the same time. */
const TRIALS_MAX = 16;

export function chooseTasks<Task extends Candidate>(
  candidates: Task[],
  { limit, suspectsHeld = 0 }: Pick<LeaseTasksRequest, "limit" | "suspectsHeld">,
  inFlight: ReadonlySet<string>,
  newMax: number,
  admission?: QueueAdmission,
): TaskChoice<Task> {
  const takeable: Task[] = [];
  const served = new Set(inFlight);
  let isFull = false;
  let trials = suspectsHeld;
  let noSuspects = false;
  for (const task of candidates.sort(byRank)) {
    if (takeable.length > limit) break;
    const { session, suspect, runsAlone } = task;
    if (suspect && (trials >= TRIALS_MAX || (runsAlone && trials > 0))) noSuspects = true;
    if (suspect && noSuspects) continue;
    const isNew = session !== null && !served.has(session);
    if (isNew && served.size - inFlight.size >= newMax) {
      isFull = true;
      continue;
    }
    if (task.queued !== undefined && admission?.admit(task.queued) === false) continue;
    if (isNew) served.add(session);
    if (suspect) {
      trials += 1;
      noSuspects = runsAlone;
    }
    takeable.push(task);
  }
  return { takeable, served, isFull };
}

/** The choice, cut to the limit. `parts` is everything that was read for it. */
export function foundTasks<Task>(
  { takeable }: TaskChoice<Task>,
  limit: number,
  parts: readonly QueuePart[],
): FoundTasks<Task> {
  const times = parts.flatMap(({ nextAt }) => (nextAt === null || nextAt >= NEVER ? [] : [nextAt]));
  return {
    waiting: takeable.slice(0, limit),
    more: takeable.length > limit,
    nextAt: times.length === 0 ? null : Math.min(...times),
  };
}

function byRank(a: Candidate, b: Candidate): number {
  return (
    a.rank - b.rank ||
    (a.position ?? 0) - (b.position ?? 0) ||
    a.instance - b.instance ||
    a.execution - b.execution ||
    a.sequence - b.sequence
  );
}

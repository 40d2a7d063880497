// Task choice: which of the waiting tasks that a store has found are taken, and in which order (K2).
//   TH1. At most one suspect an answer, in its turn like any other (semantics 13).
//   TH2. New sessions are chosen in the order of their tasks, at most as many as the caller may claim.

/** A waiting task, as far as its place in the queue is concerned. */
export interface Candidate {
  readonly instance: number;
  readonly execution: number;
  readonly sequence: number;
  readonly session: string | null;
  readonly suspect: boolean;
  /** available at + priority · ageing */
  readonly rank: number;
}

/** What was read of one part of the queue. */
export interface QueuePart {
  /** When the next task of it comes due that is not yet. */
  readonly nextAt: number | null;
}

export interface TaskChoice<Task> {
  /** In order; one more than the limit shows that there is more. */
  readonly takeable: readonly Task[];
  /** The sessions that may be served, with the ones that were chosen. */
  readonly served: ReadonlySet<string>;
  /** Whether a task was passed over because no more sessions may be claimed. */
  readonly isFull: boolean;
}

/** What is to be taken, and when to look again. */
export interface FoundTasks<Task> {
  readonly waiting: readonly Task[];
  readonly more: boolean;
  readonly nextAt: number | null;
}

export function chooseTasks<Task extends Candidate>(
  candidates: Task[],
  limit: number,
  inFlight: ReadonlySet<string>,
  newMax: number,
): TaskChoice<Task> {
  const takeable: Task[] = [];
  const served = new Set(inFlight);
  let isFull = false;
  let hasSuspect = false;
  for (const task of candidates.sort(byRank)) {
    if (takeable.length > limit) break;
    const { session, suspect } = task;
    if (suspect && hasSuspect) continue;
    if (session !== null && !served.has(session)) {
      if (served.size - inFlight.size >= newMax) {
        isFull = true;
        continue;
      }
      served.add(session);
    }
    if (suspect) hasSuspect = true;
    takeable.push(task);
  }
  return { takeable, served, isFull };
}

/** The choice cut to the limit; `parts` are all that was read for it. */
export function foundTasks<Task>(
  { takeable }: TaskChoice<Task>,
  limit: number,
  parts: readonly QueuePart[],
): FoundTasks<Task> {
  const times = parts.flatMap(({ nextAt }) => (nextAt === null ? [] : [nextAt]));
  return {
    waiting: takeable.slice(0, limit),
    more: takeable.length > limit,
    nextAt: times.length === 0 ? null : Math.min(...times),
  };
}

function byRank(a: Candidate, b: Candidate): number {
  return (
    a.rank - b.rank ||
    a.instance - b.instance ||
    a.execution - b.execution ||
    a.sequence - b.sequence
  );
}

// Fair order: weighted round robin over the keys of a queue (provider.queues.4).
//   - Each key has a virtual time at which its next task starts. The task with the earliest start is first; it moves the
//     next start of its key by 1 / weight. The virtual time of the queue is the latest start that was leased.
//   - A key without a stored start begins at the virtual time: it gets no share for the time in which it had no tasks.
//     A start is stored while it is ahead of the virtual time.

/** The first waiting tasks of a key. */
export interface Lane {
  readonly key: string;
  /** The stored start of its next task; undefined: none. */
  readonly nextStart: number | undefined;
  /** The weights of its tasks, in order. */
  readonly weights: readonly number[];
  /** Among keys with equal starts, the lowest is first. */
  readonly headAt: number;
}
/** The next task of a lane. */
export interface Pick {
  readonly lane: Lane;
  /** Which task of the lane, from 0 on. */
  readonly index: number;
  readonly start: number;
  /** When the next task of the key starts. */
  readonly nextStart: number;
}

/** Larger and smaller weights count as these, so that sums stay exact enough. */
const WEIGHT_MAX = 1e6;
const WEIGHT_MIN = 1e-6;

/** The first `count` tasks of these lanes, in fair order. */
export function pickFairly(lanes: readonly Lane[], virtualTime: number, count: number): Pick[] {
  const turns = lanes
    .filter(({ weights }) => weights.length > 0)
    .map((lane) => ({ lane, index: 0, start: Math.max(lane.nextStart ?? 0, virtualTime) }));
  const picks: Pick[] = [];
  while (picks.length < count) {
    let first: (typeof turns)[number] | undefined;
    for (const turn of turns) {
      if (turn.index >= turn.lane.weights.length) continue;
      if (first === undefined || isBefore(turn, first)) first = turn;
    }
    if (first === undefined) break;
    const { lane, index, start } = first;
    const weight = Math.min(Math.max(lane.weights[index] ?? 1, WEIGHT_MIN), WEIGHT_MAX);
    first.index += 1;
    first.start += 1 / weight;
    picks.push({ lane, index, start, nextStart: first.start });
  }
  return picks;
}

function isBefore(
  a: { readonly lane: Lane; readonly start: number },
  b: { readonly lane: Lane; readonly start: number },
): boolean {
  return a.start - b.start < 0 || (a.start === b.start && a.lane.headAt < b.lane.headAt);
}

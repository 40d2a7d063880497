// Sums the queues by tags and priority.

import type { Queue } from "../api/types.ts";

export const PRIORITIES = [1, 2, 3, 4, 5] as const;

export interface Depth {
  readonly tags: string;
  /** Waiting and delayed tasks, by priority. */
  readonly waiting: readonly number[];
  readonly running: number;
}

export function depthsOf(queues: readonly Queue[]): readonly Depth[] {
  const groups = Map.groupBy(queues, ({ tags }) => tags.toSorted().join(" + ") || "untagged");
  return [...groups].map(([tags, members]) => ({
    tags,
    waiting: PRIORITIES.map((priority) =>
      sum(
        members.filter((each) => each.priority === priority),
        (q) => q.waiting + q.delayed,
      ),
    ),
    running: sum(members, ({ running }) => running),
  }));
}

function sum(queues: readonly Queue[], count: (queue: Queue) => number): number {
  return queues.reduce((total, queue) => total + count(queue), 0);
}

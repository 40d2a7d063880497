// Sums the queues by tags and priority.

import type { Queue } from "../api/types.ts";

export const PRIORITIES = [1, 2, 3, 4, 5] as const;

export interface Depth {
  readonly tags: string;
  /** Waiting and delayed tasks, by priority. */
  readonly waiting: readonly number[];
  readonly running: number;
}

type Kind = Queue["kinds"][number];

export function depthsOf(queues: readonly Queue[]): readonly Depth[] {
  const kinds = queues.flatMap((queue) => queue.kinds);
  const groups = Map.groupBy(kinds, ({ tags }) => tags.toSorted().join(" + ") || "untagged");
  return [...groups].map(([tags, members]) => ({
    tags,
    waiting: PRIORITIES.map((priority) =>
      sum(
        members.filter((each) => each.priority === priority),
        (kind) => kind.waiting + kind.delayed,
      ),
    ),
    running: sum(members, ({ running }) => running),
  }));
}

function sum(kinds: readonly Kind[], count: (kind: Kind) => number): number {
  return kinds.reduce((total, kind) => total + count(kind), 0);
}

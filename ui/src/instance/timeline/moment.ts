// Computes the state of an execution at a point in time from its timeline.

import type { Mark, Span } from "../../api/types.ts";
import type { TimelineData } from "./timeline-data.ts";

export interface Moment {
  readonly open: readonly Span[];
  readonly completed: number;
  readonly failed: number;
  readonly cancelled: number;
  /** The last mark before that time. */
  readonly last: Mark | null;
  /** The event that set the custom status of that time. */
  readonly status: Mark | null;
}

export function momentOf({ spans, marks }: TimelineData, at: number): Moment {
  const open: Span[] = [];
  const ended = { completed: 0, failed: 0, cancelled: 0 };
  for (const span of spans) {
    if (Date.parse(span.from) > at) continue;
    if (span.to === undefined || span.outcome === "open" || Date.parse(span.to) > at) {
      open.push(span);
    } else {
      ended[span.outcome] += 1;
    }
  }
  const before = marks.filter((mark) => Date.parse(mark.at) <= at);
  return {
    open,
    ...ended,
    last: before.at(-1) ?? null,
    status: before.findLast(({ kind }) => kind === "StatusSet") ?? null,
  };
}

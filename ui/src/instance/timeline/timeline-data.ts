// The spans and marks of an execution, loaded page by page and updated.
//   - Closed spans never change, so an update loads only what follows the oldest open span.

import type { Mark, Span, Timeline } from "../../api/types.ts";

export interface TimelineData {
  /** Ordered by sequence. */
  readonly spans: readonly Span[];
  readonly marks: readonly Mark[];
  /** How many events they were computed from. */
  readonly events: number;
}

export const NO_TIMELINE: TimelineData = { spans: [], marks: [], events: 0 };

/** Replaces everything after `after` by the page. */
export function withPage(data: TimelineData, after: number, page: Timeline): TimelineData {
  const keeps = ({ sequence }: { readonly sequence: number }): boolean => sequence <= after;
  return {
    spans: [...data.spans.filter(keeps), ...page.spans],
    marks: [...data.marks.filter(keeps), ...page.marks],
    events: page.events,
  };
}

/** The sequence after which an update must load. */
export function changedAfter({ spans, marks }: TimelineData): number {
  const open = spans.find(({ outcome }) => outcome === "open");
  if (open !== undefined) return open.sequence - 1;
  return Math.max(spans.at(-1)?.sequence ?? 0, marks.at(-1)?.sequence ?? 0);
}

/** The start and the end of the timeline. If it is open, the end is now. */
export function extentOf(
  { spans, marks }: TimelineData,
  now: number,
): { readonly from: number; readonly to: number } | null {
  let from = Infinity;
  let to = -Infinity;
  let isOpen = false;
  for (const span of spans) {
    from = Math.min(from, Date.parse(span.from));
    to = Math.max(to, Date.parse(span.to ?? span.from));
    isOpen ||= span.outcome === "open";
  }
  for (const { at } of marks) {
    from = Math.min(from, Date.parse(at));
    to = Math.max(to, Date.parse(at));
  }
  if (from === Infinity) return null;
  if (isOpen) to = Math.max(to, now);
  return { from, to: Math.max(to, from + 1) };
}

// Loads only the visible pages of a history.
//   - Sequence numbers start at 1 without gaps, so the position of every event is known before it is loaded.

import type { HistoryEvent } from "../../api/types.ts";

/** The loaded events by sequence number. */
export type Events = ReadonlyMap<number, HistoryEvent>;

export const PAGE = 200;

/** The missing pages of a range. A page is identified by the number of the event before its first one. */
export function missingPages(
  events: Events,
  range: { readonly first: number; readonly last: number },
): readonly number[] {
  const pages: number[] = [];
  const start = Math.floor((range.first - 1) / PAGE) * PAGE;
  for (let after = start; after < range.last; after += PAGE) {
    const from = Math.max(after + 1, range.first);
    const to = Math.min(after + PAGE, range.last);
    for (let sequence = from; sequence <= to; sequence++) {
      if (events.has(sequence)) continue;
      pages.push(sequence === from ? after : sequence - 1);
      break;
    }
  }
  return pages;
}

export function withEvents(events: Events, added: readonly HistoryEvent[]): Events {
  const next = new Map(events);
  for (const event of added) next.set(event.sequence, event);
  return next;
}

/** Whether the event contains the text. */
export function matches(event: HistoryEvent, text: string, kinds: RegExp | null): boolean {
  if (kinds !== null && !kinds.test(event.kind)) return false;
  return text === "" || JSON.stringify(event).toLowerCase().includes(text);
}

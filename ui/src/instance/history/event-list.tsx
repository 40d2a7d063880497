// The list of events. Rows open on a click. Only rows on the screen are in the document.

import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useRef, type ReactElement } from "react";
import type { HistoryEvent } from "../../api/types.ts";
import { EventRow } from "./event-row.tsx";

const ROW = 36;

export function EventList({
  id,
  execution,
  count,
  eventAt,
  bySequence,
  opened,
  onOpen,
  onFork,
  onRange,
}: {
  readonly id: string;
  readonly execution: number;
  readonly count: number;
  /** Undefined: the event is loading. */
  readonly eventAt: (index: number) => HistoryEvent | undefined;
  readonly bySequence: (sequence: number) => HistoryEvent | undefined;
  /** The sequence number of the open event. */
  readonly opened: number;
  readonly onOpen: (sequence: number | null) => void;
  readonly onFork: (sequence: number) => void;
  /** Called with the range of sequence numbers on the screen. */
  readonly onRange?: (range: { first: number; last: number }) => void;
}): ReactElement {
  const scroller = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW,
    overscan: 15,
  });
  /** The event whose outcome, answer or refusal this event is, if it is loaded. */
  const requestOf = ({ scheduled, received }: HistoryEvent): HistoryEvent | undefined => {
    const sequence = scheduled ?? received;
    return sequence === undefined ? undefined : bySequence(sequence);
  };
  const items = virtual.getVirtualItems();
  const first = (items[0]?.index ?? 0) + 1;
  const last = (items.at(-1)?.index ?? 0) + 1;
  const reportRange = useRef(onRange);
  useEffect(() => {
    reportRange.current = onRange;
  });
  useEffect(() => reportRange.current?.({ first, last }), [first, last, count]);
  // If the address names an event, scrolls to it once.
  const shownFirst = useRef(false);
  useEffect(() => {
    if (shownFirst.current) return;
    shownFirst.current = true;
    if (Number.isInteger(opened) && onRange !== undefined) {
      virtual.scrollToIndex(opened - 1, { align: "center" });
    }
  }, [virtual, opened, onRange]);
  return (
    <div ref={scroller} className="events" role="list" aria-label="Events">
      <div className="events-rows" style={{ height: virtual.getTotalSize() }}>
        {items.map(({ index, key, start }) => {
          const event = eventAt(index);
          return (
            <div
              key={key}
              ref={virtual.measureElement}
              role="listitem"
              aria-posinset={index + 1}
              aria-setsize={count}
              data-index={index}
              className="event"
              style={{ transform: `translateY(${start}px)` }}
            >
              {event === undefined ? (
                <div className="event-row faint">
                  <span className="event-number">{index + 1}</span>…
                </div>
              ) : (
                <EventRow
                  id={id}
                  execution={execution}
                  event={event}
                  asked={requestOf(event)}
                  isOpen={event.sequence === opened}
                  onOpen={onOpen}
                  onFork={onFork}
                />
              )}
            </div>
          );
        })}
      </div>
    </div>
  );
}

// The rows of a tail. Only rows on the screen are in the document. At its end the list follows new rows; a user who
// scrolls up stays there.

import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useRef, useState, type ReactElement, type ReactNode } from "react";
import type { TailRow } from "./tail.ts";

const ROW = 30;
/** The end is on the screen if fewer pixels are below it. */
const NEAR_END = 24;

/** A row, and whether its value is shown in full. */
export interface OpenableRow {
  readonly row: TailRow;
  readonly isOpen: boolean;
  readonly onOpen: (isOpen: boolean) => void;
}

export function TailList({
  label,
  rows,
  isFollowing,
  onFollowing,
  children,
}: {
  readonly label: string;
  readonly rows: readonly TailRow[];
  readonly isFollowing: boolean;
  readonly onFollowing: (isFollowing: boolean) => void;
  readonly children: (row: OpenableRow) => ReactNode;
}): ReactElement {
  const [opened, setOpened] = useState<number | null>(null);
  const scroller = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW,
    getItemKey: (index) => rows[index]?.offset ?? index,
    overscan: 20,
  });
  const height = virtual.getTotalSize();
  useEffect(() => {
    const element = scroller.current;
    if (isFollowing && element !== null) element.scrollTop = element.scrollHeight;
  }, [isFollowing, height]);
  const top = useRef(0);
  const scrolled = (): void => {
    const element = scroller.current;
    if (element === null) return;
    const { scrollTop, scrollHeight, clientHeight } = element;
    const isUp = scrollTop < top.current;
    top.current = scrollTop;
    if (scrollHeight - scrollTop - clientHeight <= NEAR_END) onFollowing(true);
    else if (isUp) onFollowing(false);
  };
  return (
    <div
      ref={scroller}
      className="tail"
      role="list"
      aria-label={label}
      tabIndex={0}
      onScroll={scrolled}
    >
      <div className="events-rows" style={{ height }}>
        {virtual.getVirtualItems().map(({ index, key, start }) => {
          const row = rows[index];
          return row === undefined ? null : (
            <div
              key={key}
              ref={virtual.measureElement}
              role="listitem"
              aria-posinset={index + 1}
              aria-setsize={rows.length}
              data-index={index}
              className="event"
              style={{ transform: `translateY(${start}px)` }}
            >
              {children({
                row,
                isOpen: row.offset === opened,
                onOpen: (isOpen) => {
                  setOpened(isOpen ? row.offset : null);
                  if (isOpen) onFollowing(false); // the row stays on the screen
                },
              })}
            </div>
          );
        })}
      </div>
    </div>
  );
}

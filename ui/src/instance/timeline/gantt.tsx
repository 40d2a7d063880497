// The rows of the timeline. Only rows on the screen are in the document, so that thousands of rows stay fast.
//   - Keyboard: + and − zoom, the arrow keys move in time, 0 shows everything. The names are buttons.

import { useVirtualizer } from "@tanstack/react-virtual";
import {
  useEffect,
  useRef,
  useState,
  type KeyboardEvent,
  type MouseEvent,
  type ReactElement,
} from "react";
import type { Mark, Span, Waiting } from "../../api/types.ts";
import { Axis } from "./axis.tsx";
import { MarkLane } from "./mark-lane.tsx";
import { SpanRow } from "./span-row.tsx";
import { useWheelZoom } from "./use-wheel-zoom.ts";
import { moved, percent, zoomed, type View } from "./view.ts";

const ROW = 28;

export function Gantt({
  spans,
  marks,
  jumps,
  whole,
  view,
  waiting,
  cursor,
  selected,
  onView,
  onCursor,
  onSelect,
  onRetry,
}: {
  /** The spans to show. */
  readonly spans: readonly Span[];
  readonly marks: readonly Mark[];
  /** With each change of this number the rows scroll to the first open span, or to the last span. */
  readonly jumps: number;
  readonly whole: View;
  readonly view: View;
  readonly waiting: ReadonlyMap<number, Waiting>;
  readonly cursor: number | null;
  readonly selected: number;
  readonly onView: (view: View | null) => void;
  readonly onCursor: (at: number | null) => void;
  readonly onSelect: (sequence: number) => void;
  /** Absent: the instance cannot continue from a point of its past. */
  readonly onRetry: ((sequence: number) => void) | undefined;
}): ReactElement {
  const scroller = useRef<HTMLDivElement>(null);
  const track = useRef<HTMLDivElement>(null);
  const [hover, setHover] = useState<number | null>(null);
  const virtual = useVirtualizer({
    count: spans.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW,
    overscan: 10,
  });
  const latest = useRef(spans);
  useEffect(() => {
    latest.current = spans;
  });
  useEffect(() => {
    if (jumps === 0) return;
    const open = latest.current.findIndex(({ outcome }) => outcome === "open");
    virtual.scrollToIndex(open < 0 ? latest.current.length - 1 : open, { align: "center" });
  }, [virtual, jumps]);
  const timeAt = (clientX: number): number | null => {
    const box = track.current?.getBoundingClientRect();
    if (box === undefined || clientX < box.left || clientX > box.right) return null;
    return view.from + ((clientX - box.left) / box.width) * (view.to - view.from);
  };
  useWheelZoom(scroller, (clientX, factor) => {
    const around = timeAt(clientX);
    if (around !== null) onView(zoomed(view, whole, factor, around));
  });
  const press = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const middle = cursor ?? (view.from + view.to) / 2;
    const views: Readonly<Record<string, () => View | null>> = {
      "+": () => zoomed(view, whole, 0.5, middle),
      "=": () => zoomed(view, whole, 0.5, middle),
      "-": () => zoomed(view, whole, 2, middle),
      ArrowLeft: () => moved(view, whole, -0.2),
      ArrowRight: () => moved(view, whole, 0.2),
      "0": () => null,
    };
    const next = views[event.key];
    if (next === undefined) return;
    event.preventDefault();
    onView(next());
  };
  const line = hover ?? cursor;
  return (
    <div
      ref={scroller}
      className="gantt"
      role="region"
      aria-label="Timeline; plus and minus zoom, arrows move"
      tabIndex={0}
      onKeyDown={press}
      onMouseMove={(event: MouseEvent) => setHover(timeAt(event.clientX))}
      onMouseLeave={() => setHover(null)}
    >
      <div className="gantt-head">
        <span className="gantt-name faint">Name</span>
        <div ref={track} className="gantt-track">
          <Axis view={view} start={whole.from} />
        </div>
      </div>
      <MarkLane marks={marks} view={view} />
      {spans.length === 0 ? <p className="gantt-none muted">Nothing matches.</p> : null}
      <div
        className="gantt-rows"
        style={{ height: virtual.getTotalSize() }}
        onClick={(event) => {
          const at = timeAt(event.clientX);
          if (at !== null && !(event.target instanceof HTMLButtonElement)) onCursor(at);
        }}
      >
        {virtual.getVirtualItems().map(({ index, start }) => {
          const span = spans[index];
          if (span === undefined) return null;
          return (
            <SpanRow
              key={span.sequence}
              span={span}
              waiting={waiting.get(span.sequence)}
              view={view}
              end={whole.to}
              top={start}
              height={ROW}
              isSelected={span.sequence === selected}
              onSelect={onSelect}
              onRetry={onRetry}
            />
          );
        })}
        {line === null || line < view.from || line > view.to ? null : (
          <div className="gantt-lines">
            <div
              className="gantt-line"
              data-pinned={hover === null}
              style={{ left: `${percent(line, view)}%` }}
            />
          </div>
        )}
      </div>
    </div>
  );
}

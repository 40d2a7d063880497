// The whole timeline in small. Dragging over it selects the visible part; the zoom buttons do the same.

import { useEffect, useRef, useState, type PointerEvent, type ReactElement } from "react";
import { resolvedColor } from "../../parts/resolved-color.ts";
import { useIsDark } from "../../shell/theme.ts";
import type { TimelineData } from "./timeline-data.ts";
import { percent, within, type View } from "./view.ts";

const HEIGHT = 44;
/** A shorter drag counts as a click. */
const LEAST_PX = 4;

export function Minimap({
  data,
  whole,
  view,
  onView,
}: {
  readonly data: TimelineData;
  readonly whole: View;
  readonly view: View;
  readonly onView: (view: View | null) => void;
}): ReactElement {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [drag, setDrag] = useState<{ from: number; to: number } | null>(null);
  const [width, setWidth] = useState(0);
  const isDark = useIsDark();
  useEffect(() => {
    const element = canvas.current;
    if (element === null) return undefined;
    const observer = new ResizeObserver(() => setWidth(element.clientWidth));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    if (canvas.current !== null && width > 0) draw(canvas.current, width, data, whole);
  }, [data, whole, width, isDark]);

  const timeAt = (event: PointerEvent): number => {
    const { left, width: size } = event.currentTarget.getBoundingClientRect();
    const share = Math.min(Math.max((event.clientX - left) / size, 0), 1);
    return whole.from + share * (whole.to - whole.from);
  };
  const shown =
    drag === null ? view : { from: Math.min(drag.from, drag.to), to: Math.max(drag.from, drag.to) };
  const left = percent(shown.from, whole);
  return (
    <div
      className="minimap"
      aria-hidden="true"
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        const at = timeAt(event);
        setDrag({ from: at, to: at });
      }}
      onPointerMove={(event) => {
        if (drag !== null) setDrag({ ...drag, to: timeAt(event) });
      }}
      onPointerUp={() => {
        if (drag === null) return;
        setDrag(null);
        const pixels = (Math.abs(drag.to - drag.from) / (whole.to - whole.from)) * width;
        if (pixels >= LEAST_PX) onView(within(shown, whole));
        else {
          const half = (view.to - view.from) / 2;
          onView(within({ from: drag.to - half, to: drag.to + half }, whole));
        }
      }}
      onDoubleClick={() => onView(null)}
    >
      <canvas ref={canvas} height={HEIGHT} />
      <div
        className="minimap-window"
        style={{ left: `${left}%`, width: `${percent(shown.to, whole) - left}%` }}
      />
    </div>
  );
}

function draw(canvas: HTMLCanvasElement, width: number, data: TimelineData, whole: View): void {
  const context = canvas.getContext("2d");
  if (context === null) return;
  const scale = window.devicePixelRatio;
  canvas.width = width * scale;
  canvas.height = HEIGHT * scale;
  context.scale(scale, scale);
  context.clearRect(0, 0, width, HEIGHT);
  const box = canvas.parentElement ?? document.body;
  const kinds = new Set(["failed", ...data.spans.map(({ kind }) => kind)]);
  const colors = new Map([...kinds].map((kind) => [kind, resolvedColor(box, `${kind}-fill`)]));
  const { spans } = data;
  const lane = Math.min(4, (HEIGHT - 4) / Math.max(1, spans.length));
  const x = (time: number): number => ((time - whole.from) / (whole.to - whole.from)) * width;
  spans.forEach((span, index) => {
    const from = x(Date.parse(span.from));
    const to = x(span.outcome === "open" || span.to === undefined ? whole.to : Date.parse(span.to));
    context.fillStyle = colors.get(span.outcome === "failed" ? "failed" : span.kind) ?? "gray";
    context.fillRect(from, 2 + index * lane, Math.max(1, to - from), Math.max(0.6, lane - 0.5));
  });
}

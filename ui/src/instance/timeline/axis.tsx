// The time axis, counted from the start of the execution.

import { useEffect, useRef, useState, type ReactElement } from "react";
import { percent, ticksOf, type View } from "./view.ts";

const TICK_PX = 110;
/** In percent. A label further right would be cut off. */
const LABEL_MAX = 94;

export function Axis({
  view,
  start,
}: {
  readonly view: View;
  readonly start: number;
}): ReactElement {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(800);
  useEffect(() => {
    const element = box.current;
    if (element === null) return undefined;
    const observer = new ResizeObserver(() => setWidth(element.clientWidth));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  const count = Math.max(2, Math.floor(width / TICK_PX));
  return (
    <div ref={box} className="axis">
      {ticksOf(view, start, count).map(({ at, label }) => (
        <span key={at} className="tick" style={{ left: `${percent(at, view)}%` }}>
          {percent(at, view) > LABEL_MAX ? "" : label}
        </span>
      ))}
    </div>
  );
}

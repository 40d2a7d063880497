// The counts of the timeline's spans, and the zoom buttons.

import type { ReactElement } from "react";
import { formatDuration, plural } from "../../parts/format.ts";
import { Icon } from "../../parts/icon.tsx";
import type { TimelineData } from "./timeline-data.ts";
import { zoomed, type View } from "./view.ts";

const KINDS = [
  "activity",
  "step",
  "timer",
  "event",
  "child",
  "ask",
  "requests",
  "callback",
] as const;

export function ZoomTools({
  view,
  whole,
  isWhole,
  isLoading,
  data,
  onView,
}: {
  readonly view: View;
  readonly whole: View;
  readonly isWhole: boolean;
  readonly isLoading: boolean;
  readonly data: TimelineData;
  readonly onView: (view: View | null) => void;
}): ReactElement {
  const middle = (view.from + view.to) / 2;
  const zoom = (factor: number): void => onView(zoomed(view, whole, factor, middle));
  return (
    <div className="timeline-tools">
      <span className="muted" role="status">
        {plural(data.spans.length, "span")} over {formatDuration(whole.to - whole.from)}
        {isLoading ? ", loading more" : ""}
      </span>
      <ul className="timeline-keys">
        {KINDS.map((kind) => (
          <li key={kind}>
            <span className="bar-key" data-kind={kind} /> {kind}
          </li>
        ))}
        <li>
          <span className="bar-key" data-kind="activity" data-part="queued" /> queued
        </li>
        <li>
          <Icon name="undo" /> compensation
        </li>
      </ul>
      <span className="row">
        <span className="faint">{isWhole ? "" : formatDuration(view.to - view.from)}</span>
        <button
          type="button"
          className="button"
          data-size="small"
          aria-label="Zoom out"
          onClick={() => zoom(2)}
        >
          −
        </button>
        <button
          type="button"
          className="button"
          data-size="small"
          aria-label="Zoom in"
          onClick={() => zoom(0.5)}
        >
          +
        </button>
        <button
          type="button"
          className="button"
          data-size="small"
          disabled={isWhole}
          onClick={() => onView(null)}
        >
          Fit
        </button>
      </span>
    </div>
  );
}

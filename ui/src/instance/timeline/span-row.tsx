// The row of a span: its name, and a bar from its request to its end.

import { memo, type ReactElement } from "react";
import type { Span, Waiting } from "../../api/types.ts";
import { formatDuration } from "../../parts/format.ts";
import { Icon } from "../../parts/icon.tsx";
import { KIND_ICONS } from "../waiting-panel.tsx";
import { retryWords, spanName } from "./span-words.ts";
import { percent, type View } from "./view.ts";

/** In percent. If a bar ends left of this, its duration is written to its right. */
const LABEL_RIGHT = 82;

export const SpanRow = memo(SpanRowView);

function SpanRowView({
  span,
  waiting,
  view,
  end,
  top,
  height,
  isSelected,
  onSelect,
}: {
  readonly span: Span;
  readonly waiting: Waiting | undefined;
  readonly view: View;
  /** The end of the bars of open spans. */
  readonly end: number;
  readonly top: number;
  readonly height: number;
  readonly isSelected: boolean;
  readonly onSelect: (sequence: number) => void;
}): ReactElement {
  const { sequence, kind, outcome, due, retries = [] } = span;
  const from = Date.parse(span.from);
  const to = outcome === "open" || span.to === undefined ? end : Date.parse(span.to);
  const left = Math.max(percent(from, view), -1);
  const right = Math.min(percent(to, view), 101);
  const attempts = attemptsOf(span, waiting);
  const duration = `${formatDuration(Math.max(0, to - from))}${outcome === "open" ? " so far" : ""}`;
  const isRetrying = outcome === "open" && attempts > 1;
  const tries = isRetrying
    ? `, ${retryWords(attempts)}`
    : attempts > 1
      ? `, ${attempts} attempts`
      : "";
  const label = `${spanName(span)}, ${outcome}, ${duration}${tries}`;
  return (
    <div
      className="gantt-row"
      data-selected={isSelected}
      style={{ transform: `translateY(${top}px)`, height }}
    >
      <button
        type="button"
        className="gantt-name"
        aria-label={label}
        aria-pressed={isSelected}
        title={label}
        onClick={() => onSelect(sequence)}
      >
        <Icon name={KIND_ICONS[kind]} />
        <span className="cut">{spanName(span)}</span>
        {attempts > 1 ? <span className="attempts">×{attempts}</span> : null}
      </button>
      <div className="gantt-track">
        {due === undefined || outcome !== "open" ? null : (
          <div
            className="bar-due"
            style={{
              left: `${right}%`,
              width: `${Math.max(0, Math.min(100, percent(Date.parse(due), view)) - right)}%`,
            }}
          />
        )}
        {right < 0 || left > 100 ? null : (
          <div
            className="bar"
            data-kind={kind}
            data-outcome={outcome}
            style={{ left: `${left}%`, width: `${Math.max(0, right - left)}%` }}
          />
        )}
        {retries.map(({ at, message }, index) => (
          <span
            key={index}
            className="bar-retry"
            title={`Attempt ${index + 1} failed: ${message}`}
            style={{ left: `${percent(Date.parse(at), view)}%` }}
          />
        ))}
        {right < 0 || left > 100 ? null : right < LABEL_RIGHT ? (
          <span className="bar-label" style={{ left: `${Math.max(0, right)}%` }}>
            {duration}
          </span>
        ) : left > 100 - LABEL_RIGHT ? (
          <span className="bar-label" data-side="left" style={{ right: `${100 - left}%` }}>
            {duration}
          </span>
        ) : (
          <span className="bar-label" data-side="inside" style={{ left: `${Math.max(0, left)}%` }}>
            {duration}
          </span>
        )}
      </div>
    </div>
  );
}

/** The number of attempts, including the current one. */
function attemptsOf(span: Span, waiting: Waiting | undefined): number {
  if (span.attempts !== undefined) return span.attempts;
  if (waiting !== undefined && "attempt" in waiting) return waiting.attempt;
  return (span.retries?.length ?? 0) + 1;
}

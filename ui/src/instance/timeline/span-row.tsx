// The row of a span: its name, and a bar from its request to its end. The bar of an activity shows when it was queued and
// when it ran.

import { memo, type CSSProperties, type ReactElement } from "react";
import type { Span, Waiting } from "../../api/types.ts";
import { formatDuration } from "../../parts/format.ts";
import { Icon } from "../../parts/icon.tsx";
import { KIND_ICONS } from "../waiting-panel.tsx";
import { isCompensation, openWords, retryWords, runOf, runWords, spanName } from "./span-words.ts";
import { percent, type View } from "./view.ts";

/** In percent: where there is this much room beside a bar, its duration is written there. */
const LABEL_WIDTH = 24;

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
  onRetry,
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
  /** Absent: the instance cannot continue from here. */
  readonly onRetry?: ((sequence: number) => void) | undefined;
}): ReactElement {
  const { sequence, kind, outcome, due, replaced, retries = [] } = span;
  const from = Date.parse(span.from);
  const to = outcome === "open" || span.to === undefined ? end : Date.parse(span.to);
  const left = Math.max(percent(from, view), -1);
  const right = Math.min(percent(to, view), 101);
  const attempts = attemptsOf(span, waiting);
  const state = outcome === "open" ? openWords(waiting) : runWords(span, attempts);
  const total = `${formatDuration(Math.max(0, to - from))}${outcome === "open" ? " so far" : ""}`;
  const more = [...(state === null ? [] : [state]), ...(replaced === true ? ["replaced"] : [])];
  const isRetrying = outcome === "open" && attempts > 1;
  const tries = isRetrying ? [retryWords(attempts)] : attempts > 1 ? [`${attempts} attempts`] : [];
  const isUndo = isCompensation(span);
  const label = [
    spanName(span),
    ...(isUndo ? ["compensation"] : []),
    outcome,
    ...(replaced === true ? ["replaced by an operator"] : []),
    total,
    ...(state === null ? [] : [state]),
    ...tries,
  ].join(", ");
  return (
    <div
      className="gantt-row"
      data-selected={isSelected}
      data-compensation={isUndo}
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
        <Icon name={isUndo ? "undo" : KIND_ICONS[kind]} />
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
        {partsOf(span, from, to).map(({ part, ...times }) => {
          const begin = Math.max(percent(times.from, view), -1);
          const until = Math.min(percent(times.to, view), 101);
          return until < 0 || begin > 100 ? null : (
            <div
              key={part}
              className="bar"
              data-kind={kind}
              data-outcome={outcome}
              data-part={part}
              style={{ left: `${begin}%`, width: `${Math.max(0, until - begin)}%` }}
            />
          );
        })}
        {retries.map(({ at, message }, index) => (
          <span
            key={index}
            className="bar-retry"
            title={`Attempt ${index + 1} failed: ${message}`}
            style={{ left: `${percent(Date.parse(at), view)}%` }}
          />
        ))}
        {right < 0 || left > 100 ? null : (
          <span className="bar-label" {...labelPlace(left, right)}>
            {total}
            {more.length === 0 ? null : <span className="bar-more"> ({more.join(", ")})</span>}
          </span>
        )}
      </div>
      {onRetry === undefined ? null : (
        <button
          type="button"
          className="button gantt-retry"
          data-size="small"
          aria-label={`Retry from here: ${spanName(span)}, event ${sequence}`}
          title="Retry from here"
          onClick={() => onRetry(sequence)}
        >
          <Icon name="again" />
        </button>
      )}
    </div>
  );
}

/** To the right of the bar, or to its left, or inside. */
function labelPlace(
  left: number,
  right: number,
): { readonly "data-side"?: "left" | "inside"; readonly style: CSSProperties } {
  if (100 - right >= LABEL_WIDTH) return { style: { left: `${Math.max(0, right)}%` } };
  if (left >= LABEL_WIDTH) return { "data-side": "left", style: { right: `${100 - left}%` } };
  return { "data-side": "inside", style: { left: `${Math.max(0, left)}%` } };
}

interface BarPart {
  readonly part: "whole" | "queued" | "ran";
  readonly from: number;
  readonly to: number;
}

function partsOf(span: Span, from: number, to: number): readonly BarPart[] {
  const run = runOf(span);
  if (run === null) return [{ part: "whole", from, to }];
  return [
    { part: "queued", from, to: run.from },
    { part: "ran", from: run.from, to: run.to },
  ];
}

/** The number of attempts, including the current one. */
function attemptsOf(span: Span, waiting: Waiting | undefined): number {
  if (span.attempts !== undefined) return span.attempts;
  if (waiting !== undefined && "attempt" in waiting) return waiting.attempt;
  return (span.retries?.length ?? 0) + 1;
}

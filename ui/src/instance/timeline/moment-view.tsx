// The cursor: a point in time, and the state of the execution at that time.

import type { ReactElement } from "react";
import { inspect } from "../../api/endpoints.ts";
import { useLoaded } from "../../api/use-loaded.ts";
import { formatClock, formatDuration, plural } from "../../parts/format.ts";
import { ValueBrief } from "../../values/value-view.tsx";
import { kindWords } from "../history/event-words.ts";
import { momentOf } from "./moment.ts";
import { spanName } from "./span-words.ts";
import type { TimelineData } from "./timeline-data.ts";
import type { View } from "./view.ts";

const OPEN_SHOWN = 8;
const STEPS = 500;

export function MomentView({
  id,
  execution,
  data,
  whole,
  view,
  cursor,
  onCursor,
  onSelect,
}: {
  readonly id: string;
  readonly execution: number;
  readonly data: TimelineData;
  readonly whole: View;
  readonly view: View;
  readonly cursor: number | null;
  readonly onCursor: (at: number | null) => void;
  readonly onSelect: (sequence: number) => void;
}): ReactElement {
  const at = cursor ?? whole.to;
  const step = (view.to - view.from) / STEPS;
  const share = Math.min(Math.max((at - view.from) / step, 0), STEPS);
  return (
    <div className="moment">
      <label className="moment-slider">
        <span className="gantt-name muted">Cursor</span>
        <input
          type="range"
          min={0}
          max={STEPS}
          step={1}
          value={share}
          aria-valuetext={`${formatDuration(at - whole.from)} after the start`}
          onChange={(event) => onCursor(view.from + Number(event.target.value) * step)}
        />
      </label>
      {cursor === null ? (
        <p className="hint">
          Move the cursor or click the timeline to see the state at that moment.
        </p>
      ) : (
        <MomentState
          id={id}
          execution={execution}
          data={data}
          at={at}
          start={whole.from}
          onSelect={onSelect}
          onClose={() => onCursor(null)}
        />
      )}
    </div>
  );
}

function MomentState({
  id,
  execution,
  data,
  at,
  start,
  onSelect,
  onClose,
}: {
  readonly id: string;
  readonly execution: number;
  readonly data: TimelineData;
  readonly at: number;
  readonly start: number;
  readonly onSelect: (sequence: number) => void;
  readonly onClose: () => void;
}): ReactElement {
  const { open, completed, failed, cancelled, last, status } = momentOf(data, at);
  const set = useLoaded(
    status === null ? null : `event ${id} ${execution} ${status.sequence}`,
    (signal) => inspect.event(id, status?.sequence ?? 1, execution, signal),
  );
  return (
    <div className="moment-state" role="status">
      <p>
        <strong>+{formatDuration(at - start)}</strong>{" "}
        <span className="faint">{formatClock(at)}</span>: {plural(completed, "span")} completed
        {failed === 0 ? "" : `, ${failed} failed`}
        {cancelled === 0 ? "" : `, ${cancelled} cancelled`}, {open.length} open
        {last === null
          ? ""
          : `; last: ${kindWords(last.kind)}${last.name === undefined ? "" : ` ${last.name}`}`}
      </p>
      {status === null ? null : (
        <p className="cut">
          Custom status: <ValueBrief value={set.data?.status} />
        </p>
      )}
      <div className="tags">
        {open.slice(0, OPEN_SHOWN).map((span) => (
          <button
            key={span.sequence}
            type="button"
            className="button"
            data-size="small"
            onClick={() => onSelect(span.sequence)}
          >
            <span className="bar-key" data-kind={span.kind} />
            {spanName(span)}
          </button>
        ))}
        {open.length > OPEN_SHOWN ? (
          <span className="faint">and {open.length - OPEN_SHOWN} more</span>
        ) : null}
        <button
          type="button"
          className="button"
          data-kind="quiet"
          data-size="small"
          onClick={onClose}
        >
          Remove the cursor
        </button>
      </div>
    </div>
  );
}

// One event: a line, and its details when it is open.

import type { ReactElement } from "react";
import { useSession, whyNot } from "../../api/session.ts";
import type { HistoryEvent } from "../../api/types.ts";
import { formatDateTime, formatExactClock } from "../../parts/format.ts";
import { ValueBrief } from "../../values/value-view.tsx";
import { EventBody } from "./event-body.tsx";
import { aboutOf, kindWords, payloadsOf, toneOf } from "./event-words.ts";

export function EventRow({
  id,
  execution,
  event,
  asked,
  isOpen,
  onOpen,
  onFork,
}: {
  readonly id: string;
  readonly execution: number;
  readonly event: HistoryEvent;
  /** The event that requested the work whose outcome this is, if it is loaded. */
  readonly asked: HistoryEvent | undefined;
  readonly isOpen: boolean;
  readonly onOpen: (sequence: number | null) => void;
  readonly onFork: (sequence: number) => void;
}): ReactElement {
  const refusal = whyNot(useSession(), "operator");
  const { sequence, kind, at, failure } = event;
  const [payload] = payloadsOf(event);
  return (
    <>
      <button
        type="button"
        className="event-row"
        aria-expanded={isOpen}
        onClick={() => onOpen(isOpen ? null : sequence)}
      >
        <span className="event-number">{sequence}</span>
        <span className="event-time" title={formatDateTime(at)}>
          {formatExactClock(at)}
        </span>
        <span className="event-kind" data-tone={toneOf(kind)}>
          {kindWords(kind)}
        </span>
        <span className="event-about cut">{aboutOf(event, asked)}</span>
        <span className="event-payload cut">
          {failure !== undefined ? (
            <span className="list-trouble">{failure.message}</span>
          ) : payload === undefined ? null : (
            <ValueBrief value={payload.value} charsMax={160} />
          )}
        </span>
      </button>
      {isOpen ? (
        <div className="event-open">
          <EventBody id={id} execution={execution} event={event} />
          {sequence < 2 ? null : (
            <button
              type="button"
              className="button"
              data-size="small"
              disabled={refusal !== null}
              title={refusal ?? undefined}
              onClick={() => onFork(sequence)}
            >
              Fork from here
            </button>
          )}
        </div>
      ) : null}
    </>
  );
}

// The details of a span: its request and its outcome.

import type { ReactElement } from "react";
import { inspect } from "../../api/endpoints.ts";
import type { Repair, Span, Waiting } from "../../api/types.ts";
import { useLoaded } from "../../api/use-loaded.ts";
import { Elapsed } from "../../parts/elapsed.tsx";
import { Fact } from "../../parts/fact.tsx";
import { formatDateTime, formatDuration } from "../../parts/format.ts";
import { Icon } from "../../parts/icon.tsx";
import { InstanceLink } from "../../parts/instance-link.tsx";
import { Panel } from "../../parts/panel.tsx";
import { replacementOf } from "../repair/repair-words.ts";
import { EventBody } from "../history/event-body.tsx";
import { isCompensation, openWords, runOf, spanName } from "./span-words.ts";

export function SpanDetail({
  id,
  execution,
  span,
  waiting,
  repairs,
  onRetry,
  onClose,
}: {
  readonly id: string;
  readonly execution: number;
  readonly span: Span;
  readonly waiting: Waiting | undefined;
  readonly repairs: readonly Repair[];
  /** Absent: the instance cannot continue from here. */
  readonly onRetry: ((sequence: number) => void) | undefined;
  readonly onClose: () => void;
}): ReactElement {
  const { sequence, endedBy, kind, outcome, retries = [] } = span;
  const run = runOf(span);
  const replacement = replacementOf(repairs, sequence);
  const asked = useLoaded(`event ${id} ${execution} ${sequence}`, (signal) =>
    inspect.event(id, sequence, execution, signal),
  );
  const ended = useLoaded(
    endedBy === undefined ? null : `event ${id} ${execution} ${endedBy}`,
    (signal) => inspect.event(id, endedBy ?? sequence, execution, signal),
  );
  return (
    <Panel
      title={`${kind} ${spanName(span)}`}
      tools={
        <>
          {onRetry === undefined ? null : (
            <button
              type="button"
              className="button"
              data-size="small"
              onClick={() => onRetry(sequence)}
            >
              Retry from here
            </button>
          )}
          <button type="button" className="button" data-size="small" onClick={onClose}>
            Close
          </button>
        </>
      }
    >
      <div className="stack">
        <dl className="facts">
          <Fact name="Outcome">{outcome}</Fact>
          <Fact name="From">{formatDateTime(span.from)}</Fact>
          {span.to === undefined ? null : <Fact name="To">{formatDateTime(span.to)}</Fact>}
          <Fact name="Duration">
            <Elapsed from={span.from} to={span.to} />
          </Fact>
          {run === null ? null : (
            <>
              <Fact name={(span.attempts ?? 1) > 1 ? "Before the last attempt" : "Queued"}>
                {formatDuration(run.queuedMs)}
              </Fact>
              <Fact name="Ran">{formatDuration(run.to - run.from)}</Fact>
            </>
          )}
          {openWords(waiting) === null ? null : <Fact name="State">{openWords(waiting)}</Fact>}
          {isCompensation(span) ? <Fact name="Part">compensation or cleanup</Fact> : null}
          {span.attempts === undefined ? null : <Fact name="Attempts">{span.attempts}</Fact>}
          {waiting !== undefined && "attempt" in waiting ? (
            <Fact name="Attempt">{waiting.attempt}</Fact>
          ) : null}
          {span.due === undefined ? null : <Fact name="Due">{formatDateTime(span.due)}</Fact>}
          {span.id === undefined ? null : (
            <Fact name={kind === "ask" ? "Asked instance" : "Child"}>
              <InstanceLink id={span.id} />
            </Fact>
          )}
        </dl>
        {span.replaced === true ? (
          <p className="note" data-tone="warn">
            <Icon name="info" />
            <span className="grow wrap">
              {replacement === undefined
                ? "An operator gave this outcome in an earlier repair."
                : `An operator gave this outcome${replacement.by === undefined ? "" : `: ${replacement.by}`}, ${formatDateTime(replacement.at)}. Reason: ${replacement.reason}`}
            </span>
          </p>
        ) : null}
        {retries.map(({ at, message }, index) => (
          <p key={index} className="list-trouble wrap">
            Attempt {index + 1} failed at {formatDateTime(at)}: {message}
          </p>
        ))}
        {waiting !== undefined && "lastError" in waiting && waiting.lastError !== undefined ? (
          <p className="list-trouble wrap">Last error: {waiting.lastError}</p>
        ) : null}
        {asked.data === undefined ? null : (
          <EventBody id={id} execution={execution} event={asked.data} />
        )}
        {ended.data === undefined || endedBy === sequence ? null : (
          <EventBody id={id} execution={execution} event={ended.data} />
        )}
      </div>
    </Panel>
  );
}

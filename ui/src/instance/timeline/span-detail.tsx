// The details of a span: its request and its outcome.

import type { ReactElement } from "react";
import { inspect } from "../../api/endpoints.ts";
import type { Span, Waiting } from "../../api/types.ts";
import { useLoaded } from "../../api/use-loaded.ts";
import { Elapsed } from "../../parts/elapsed.tsx";
import { Fact } from "../../parts/fact.tsx";
import { formatDateTime } from "../../parts/format.ts";
import { InstanceLink } from "../../parts/instance-link.tsx";
import { Panel } from "../../parts/panel.tsx";
import { EventBody } from "../history/event-body.tsx";
import { spanName } from "./span-words.ts";

export function SpanDetail({
  id,
  execution,
  span,
  waiting,
  onClose,
}: {
  readonly id: string;
  readonly execution: number;
  readonly span: Span;
  readonly waiting: Waiting | undefined;
  readonly onClose: () => void;
}): ReactElement {
  const { sequence, endedBy, kind, outcome, retries = [] } = span;
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
        <button type="button" className="button" data-size="small" onClick={onClose}>
          Close
        </button>
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

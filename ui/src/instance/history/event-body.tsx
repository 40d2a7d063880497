// The complete event: its members, payloads and error.

import type { ReactElement } from "react";
import { inspect } from "../../api/endpoints.ts";
import type { HistoryEvent } from "../../api/types.ts";
import { useLoaded } from "../../api/use-loaded.ts";
import { Fact } from "../../parts/fact.tsx";
import { formatDateTime, formatDuration } from "../../parts/format.ts";
import { InstanceLink } from "../../parts/instance-link.tsx";
import { FailureView } from "../../values/failure-view.tsx";
import { isCut } from "../../values/shown-value.ts";
import { ValueView } from "../../values/value-view.tsx";
import { kindWords, payloadsOf } from "./event-words.ts";

const TIMES = ["delayMs", "timeoutMs", "scheduleToCloseMs", "heartbeatTimeoutMs"] as const;
const TEXTS = [
  "name",
  "orchestrationVersion",
  "node",
  "key",
  "change",
  "reason",
  "by",
  "since",
  "outcome",
  "session",
  "release",
] as const;
const VALUES = ["attributes", "metadata", "retry"] as const;

export function EventBody({
  id,
  execution,
  event: given,
}: {
  readonly id: string;
  readonly execution: number;
  readonly event: HistoryEvent;
}): ReactElement {
  const needsWhole = payloadsOf(given).some(({ value }) => isCut(value));
  const whole = useLoaded(
    needsWhole ? `event ${id} ${execution} ${given.sequence}` : null,
    (signal) => inspect.event(id, given.sequence, execution, signal),
  );
  const event = whole.data ?? given;
  return (
    <div className="event-body">
      <h3>
        {kindWords(event.kind)} <span className="faint">event {event.sequence}</span>
      </h3>
      <dl className="facts">
        <Fact name="At">{formatDateTime(event.at)}</Fact>
        {event.scheduled === undefined ? null : (
          <Fact name="Outcome of">event {event.scheduled}</Fact>
        )}
        {TEXTS.map((name) =>
          event[name] === undefined ? null : (
            <Fact key={name} name={kindWords(name)}>
              {event[name]}
            </Fact>
          ),
        )}
        {event.received === undefined ? null : <Fact name="Answer to">event {event.received}</Fact>}
        {event.names === undefined ? null : <Fact name="Requests">{event.names.join(", ")}</Fact>}
        {event.id === undefined ? null : event.kind === "RequestReceived" ? (
          <Fact name="Request id">{event.id}</Fact>
        ) : (
          <Fact name="Instance">
            <InstanceLink id={event.id} />
          </Fact>
        )}
        {event.from === undefined ? null : (
          <Fact name="Asked by">
            <InstanceLink id={event.from.id} />
          </Fact>
        )}
        {event.parent === undefined ? null : (
          <Fact name="Parent">
            <InstanceLink id={event.parent.id} />
          </Fact>
        )}
        {event.attempt === undefined ? null : <Fact name="Attempt">{event.attempt}</Fact>}
        {event.attempts === undefined ? null : <Fact name="Attempts">{event.attempts}</Fact>}
        {event.due === undefined ? null : <Fact name="Due">{formatDateTime(event.due)}</Fact>}
        {event.began === undefined ? null : <Fact name="Began">{formatDateTime(event.began)}</Fact>}
        {event.ended === undefined ? null : <Fact name="Ended">{formatDateTime(event.ended)}</Fact>}
        {event.replaced === undefined ? null : <Fact name="Given by">an operator</Fact>}
        {event.expiresAt === undefined ? null : (
          <Fact name="Expires">{formatDateTime(event.expiresAt)}</Fact>
        )}
        {TIMES.map((name) =>
          event[name] === undefined ? null : (
            <Fact key={name} name={kindWords(name.replace(/Ms$/, ""))}>
              {formatDuration(event[name])}
            </Fact>
          ),
        )}
        {event.tags === undefined ? null : <Fact name="Tags">{event.tags.join(", ")}</Fact>}
        {event.priority === undefined ? null : <Fact name="Priority">{event.priority}</Fact>}
      </dl>
      {payloadsOf(event).map(({ name, value }) => (
        <div key={name}>
          <h3 className="payload-name">{name}</h3>
          <ValueView value={value} label={`the ${name}`} />
        </div>
      ))}
      {VALUES.map((name) =>
        event[name] === undefined ? null : (
          <div key={name}>
            <h3 className="payload-name">{name}</h3>
            <ValueView value={event[name]} label={`the ${name}`} />
          </div>
        ),
      )}
      {event.failure === undefined ? null : <FailureView failure={event.failure} />}
      {(event.compensationFailures ?? []).map((failure, index) => (
        <FailureView key={index} failure={failure} />
      ))}
    </div>
  );
}

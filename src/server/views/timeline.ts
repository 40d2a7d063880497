// The timeline of an execution: spans from a request to its outcome, and marks for single events.
//   - A span has the sequence of the event that requested it. Its outcome is that of the call in the
//        projection (core/history/projection.ts).
//   - A span that is open when its execution ends counts as cancelled.

import type * as v from "valibot";
import { defaultCodec, type Codec } from "../../core/values/codec.ts";
import { readableFailure } from "../../core/errors/failure-seal.ts";
import { isTerminal, type HistoryEvent } from "../../core/history/events.ts";
import { projectHistory, type Call, type ScheduleEvent } from "../../core/history/projection.ts";
import { codeEnd } from "../../core/repair/preview.ts";
import type { mark, span } from "../schemas/history.ts";
import { attemptTimes, timeText } from "../wire/history.ts";

type Span = v.InferInput<typeof span>;
type Mark = v.InferInput<typeof mark>;

export interface Timeline {
  readonly spans: readonly Span[];
  readonly marks: readonly Mark[];
}

export function timelineOf(events: readonly HistoryEvent[], codec: Codec = defaultCodec): Timeline {
  const { calls } = projectHistory(events);
  const end = events.findLast(isTerminal);
  const compensationsAfter = codeEnd(events);
  return {
    spans: [...calls.values()].map((call) => ({
      ...requestOf(call.scheduled),
      ...retriesOf(call, codec),
      ...outcomeOf(call, end, codec),
      ...(isCompensation(call, compensationsAfter) ? { compensation: true } : {}),
    })),
    marks: marksOf(events.filter(({ sequence }) => !calls.has(sequence))),
  };
}

function marksOf(events: readonly HistoryEvent[]): readonly Mark[] {
  const requests = new Map<number, string>();
  return events.flatMap((event) => {
    if (event.kind === "RequestReceived") requests.set(event.sequence, event.name);
    return markOf(event, "received" in event ? requests.get(event.received) : undefined);
  });
}

function requestOf(scheduled: ScheduleEvent): Omit<Span, "outcome"> {
  const { sequence, at } = scheduled;
  const node = "node" in scheduled ? { node: scheduled.node } : {};
  const common = { sequence, from: timeText(at), ...node };
  switch (scheduled.kind) {
    case "ActivityScheduled":
      return { ...common, kind: "activity", name: scheduled.name };
    case "StepScheduled":
      return { ...common, kind: "step", name: scheduled.name };
    case "TimerCreated":
      return { ...common, kind: "timer", due: timeText(scheduled.due) };
    case "ChildScheduled":
      return { ...common, kind: "child", name: scheduled.name, id: scheduled.id };
    case "EventSubscribed":
      return { ...common, kind: "event", name: scheduled.name };
    case "CallbackCreated":
      return { ...common, kind: "callback", name: scheduled.name };
    case "AskSent":
      return { ...common, kind: "ask", name: scheduled.name, id: scheduled.id };
    case "RequestsServed":
      return { ...common, kind: "requests", name: scheduled.names.join(", ") };
  }
}

function retriesOf({ failedAttempts }: Call, codec: Codec): Pick<Span, "retries"> {
  if (failedAttempts.length === 0) return {};
  const retries = failedAttempts.map(({ at, failure }) => ({
    at: timeText(at),
    message: readableFailure(failure, codec).message,
  }));
  return { retries };
}

/** A call that the code itself left open when it threw is cancelled at once. */
function isCompensation({ scheduled, outcome }: Call, after: number): boolean {
  return scheduled.sequence > after && outcome?.status !== "cancelled";
}

/** `end`: the event that ended the execution, if it has ended. */
function outcomeOf(
  { outcome }: Call,
  end: HistoryEvent | undefined,
  codec: Codec,
): Pick<Span, "outcome"> & Partial<Span> {
  if (outcome === undefined) {
    if (end === undefined) return { outcome: "open" };
    return { outcome: "cancelled", to: timeText(end.at), endedBy: end.sequence };
  }
  const { status, event } = outcome;
  const failure = status === "failed" && "failure" in event ? event.failure : undefined;
  return {
    outcome: status,
    to: timeText(event.at),
    endedBy: event.sequence,
    ...("attempts" in event ? { attempts: event.attempts } : {}),
    ...attemptTimes(event),
    ...("replaced" in event ? { replaced: event.replaced } : {}),
    ...(failure === undefined ? {} : { message: readableFailure(failure, codec).message }),
  };
}

/** Empty: the event belongs to a span. `request`: the name of the request that the event answers. */
function markOf(event: HistoryEvent, request: string | undefined): readonly Mark[] {
  if ("scheduled" in event) return [];
  const { sequence, kind, at } = event;
  return [
    {
      sequence,
      kind,
      at: timeText(at),
      ...("name" in event ? { name: event.name } : {}),
      ...(request === undefined ? {} : { name: request }),
      ...("key" in event && kind !== "EventReceived" ? { name: event.key } : {}),
      ...("change" in event ? { name: event.change } : {}),
    },
  ];
}

// Converts history events to JSON, with decoded payloads and ISO times.
//   - The seed is omitted: a reader who knows it could predict the random ids and numbers of the code.
//   - Payloads are cut to a length that the reader chooses. `/history/{sequence}` returns complete payloads.

import { recordedToHttp } from "./attributes.ts";
import type * as v from "valibot";
import { defined } from "../../core/values/defined.ts";
import type { Codec } from "../../core/values/codec.ts";
import type { HistoryEvent, Repair } from "../../core/history/events.ts";
import type { historyEvent } from "../schemas/history.ts";
import { payloadToHttp, type WriteOptions } from "../views/values.ts";
import { failureToHttp } from "./failure.ts";
import { member } from "./instance.ts";
import { repairToHttp } from "./repair.ts";

export type EventShape = v.InferInput<typeof historyEvent>;

export function eventToHttp(
  event: HistoryEvent,
  codec: Codec,
  options: WriteOptions = {},
): EventShape {
  const payload = (text: string): unknown => payloadToHttp(text, codec, options);
  return {
    sequence: event.sequence,
    kind: event.kind,
    at: timeText(event.at),
    version: event.version,
    ...defined({ release: event.release }),
    ...plainMembers(event),
    ...("input" in event ? member("input", payload(event.input)) : {}),
    ...("sent" in event ? member("sent", payload(event.sent)) : {}),
    ...("output" in event ? member("output", payload(event.output)) : {}),
    ...("data" in event ? member("data", payload(event.data)) : {}),
    ...("value" in event ? member("value", payload(event.value)) : {}),
    ...("details" in event ? member("details", payload(event.details)) : {}),
    ...("schemas" in event ? member("schemas", payload(event.schemas)) : {}),
    ...("state" in event ? member("state", payload(event.state)) : {}),
    ...("status" in event
      ? member("status", event.status === null ? null : payload(event.status))
      : {}),
    ...("keyValues" in event
      ? { keyValues: event.keyValues.map(([key, , at]) => ({ key, at: timeText(at) })) }
      : {}),
    ...refusedMembers(event, codec),
    ...("failure" in event ? { failure: failureToHttp(event.failure, codec) } : {}),
    ...("compensationFailures" in event
      ? {
          compensationFailures: event.compensationFailures.map((failure) =>
            failureToHttp(failure, codec),
          ),
        }
      : {}),
  };
}

/** The values that a schema refused. */
function refusedMembers(event: HistoryEvent, codec: Codec): Partial<EventShape> {
  if (!("refused" in event)) return {};
  if (event.kind !== "EventSubscribed") return { refused: failureToHttp(event.refused, codec) };
  const refusedEvents = event.refused.map((one) => ({
    event: one.event,
    failure: failureToHttp(one.failure, codec),
  }));
  return { refusedEvents };
}

function recordToHttp({ at, ...repair }: Repair): NonNullable<EventShape["repairs"]>[number] {
  return repairToHttp({ ...repair, at: new Date(timeText(at)) });
}

/** The members that are not payloads. */
function plainMembers(event: HistoryEvent): Partial<EventShape> {
  return {
    ...("name" in event ? { name: event.name } : {}),
    ...("orchestrationVersion" in event
      ? { orchestrationVersion: event.orchestrationVersion }
      : {}),
    ...("scheduled" in event ? { scheduled: event.scheduled } : {}),
    ...("node" in event ? { node: event.node } : {}),
    ...("id" in event ? { id: event.id } : {}),
    ...("explicitId" in event ? { explicitId: event.explicitId } : {}),
    ...("key" in event ? { key: event.key } : {}),
    ...("change" in event ? { change: event.change } : {}),
    ...("reason" in event ? { reason: event.reason } : {}),
    ...("by" in event ? { by: event.by } : {}),
    ...("outcome" in event ? { outcome: event.outcome } : {}),
    ...("since" in event ? { since: event.since } : {}),
    ...("internal" in event ? { internal: event.internal } : {}),
    ...("unchecked" in event ? { unchecked: event.unchecked } : {}),
    ...("taken" in event ? { taken: event.taken } : {}),
    ...("wait" in event ? { wait: event.wait } : {}),
    ...("onParentClose" in event ? { onParentClose: event.onParentClose } : {}),
    ...("runId" in event ? { runId: event.runId } : {}),
    ...("parent" in event ? { parent: event.parent } : {}),
    ...("names" in event ? { names: [...event.names] } : {}),
    ...("received" in event ? { received: event.received } : {}),
    ...("from" in event ? { from: event.from } : {}),
    ...("attributes" in event && event.attributes !== undefined
      ? { attributes: recordedToHttp(event.attributes) }
      : {}),
    ...("metadata" in event ? { metadata: event.metadata } : {}),
    ...("attempt" in event ? { attempt: event.attempt } : {}),
    ...("attempts" in event ? { attempts: event.attempts } : {}),
    ...("due" in event ? { due: timeText(event.due) } : {}),
    ...attemptTimes(event),
    ...("replaced" in event ? { replaced: event.replaced } : {}),
    ...("expiresAt" in event ? { expiresAt: timeText(event.expiresAt) } : {}),
    ...("delayMs" in event ? { delayMs: event.delayMs } : {}),
    ...("timeoutMs" in event ? { timeoutMs: event.timeoutMs } : {}),
    ...("scheduleToCloseMs" in event ? { scheduleToCloseMs: event.scheduleToCloseMs } : {}),
    ...("heartbeatTimeoutMs" in event ? { heartbeatTimeoutMs: event.heartbeatTimeoutMs } : {}),
    ...("retry" in event ? { retry: event.retry } : {}),
    ...("session" in event ? { session: event.session } : {}),
    ...("tags" in event ? { tags: [...event.tags] } : {}),
    ...("priority" in event ? { priority: event.priority } : {}),
    ...("repairs" in event ? { repairs: event.repairs.map(recordToHttp) } : {}),
    ...("replaced" in event ? { replaced: event.replaced } : {}),
  };
}

/** When the code of the last attempt began and ended, if the event is an outcome that has the times. */
export function attemptTimes(event: HistoryEvent): { began?: string; ended?: string } {
  if (!("ran" in event) || event.ran === undefined) return {};
  const [began, durationMs] = event.ran;
  return { began: timeText(began), ended: timeText(began + durationMs) };
}

/** ISO text of a time. A damaged history can contain a time outside the range of Date; it is clamped. */
export function timeText(ms: number): string {
  const time = Math.min(Math.max(ms, -DATE_MAX), DATE_MAX);
  return new Date(Number.isNaN(time) ? 0 : time).toISOString();
}

/** 9999-12-31T23:59:59.999Z, the last time with a four-digit year. */
const DATE_MAX = 253_402_300_799_999;

// History events, and the timeline that is computed from them.

import * as v from "valibot";
import { timestamp, value, whole } from "./common.ts";
import { failure } from "./failure.ts";
import { repair } from "./repair.ts";

const text = v.exactOptional(v.string());
const number = v.exactOptional(whole);

/** A call of another instance. */
const link = v.object({ id: v.string(), runId: v.string(), execution: whole, sequence: whole });

/** One schema for all kinds of events. A kind has only some of the members. Payloads are decoded. */
export const historyEvent = v.object({
  sequence: whole,
  kind: v.string(),
  at: timestamp,
  version: whole,
  /** The release of Perdure that wrote the event. */
  release: v.exactOptional(v.string()),
  name: text,
  orchestrationVersion: text,
  /** The sequence of the request whose outcome this event is. */
  scheduled: number,
  node: text,
  id: text,
  explicitId: v.exactOptional(v.boolean()),
  key: text,
  change: text,
  reason: text,
  by: text,
  outcome: text,
  since: text,
  internal: v.exactOptional(v.literal(true)),
  /** The receiver of the start must check the input. */
  unchecked: v.exactOptional(v.literal(true)),
  /** The unread event that a wait takes, if it is not the oldest one; 0: none. */
  taken: number,
  /** The wait that receives an event, if it is not the oldest one. */
  wait: number,
  /** Why a schema refused the input or the event. */
  refused: v.exactOptional(failure),
  /** The unread events that the schema of a wait refused. */
  refusedEvents: v.exactOptional(v.array(v.object({ event: whole, failure }))),
  onParentClose: text,
  runId: text,
  parent: v.exactOptional(link),
  /** The names of the requests that the code serves. */
  names: v.exactOptional(v.array(v.string())),
  /** The JSON Schemas of the inputs of these requests. */
  schemas: v.exactOptional(value),
  /** The sequence of the received request that this event answers or refuses. */
  received: number,
  /** The instance that asks. Absent: a client asks. */
  from: v.exactOptional(link),
  input: v.exactOptional(value),
  /** The input of a request as it was sent, if its schema changed it. */
  sent: v.exactOptional(value),
  output: v.exactOptional(value),
  data: v.exactOptional(value),
  details: v.exactOptional(value),
  state: v.exactOptional(value),
  value: v.exactOptional(value),
  status: v.exactOptional(v.nullable(value)),
  keyValues: v.exactOptional(v.array(v.object({ key: v.string(), at: timestamp }))),
  /** Strings by name; null removes an attribute. */
  attributes: v.exactOptional(v.pipe(v.unknown(), v.metadata({ type: "object" }))),
  metadata: v.exactOptional(v.unknown()),
  failure: v.exactOptional(failure),
  compensationFailures: v.exactOptional(v.array(failure)),
  attempt: number,
  attempts: number,
  due: v.exactOptional(timestamp),
  /** When the code of the last attempt began and ended. */
  began: v.exactOptional(timestamp),
  ended: v.exactOptional(timestamp),
  /** Set: an operator gave this outcome. */
  replaced: v.exactOptional(v.literal(true)),
  /** When the wait for a callback times out. */
  expiresAt: v.exactOptional(timestamp),
  delayMs: number,
  timeoutMs: number,
  scheduleToCloseMs: number,
  heartbeatTimeoutMs: number,
  retry: v.exactOptional(v.unknown()),
  session: text,
  tags: v.exactOptional(v.array(v.string())),
  priority: number,
  /** The repairs that led to the execution, in its first event. */
  repairs: v.exactOptional(v.array(repair)),
});

export const historyPage = v.object({
  execution: whole,
  events: v.array(historyEvent),
  /** Pass it as `after` to get the next page. Absent: this is the last page for now. */
  next: number,
});

export const SPAN_OUTCOMES = ["open", "completed", "failed", "cancelled"] as const;

/** A call that takes time, from its request to its outcome. */
export const span = v.object({
  sequence: whole,
  kind: v.picklist(["activity", "step", "timer", "event", "child", "ask", "requests", "callback"]),
  name: text,
  /** The id of a child, or of the instance that is asked. */
  id: text,
  node: text,
  from: timestamp,
  to: v.exactOptional(timestamp),
  /** When a timer is due. */
  due: v.exactOptional(timestamp),
  outcome: v.picklist(SPAN_OUTCOMES),
  attempts: number,
  /** When the code of the last attempt began and ended. Before that the call waited in the queue, or earlier attempts ran. */
  began: v.exactOptional(timestamp),
  ended: v.exactOptional(timestamp),
  /** Set: it is a compensation, or cleanup after a cancel. Known once the execution has ended, or was cancelled. */
  compensation: v.exactOptional(v.literal(true)),
  /** Set: an operator gave this outcome. The repairs of the instance say who and why. */
  replaced: v.exactOptional(v.literal(true)),
  /** Failed attempts of a step that were retried. */
  retries: v.exactOptional(v.array(v.object({ at: timestamp, message: v.string() }))),
  message: text,
  endedBy: number,
});

/** An event at one point in time. */
export const mark = v.object({
  sequence: whole,
  kind: v.string(),
  at: timestamp,
  name: text,
});

export const timeline = v.object({
  execution: whole,
  /** How many events the timeline was computed from. */
  events: whole,
  spans: v.array(span),
  marks: v.array(mark),
  /** Pass it as `after` to get the rest. Absent: this is the last page for now. */
  next: number,
});

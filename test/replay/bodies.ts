// Builders for recorded events and inbox messages. The replay tests write histories and turns with them.

import { defaultCodec } from "../../src/core/values/codec.ts";
import { toFailure } from "../../src/core/errors/failure.ts";
import type {
  ActivityOptions,
  DeliveryBody,
  EventBody,
  OrchestrationStarted,
} from "../../src/core/history/events.ts";
import type { Message } from "../../src/core/provider/messages.ts";
import type { LocalOutcome } from "../../src/runtime/instances/held-instance.ts";

export const RUN_ID = "0123456789abcdef0123456789abcdef";
export const SEED = "fedcba9876543210fedcba9876543210";

export const encode = (value: unknown): string => defaultCodec.encode(value);

/** A message without the fields that the store assigns. The driver fills them in. */
export type Draft = Partial<Message> & Pick<Message, "kind" | "data">;
/** An input of a turn: a message of its inbox, or the outcome of work done in the same process. */
export type Given = Draft | LocalOutcome;

export const isLocal = (given: Given): given is LocalOutcome => "body" in given;

// --- Recorded events ---

export function started(
  input?: unknown,
  more: Partial<OrchestrationStarted> = {},
): OrchestrationStarted {
  return {
    kind: "OrchestrationStarted",
    name: "main",
    orchestrationVersion: "1.0.0",
    input: encode(input),
    runId: RUN_ID,
    seed: SEED,
    ...more,
  };
}

export const ran = (name: string, input?: unknown, more: ActivityOptions = {}): EventBody => ({
  kind: "ActivityScheduled",
  name,
  input: encode(input),
  ...more,
});
export const ranDone = (scheduled: number, value?: unknown): DeliveryBody => ({
  kind: "ActivityCompleted",
  scheduled,
  output: encode(value),
  attempts: 1,
});
export const ranFailed = (scheduled: number, error: unknown, attempts = 1): DeliveryBody => ({
  kind: "ActivityFailed",
  scheduled,
  failure: toFailure(error),
  attempts,
});
export const ranCancelled = (scheduled: number, reason = "cancelled"): EventBody => ({
  kind: "ActivityCancelRequested",
  scheduled,
  reason,
});

export const stepped = (name: string): EventBody => ({ kind: "StepScheduled", name });
export const steppedDone = (scheduled: number, value?: unknown, attempts = 1): DeliveryBody => ({
  kind: "StepCompleted",
  scheduled,
  output: encode(value),
  attempts,
});
export const steppedFailed = (scheduled: number, error: unknown, attempts = 1): DeliveryBody => ({
  kind: "StepFailed",
  scheduled,
  failure: toFailure(error),
  attempts,
});
export const stepAttemptFailed = (
  scheduled: number,
  attempt: number,
  due: number,
): DeliveryBody => ({
  kind: "StepAttemptFailed",
  scheduled,
  attempt,
  failure: toFailure(new Error(`attempt ${attempt}`)),
  due,
});

export const slept = (delayMs: number, due = 1_000_000 + delayMs): EventBody => ({
  kind: "TimerCreated",
  due,
  delayMs,
});
export const sleptDone = (scheduled: number): DeliveryBody => ({ kind: "TimerFired", scheduled });
export const sleptCancelled = (scheduled: number): EventBody => ({
  kind: "TimerCancelled",
  scheduled,
});

export const waited = (name: string, since?: "now"): EventBody => ({
  kind: "EventSubscribed",
  name,
  ...(since === undefined ? {} : { since }),
});
export const received = (name: string, data?: unknown): DeliveryBody => ({
  kind: "EventReceived",
  name,
  data: encode(data),
});
export const waitCancelled = (scheduled: number): EventBody => ({
  kind: "EventSubscriptionCancelled",
  scheduled,
});

export const called = (name: string, id: string, input?: unknown): EventBody => ({
  kind: "ChildScheduled",
  name,
  id,
  input: encode(input),
});
export const calledDone = (scheduled: number, value?: unknown): DeliveryBody => ({
  kind: "ChildCompleted",
  scheduled,
  output: encode(value),
});
export const calledFailed = (
  scheduled: number,
  error: unknown,
  outcome: "failed" | "cancelled" | "terminated" = "failed",
): DeliveryBody => ({ kind: "ChildFailed", scheduled, outcome, failure: toFailure(error) });
export const callCancelled = (scheduled: number, reason = "cancelled"): EventBody => ({
  kind: "ChildCancelRequested",
  scheduled,
  reason,
});
export const detached = (name: string, id: string, input?: unknown): EventBody => ({
  kind: "DetachedStarted",
  name,
  id,
  input: encode(input),
});

export const cancelRequested = (reason: string): DeliveryBody => ({
  kind: "OrchestrationCancelRequested",
  reason,
});
export const returned = (value?: unknown): EventBody => ({
  kind: "OrchestrationCompleted",
  output: encode(value),
});
export const threw = (error: unknown): EventBody => ({
  kind: "OrchestrationFailed",
  outcome: "failed",
  failure: toFailure(error),
});
export const continued = (input?: unknown): EventBody => ({
  kind: "OrchestrationContinuedAsNew",
  input: encode(input),
});

// --- Messages of the inbox ---

type OutcomeBody = Extract<DeliveryBody, { readonly scheduled: number }>;

const outcomeMessage = (kind: "activity" | "child", body: DeliveryBody): Draft => ({
  kind,
  sequence: (body as OutcomeBody).scheduled,
  data: JSON.stringify(body),
});

export const completed = (scheduled: number, value?: unknown): Draft =>
  outcomeMessage("activity", ranDone(scheduled, value));
export const failed = (scheduled: number, error: unknown, attempts = 1): Draft =>
  outcomeMessage("activity", ranFailed(scheduled, error, attempts));
export const childCompleted = (scheduled: number, value?: unknown): Draft =>
  outcomeMessage("child", calledDone(scheduled, value));
export const childFailed = (
  scheduled: number,
  error: unknown,
  outcome?: "failed" | "cancelled" | "terminated",
): Draft => outcomeMessage("child", calledFailed(scheduled, error, outcome));
export const fired = (sequence: number): Draft => ({ kind: "timer", sequence, data: "" });
export const deadline = (sequence: number): Draft => ({ kind: "deadline", sequence, data: "" });
export const stepRetryDue = (sequence: number): Draft => ({
  kind: "stepRetry",
  sequence,
  data: "",
});
export const cancelTimedOut = (sequence: number): Draft => ({
  kind: "cancelTimeout",
  sequence,
  data: "",
});
export const raised = (name: string, data?: unknown, key: string | null = null): Draft => ({
  kind: "event",
  execution: null,
  name,
  data: encode(data),
  key,
});
export const cancel = (reason: string): Draft => ({
  kind: "cancel",
  execution: null,
  data: JSON.stringify(cancelRequested(reason)),
  key: "cancel",
});
export const wake: Draft = { kind: "wake", execution: null, data: "" };

// --- Outcomes of work done in the process that holds the instance ---

export const here = (body: DeliveryBody): LocalOutcome => ({ task: null, body });
export const stepDone = (scheduled: number, value?: unknown): LocalOutcome =>
  here(steppedDone(scheduled, value));
export const stepFailed = (scheduled: number, error: unknown, attempts = 1): LocalOutcome =>
  here(steppedFailed(scheduled, error, attempts));

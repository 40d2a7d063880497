// The timeline: what took time in an execution, from its request to its outcome, and what happened in between.
//   TL1. A span has the sequence of the event that asked for it. A wait for an event ends with the message that it
//        receives, by the rules of the mailbox (semantics 18).
//   TL2. What is open when its execution ends was cancelled with it.

import type * as v from "valibot";
import { defaultCodec, type Codec } from "../core/codec.ts";
import type { Failure } from "../core/failure.ts";
import { readableFailure } from "../core/failure-seal.ts";
import type { HistoryEvent } from "../core/history-events.ts";
import { isTerminal } from "../core/history-events.ts";
import { Mailbox } from "../core/mailbox.ts";
import type { mark, span, SPAN_OUTCOMES } from "./schemas/history.ts";
import { timeText } from "./wire/history.ts";

type Span = v.InferInput<typeof span>;
type Mark = v.InferInput<typeof mark>;
type SpanOutcome = (typeof SPAN_OUTCOMES)[number];

export interface Timeline {
  readonly spans: readonly Span[];
  readonly marks: readonly Mark[];
}

export function timelineOf(events: readonly HistoryEvent[], codec: Codec = defaultCodec): Timeline {
  const builder = new Builder(codec);
  for (const event of events) builder.take(event);
  return { spans: [...builder.spans.values()], marks: builder.marks };
}

class Builder {
  readonly spans = new Map<number, Span>();
  readonly marks: Mark[] = [];
  readonly #mailbox = new Mailbox<number>();
  readonly #codec: Codec;

  constructor(codec: Codec) {
    this.#codec = codec;
  }

  take(event: HistoryEvent): void {
    if (this.#opens(event) || this.#closes(event)) return;
    if (event.kind === "StepAttemptFailed") return this.#retried(event);
    this.marks.push({
      sequence: event.sequence,
      kind: event.kind,
      at: timeText(event.at),
      ...("name" in event ? { name: event.name } : {}),
      ...("key" in event && event.kind !== "EventReceived" ? { name: event.key } : {}),
      ...("change" in event ? { name: event.change } : {}),
    });
    if (event.kind === "EventReceived") this.#received(event);
    if (isTerminal(event)) {
      for (const open of this.spans.values()) {
        if (open.outcome === "open") this.#close(open.sequence, event, "cancelled");
      }
    }
  }

  /** Whether the event asks for something that takes time. */
  #opens(event: HistoryEvent): boolean {
    switch (event.kind) {
      case "ActivityScheduled":
        this.#open(event, { kind: "activity", name: event.name });
        return true;
      case "StepScheduled":
        this.#open(event, { kind: "step", name: event.name });
        return true;
      case "TimerCreated":
        this.#open(event, { kind: "timer", due: timeText(event.due) });
        return true;
      case "ChildScheduled":
        this.#open(event, { kind: "child", name: event.name, id: event.id });
        return true;
      case "EventSubscribed":
        this.#open(event, { kind: "event", name: event.name });
        this.#waits(event.sequence, event);
        return true;
      default:
        return false;
    }
  }

  #open(event: HistoryEvent, what: Pick<Span, "kind"> & Partial<Span>): void {
    const { sequence, at } = event;
    const node = "node" in event ? { node: event.node } : {};
    this.spans.set(sequence, { sequence, from: timeText(at), outcome: "open", ...what, ...node });
  }

  #waits(sequence: number, event: HistoryEvent & { kind: "EventSubscribed" }): void {
    const unread = event.since === "now" ? null : this.#mailbox.take(event.name);
    if (unread === null) this.#mailbox.wait(event.name, sequence);
    else this.#close(sequence, event, "completed");
  }

  #received(event: HistoryEvent & { kind: "EventReceived" }): void {
    const { name, data } = event;
    const wait = this.#mailbox.offer({ name, data, key: null });
    if (wait !== null) this.#close(wait, event, "completed");
  }

  /** Whether the event is an outcome of something asked for earlier. */
  #closes(event: HistoryEvent): boolean {
    switch (event.kind) {
      case "ActivityCompleted":
      case "StepCompleted":
      case "TimerFired":
      case "ChildCompleted":
        this.#close(event.scheduled, event, "completed");
        return true;
      case "ActivityFailed":
      case "StepFailed":
      case "ChildFailed":
        this.#close(event.scheduled, event, "failed");
        return true;
      case "EventSubscriptionCancelled":
        this.#mailbox.forget(this.spans.get(event.scheduled)?.name ?? "", event.scheduled);
        this.#close(event.scheduled, event, "cancelled");
        return true;
      case "ActivityCancelRequested":
      case "StepCancelRequested":
      case "TimerCancelled":
      case "ChildCancelRequested":
        this.#close(event.scheduled, event, "cancelled");
        return true;
      default:
        return false;
    }
  }

  #close(scheduled: number, event: HistoryEvent, outcome: SpanOutcome): void {
    const open = this.spans.get(scheduled);
    if (open === undefined || open.outcome !== "open") return;
    this.spans.set(scheduled, {
      ...open,
      to: timeText(event.at),
      outcome,
      endedBy: event.sequence,
      ...("attempts" in event ? { attempts: event.attempts } : {}),
      ...("failure" in event && outcome === "failed" ? { message: this.#said(event.failure) } : {}),
    });
  }

  #retried(event: HistoryEvent & { kind: "StepAttemptFailed" }): void {
    const open = this.spans.get(event.scheduled);
    if (open === undefined) return;
    const retry = { at: timeText(event.at), message: this.#said(event.failure) };
    this.spans.set(event.scheduled, { ...open, retries: [...(open.retries ?? []), retry] });
  }

  #said(failure: Failure): string {
    return readableFailure(failure, this.#codec).message;
  }
}

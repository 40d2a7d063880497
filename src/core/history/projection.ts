// Projection: folds the history of an execution into its calls, its unread events and its state.
//   - projection.1: The fold runs no orchestration code and needs no definition. The same events give the
//        same result. Clients use it to show an execution; replay does not use it.
//   - projection.2: A call has one outcome, the first one in the history. A wait for an event ends with the
//        message that it receives, by the rules of the mailbox (semantics 18).

import type { Checkpoint } from "./checkpoint.ts";
import type { Failure } from "../errors/failure.ts";
import { callbackMessageName } from "../ids/callback-messages.ts";
import { Mailbox } from "../replay/mailbox.ts";
import { RunState } from "../replay/run-state.ts";
import type { HistoryEvent } from "./events.ts";

type EventOf<Kind extends HistoryEvent["kind"]> = HistoryEvent & { readonly kind: Kind };

/** An event that schedules a call: something that takes time and has an outcome. */
export type ScheduleEvent = EventOf<keyof typeof CALL_KINDS>;

/** A call of the orchestration, with its outcome. */
export interface Call {
  readonly kind: (typeof CALL_KINDS)[keyof typeof CALL_KINDS];
  /** The event that scheduled the call. Its sequence number identifies the call. */
  readonly scheduled: ScheduleEvent;
  /** Absent: the call is open. */
  readonly outcome?: CallOutcome;
  /** The failed attempts of a step, oldest first. Attempts of activities are not in the history. */
  readonly failedAttempts: readonly EventOf<"StepAttemptFailed">[];
}

export interface CallOutcome {
  readonly status: "completed" | "failed" | "cancelled";
  /**
   * The event that ended the call. For a wait that found its message unread: the event that scheduled the
   * wait.
   */
  readonly event: HistoryEvent;
  /** The value of a completed activity, step, child or wait, as payload text. */
  readonly output?: string;
}

export interface Projection {
  /** By the sequence number of the event that scheduled the call, in that order. */
  readonly calls: ReadonlyMap<number, Call>;
  /** The events that the execution has received and that no wait has read, oldest first. */
  readonly unread: readonly EventOf<"EventReceived">[];
  /** The requests that the execution has received and not answered, oldest first. */
  readonly requests: readonly EventOf<"RequestReceived">[];
  /** Status, key-values and attributes after the last event. */
  readonly state: RunState;
}

const CALL_KINDS = {
  ActivityScheduled: "activity",
  StepScheduled: "step",
  TimerCreated: "timer",
  ChildScheduled: "child",
  EventSubscribed: "event",
  CallbackCreated: "callback",
  AskSent: "ask",
  RequestsServed: "requests",
} as const;

export function projectHistory(events: Iterable<HistoryEvent>): Projection {
  const fold = new Fold();
  for (const event of events) fold.add(event);
  const requests = [...fold.requests.values()];
  return { calls: fold.calls, unread: fold.unread, requests, state: fold.state };
}

/**
 * The calls that were open at a checkpoint or scheduled after it. `kept`: the events that the checkpoint
 * lists. `later`: the events after the row of the checkpoint.
 */
export function projectFrom(
  { unread }: Checkpoint,
  kept: Iterable<HistoryEvent>,
  later: Iterable<HistoryEvent>,
): Pick<Projection, "calls"> {
  const fold = new Fold();
  fold.resume(unread, kept);
  for (const event of later) fold.add(event);
  return { calls: fold.calls };
}

/** The calls without an outcome, in the order in which they were scheduled. */
export function openCalls({ calls }: Pick<Projection, "calls">): readonly Call[] {
  return [...calls.values()].filter(({ outcome }) => outcome === undefined);
}

interface MutableCall extends Call {
  scheduled: ScheduleEvent;
  outcome?: CallOutcome;
  readonly failedAttempts: EventOf<"StepAttemptFailed">[];
}

class Fold {
  readonly calls = new Map<number, MutableCall>();
  readonly state = new RunState();
  /** By the sequence number of the receipt. */
  readonly requests = new Map<number, EventOf<"RequestReceived">>();
  /** Waits are sequence numbers of calls. */
  readonly #mailbox = new Mailbox<number>();
  readonly #received = new Map<number, EventOf<"EventReceived">>();
  /** Why the schema of a wait refused an event that was unread when the wait began, by event. */
  readonly #refused = new Map<number, Failure>();

  get unread(): readonly EventOf<"EventReceived">[] {
    return this.#mailbox.unread().flatMap(({ sequence }) => {
      const event = this.#received.get(sequence);
      if (event === undefined) return [];
      const refused = event.refused ?? this.#refused.get(sequence);
      return refused === undefined ? [event] : [{ ...event, refused }];
    });
  }

  add(event: HistoryEvent): void {
    switch (event.kind) {
      case "ActivityScheduled":
      case "StepScheduled":
      case "TimerCreated":
      case "ChildScheduled":
      case "AskSent":
      case "RequestsServed":
        this.#open(event);
        break;
      case "EventSubscribed":
        this.#open(event);
        this.#wait(event);
        break;
      case "CallbackCreated":
        this.#open(event);
        this.#mailbox.wait(callbackMessageName(event.sequence), event.sequence);
        break;
      case "EventReceived":
        this.#receive(event);
        break;
      case "RequestReceived":
        this.requests.set(event.sequence, event);
        break;
      case "RequestsChanged":
        this.#rename(event);
        break;
      case "RequestAnswered":
      case "RequestRefused":
        this.requests.delete(event.received);
        break;
      case "StepAttemptFailed":
        this.calls.get(event.scheduled)?.failedAttempts.push(event);
        break;
      case "ActivityCompleted":
      case "StepCompleted":
      case "ChildCompleted":
      case "AskCompleted":
        this.#end(event.scheduled, { status: "completed", event, output: event.output });
        break;
      case "TimerFired":
        this.#end(event.scheduled, { status: "completed", event });
        break;
      case "ActivityFailed":
      case "StepFailed":
      case "ChildFailed":
      case "AskFailed":
        this.#end(event.scheduled, { status: "failed", event });
        break;
      case "EventSubscriptionCancelled":
        this.#forget(event.scheduled);
        this.#end(event.scheduled, { status: "cancelled", event });
        break;
      case "ActivityCancelRequested":
      case "StepCancelRequested":
      case "TimerCancelled":
      case "ChildCancelRequested":
      case "AskCancelled":
      case "RequestsClosed":
        this.#end(event.scheduled, { status: "cancelled", event });
        break;
      default:
        this.#applyState(event);
    }
  }

  /** The contents of messages that were unread at a checkpoint are not known. */
  resume(unread: Checkpoint["unread"], kept: Iterable<HistoryEvent>): void {
    for (const [name, count] of unread) {
      for (let i = 0; i < count; i++) {
        this.#mailbox.keep({ name, data: "", key: null, sequence: 0 });
      }
    }
    for (const event of kept) {
      if (event.kind !== "EventSubscribed") {
        this.add(event);
        continue;
      }
      this.#open(event);
      this.#mailbox.wait(event.name, event.sequence); // it is open, so no unread message is for it
    }
  }

  #open(scheduled: ScheduleEvent): void {
    const kind = CALL_KINDS[scheduled.kind];
    this.calls.set(scheduled.sequence, { kind, scheduled, failedAttempts: [] });
  }

  /** A deploy changed the names of requests that the code receives. */
  #rename({ served, names }: EventOf<"RequestsChanged">): void {
    const call = this.calls.get(served);
    if (call?.scheduled.kind === "RequestsServed") call.scheduled = { ...call.scheduled, names };
  }

  #end(sequence: number, outcome: CallOutcome): void {
    const call = this.calls.get(sequence);
    if (call !== undefined) call.outcome ??= outcome; // projection.2
  }

  #wait(event: EventOf<"EventSubscribed">): void {
    const { name, sequence, since, taken, output, refused = [] } = event;
    for (const one of refused) this.#refused.set(one.event, one.failure);
    const message = since === "now" ? null : this.#mailbox.take(name, taken);
    if (message === null) this.#mailbox.wait(name, sequence);
    else this.#end(sequence, { status: "completed", event, output: output ?? message.data });
  }

  #receive(event: EventOf<"EventReceived">): void {
    const { data, output = data } = event;
    const wait = this.#receiverOf(event);
    if (wait === null) this.#received.set(event.sequence, event);
    else this.#end(wait, { status: "completed", event, output });
  }

  /** The wait that receives the event; null: it stays unread. */
  #receiverOf(event: EventOf<"EventReceived">): number | null {
    const { name, data, key = null, sequence, wait, refused } = event;
    const message = { name, data, key, sequence };
    if (refused !== undefined) this.#mailbox.keep(message);
    else if (wait === undefined) return this.#mailbox.offer(message);
    else this.#mailbox.forget(name, wait);
    return wait ?? null;
  }

  #forget(sequence: number): void {
    const scheduled = this.calls.get(sequence)?.scheduled;
    if (scheduled?.kind === "EventSubscribed") this.#mailbox.forget(scheduled.name, sequence);
    if (scheduled?.kind === "CallbackCreated") {
      this.#mailbox.forget(callbackMessageName(sequence), sequence);
    }
  }

  #applyState(event: HistoryEvent): void {
    if (event.kind === "OrchestrationStarted") this.state.begin(event);
    else if (event.kind === "StatusSet") this.state.status = event.status;
    else if (event.kind === "KeyValueSet") this.state.set(event.key, event.value, event.at);
    else if (event.kind === "AttributesSet") this.state.merge(event.attributes);
    else if (event.kind === "KeyValueCleared") {
      if (event.key === undefined) this.state.clear();
      else this.state.delete(event.key);
    }
  }
}

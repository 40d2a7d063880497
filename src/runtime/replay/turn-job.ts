// A turn: replays the history, then delivers new messages and outcomes, one drain each, and passes the
// result on.
//   - Due messages come first, then outcomes of local activities and steps.
//   - Messages and outcomes that are left when the code ends or is blocked are not consumed.
//   - All events of a turn carry one time, which never goes back within an execution (I3).

import { SHORT_BYTES } from "../../core/commit/queue.ts";
import type { DeliveryBody } from "../../core/history/events.ts";
import { deliveryOf, leavesEventsInInbox } from "../../core/replay/inbox-delivery.ts";
import type { Message } from "../../core/provider/messages.ts";
import type { PendingCancel } from "../../core/replay/delivery.ts";
import { deliverReceived } from "../../core/replay/received.ts";
import type { Run } from "../../core/replay/run.ts";
import type { HeldInstance, LocalOutcome } from "../instances/held-instance.ts";
import type { DrainJob } from "./pump.ts";

export interface FinishedTurn {
  readonly held: HeldInstance;
  readonly run: Run;
  readonly at: number;
  /** How many recorded events were replayed first. */
  readonly replayed: number;
  readonly consumed: readonly number[];
  /** Whether the turn left offered events in the inbox. */
  readonly leftEvents: boolean;
  /** Whether the events in the inbox were parked when the turn began. */
  readonly parkedEvents: boolean;
  /** Outcomes that became events. The commit deletes the rows of their tasks. */
  readonly delivered: readonly LocalOutcome[];
  /** Every outcome the turn took, delivered or not. */
  readonly outcomes: readonly LocalOutcome[];
  /** An internal error of the engine: nothing of the turn may be written. */
  readonly bug: unknown;
}

export class TurnJob implements DrainJob {
  readonly run: Run;
  readonly held: HeldInstance;
  readonly #messages: readonly Message[];
  readonly #outcomes: readonly LocalOutcome[];
  readonly #now: () => number;
  readonly #finish: (turn: FinishedTurn) => void;
  readonly #poison: "throw" | "fail";
  readonly #consumed: number[] = [];
  readonly #delivered: LocalOutcome[] = [];
  readonly #replayed: number;
  #messageIndex = 0;
  #outcomeIndex = 0;
  #at: number | null = null;
  #again = false;
  #leftEvents = false;
  #parkedEvents = false;
  #bug: unknown = undefined;

  constructor(options: {
    held: HeldInstance;
    run: Run;
    now: () => number;
    finish: (turn: FinishedTurn) => void;
    poison: "throw" | "fail";
  }) {
    this.held = options.held;
    this.run = options.run;
    this.#now = options.now;
    this.#finish = options.finish;
    this.#poison = options.poison;
    this.#replayed = options.run.historyLeft;
    this.#messages = options.held.messages;
    this.#outcomes = options.held.outcomes;
    options.held.messages = [];
    options.held.outcomes = [];
  }

  get label(): string {
    return this.held.id;
  }
  get name(): string {
    return this.held.name;
  }
  /** Only outcomes count: the messages of an instance rarely carry large values, and a begun turn continues. */
  get isLarge(): boolean {
    if (this.#at !== null) return false;
    return this.#outcomes.some(({ body }) => "output" in body && body.output.length > SHORT_BYTES);
  }
  get certain(): number {
    return this.run.historyLeft;
  }

  step(): void {
    try {
      if (this.#again) this.run.lateRejection();
      else if (this.run.hasMoreHistory) this.run.replayNext();
      else this.#deliver();
    } catch (error) {
      this.#bug = error;
    }
  }

  after(): boolean {
    if (this.#bug === undefined) {
      this.#again = this.#endDrain() === "again";
      if (this.#again) return true;
      if (!this.run.isOver && (this.run.hasMoreHistory || this.#hasMore)) return true;
    }
    this.#finish({
      held: this.held,
      run: this.run,
      at: this.#at ?? this.run.eventTime,
      replayed: this.#replayed,
      consumed: this.#consumed,
      leftEvents: this.#leftEvents,
      parkedEvents: this.#parkedEvents,
      delivered: this.#delivered,
      outcomes: this.#outcomes,
      bug: this.#bug,
    });
    return false;
  }

  get #hasMore(): boolean {
    return this.#messageIndex < this.#messages.length || this.#outcomeIndex < this.#outcomes.length;
  }

  /** Before the first delivery no code has run, so there is nothing to check. */
  #endDrain(): "again" | "settled" {
    return this.run.deliveredSequence === 0 ? "settled" : this.run.endDrain();
  }

  #deliver(): void {
    const { run } = this;
    if (this.#at === null) {
      run.goLive();
      this.#parkedEvents = leavesEventsInInbox(run);
      this.#at = Math.max(this.#now(), run.eventTime);
      run.historyBytes = this.held.bytes;
    }
    while (this.#hasMore && !run.isOver) {
      const message = this.#messages[this.#messageIndex];
      if (message !== undefined) {
        if (message.kind === "event" && (this.#leftEvents || leavesEventsInInbox(run))) {
          this.#messageIndex++;
          this.#leftEvents = true; // the events behind it stay too, to keep their order
          continue;
        }
        const body = deliveryOf(run, message);
        if (run.blocked !== null) return;
        this.#messageIndex++;
        this.#consumed.push(message.id);
        if (body === null) continue;
        const cancel = body.kind === "OrchestrationStarted" ? this.#pendingCancel() : null;
        if (run.blocked === null) this.#deliverBody(body, this.#at, cancel);
        return;
      }
      const outcome = this.#outcomes[this.#outcomeIndex++];
      if (outcome === undefined) return;
      if (!isOpen(run, outcome)) continue;
      this.#delivered.push(outcome);
      this.#deliverBody(outcome.body, this.#at);
      return;
    }
  }

  /**
   * The cancel that was pending when the execution began. In the inbox it follows the start directly
   * (messages.2).
   */
  #pendingCancel(): PendingCancel {
    const message = this.#messages[this.#messageIndex];
    if (message?.kind !== "cancel") return null;
    const body = deliveryOf(this.run, message);
    if (this.run.blocked !== null) return null;
    this.#messageIndex++;
    this.#consumed.push(message.id);
    return body?.kind === "OrchestrationCancelRequested" ? body : null;
  }

  #deliverBody(body: DeliveryBody, at: number, cancel: PendingCancel = null): void {
    const isPoison = body.kind === "ActivityFailed" && body.failure.category === "poison";
    if (isPoison && this.#poison === "fail") this.run.endWithFailure(body, at);
    else deliverReceived(this.run, body, at, cancel);
  }
}

/**
 * The outcome of a call that was cancelled in the meantime is dropped without an event (semantics 12).
 */
function isOpen(run: Run, outcome: LocalOutcome): boolean {
  return "scheduled" in outcome.body && run.openTasks.has(outcome.body.scheduled);
}

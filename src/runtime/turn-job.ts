// A turn: replays what history holds, delivers what is new, one drain each, and hands the result on.
//   TJ1. Due messages come first, then outcomes of our own work (architecture §4.5).
//   TJ2. What is left when the code ends or is blocked is not consumed.
//   TJ3. All events of a turn carry one time, which never goes back within an execution (I3).

import type { DeliveryBody } from "../core/history-events.ts";
import { deliveryOf, leavesEvents } from "../core/inbox-delivery.ts";
import type { Message } from "../core/provider/messages.ts";
import type { PendingCancel } from "../core/run-delivery.ts";
import type { Run } from "../core/run.ts";
import type { HeldInstance, LocalOutcome } from "./held-instance.ts";
import type { DrainJob } from "./pump.ts";

export interface FinishedTurn {
  readonly held: HeldInstance;
  readonly run: Run;
  readonly at: number;
  /** Recorded events that were replayed first. */
  readonly replayed: number;
  readonly consumed: readonly number[];
  /** Whether it left events in the inbox that it was offered. */
  readonly leftEvents: boolean;
  /** Whether the events in the inbox were parked when it began. */
  readonly parkedEvents: boolean;
  /** Outcomes that became events; their tasks' rows go with the turn. */
  readonly delivered: readonly LocalOutcome[];
  /** Every outcome the turn took, delivered or not. */
  readonly outcomes: readonly LocalOutcome[];
  /** An error of the engine's own: nothing of the turn may be written. */
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
      at: this.#at ?? this.run.at,
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

  /** A turn in which nothing was delivered yet has no code that could wait for something foreign. */
  #endDrain(): "again" | "settled" {
    return this.run.delivered === 0 ? "settled" : this.run.endDrain();
  }

  #deliver(): void {
    const { run } = this;
    if (this.#at === null) {
      run.goLive();
      this.#parkedEvents = leavesEvents(run);
      this.#at = Math.max(this.#now(), run.at);
      run.bytes = this.held.bytes;
    }
    while (this.#hasMore && !run.isOver) {
      const message = this.#messages[this.#messageIndex];
      if (message !== undefined) {
        if (message.kind === "event" && (this.#leftEvents || leavesEvents(run))) {
          this.#messageIndex++;
          this.#leftEvents = true; // those behind it stay too, in their order
          continue;
        }
        const body = deliveryOf(run, message);
        if (run.blocked !== null) return;
        this.#messageIndex++;
        this.#consumed.push(message.id);
        if (body === null) continue;
        const cancel = body.kind === "OrchestrationStarted" ? this.#pendingCancel() : null;
        if (run.blocked === null) this.#give(body, this.#at, cancel);
        return;
      }
      const outcome = this.#outcomes[this.#outcomeIndex++];
      if (outcome === undefined) return;
      if (!isOpen(run, outcome)) continue;
      this.#delivered.push(outcome);
      this.#give(outcome.body, this.#at);
      return;
    }
  }

  /** The cancel that was pending when the execution began: inbox order puts it right behind the start (B2). */
  #pendingCancel(): PendingCancel {
    const message = this.#messages[this.#messageIndex];
    if (message?.kind !== "cancel") return null;
    const body = deliveryOf(this.run, message);
    if (this.run.blocked !== null) return null;
    this.#messageIndex++;
    this.#consumed.push(message.id);
    return body?.kind === "OrchestrationCancelRequested" ? body : null;
  }

  #give(body: DeliveryBody, at: number, cancel: PendingCancel = null): void {
    const isPoison = body.kind === "ActivityFailed" && body.failure.category === "poison";
    if (isPoison && this.#poison === "fail") this.run.failBy(body, at);
    else this.run.deliver(body, at, cancel);
  }
}

/** An outcome of work that was cancelled meanwhile is dropped without an event (semantics 12). */
function isOpen(run: Run, outcome: LocalOutcome): boolean {
  return "scheduled" in outcome.body && run.open.has(outcome.body.scheduled);
}

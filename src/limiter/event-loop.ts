// The event loop: what executions of a limiter do that began before callers sent requests (loop.ts). Callers asked with
// events, and the limiter answered with activities.
//   - Stores hold such executions, so this loop must stay as it is. It does not serve requests: they move along to the
//        next execution, which serves them. A MOVE message makes this loop continue as new (limiter.calls.4).
//   - limiter.events.1: Waiting callers are in the mailbox. The loop reads one message ahead, so callers are admitted in the
//        order in which they asked. continueAsNew hands the unread mailbox on, so an execution must handle its share
//        of messages before it ends; otherwise a long queue is only copied from execution to execution.
//   - limiter.events.2: The loop reads "leave" messages at once, however many callers wait.
//   - limiter.events.3: Every LOOK_MS the loop checks the callers that hold a slot, and releases the slots of those that
//        ended without a "leave" message.
//   - An idle limiter ends as soon as its rate no longer depends on past admissions. A caller that asks at that moment
//        asks again (limiter.calls.1).
//   - Histories in stores hold what this loop does, so a change of its calls on `ctx` goes behind `ctx.patched`.

import type { OrchestrationContext } from "../core/context/types.ts";
import { RETRY, type LimiterCalls } from "./calls.ts";
import {
  ASK,
  LEAVE,
  LENIENT,
  MOVE,
  STRICT,
  isRequester,
  type Ask,
  type Departure,
  type Leave,
  type MessageChecks,
  type Ticket,
} from "./messages.ts";
import { Pending } from "./pending.ts";
import { Slots, type LimiterState } from "./state.ts";

type Context = OrchestrationContext<LimiterState>;

const LOOK_MS = 30_000;
const IDLE_MS = 60_000;
/**
 * An execution continues as new once it has no call in flight, has caused at least OWN_MIN events itself, and either
 * those are half of its history (limiter.events.1) or its history is longer than EVENTS_MAX.
 */
const OWN_MIN = 1_000;
const EVENTS_MAX = 30_000;
/** How many callers one `admit` activity notifies at most. */
const BATCH_MAX = 100;

export async function eventLoop(
  ctx: Context,
  calls: LimiterCalls,
  state: LimiterState,
): Promise<void> {
  const checks = ctx.patched("strict messages") ? STRICT : LENIENT;
  const run = await ctx.run(calls.awake, undefined, { retry: RETRY });
  return new EventLoop(ctx, calls, { state, run, checks }).work();
}

class EventLoop {
  readonly #ctx: Context;
  readonly #calls: LimiterCalls;
  readonly #run: string;
  readonly #checks: MessageChecks;
  readonly #slots: Slots;
  readonly #ask = new Pending<Ask>();
  readonly #leave = new Pending<Departure | Leave>();
  readonly #alarm = new Pending<void>();
  readonly #notified = new Pending<readonly string[]>();
  readonly #looked = new Pending<readonly string[]>();
  readonly #pending = [this.#leave, this.#ask, this.#notified, this.#looked, this.#alarm];
  /** Admitted callers that no `admit` activity has notified yet. */
  #admitted: Ticket[] = [];
  #alarmAt = Infinity;
  #lookAt: number;
  #usedAt: number;
  /** How many events of the history this loop caused: its calls and their outcomes, without unread messages. */
  #own = 0;
  #shown = "";
  #mustMove = false;

  constructor(
    ctx: Context,
    calls: LimiterCalls,
    from: { readonly state: LimiterState; readonly run: string; readonly checks: MessageChecks },
  ) {
    this.#ctx = ctx;
    this.#calls = calls;
    this.#run = from.run;
    this.#checks = from.checks;
    this.#slots = new Slots(from.state);
    this.#usedAt = ctx.now().getTime();
    this.#lookAt = this.#usedAt + LOOK_MS;
  }

  async work(): Promise<void> {
    for (;;) {
      this.#readOutcomes();
      const isLong = this.#isLong;
      // A long execution admits no more callers: new admissions would keep it busy, and it could never end.
      if (!isLong) this.#admit();
      else if (!this.#isBusy) return this.#ctx.continueAsNew(this.#slots.toState());
      if (!this.#isBusy && this.#slots.isEmpty && this.#now >= this.#idleUntil) return;
      this.#notify();
      if (!isLong) this.#look();
      this.#listen();
      this.#show();
      await Promise.race(this.#pending.flatMap((pending) => pending.settled ?? []));
    }
  }

  get #now(): number {
    return this.#ctx.now().getTime();
  }

  get #isBusy(): boolean {
    return this.#notified.isOpen || this.#looked.isOpen || this.#admitted.length > 0;
  }

  get #isLong(): boolean {
    const { historyLength } = this.#ctx.info;
    if (this.#mustMove) return true;
    if (this.#own < OWN_MIN) return false; // however long the queue is
    return this.#own >= historyLength - this.#own || historyLength > EVENTS_MAX;
  }

  get #idleUntil(): number {
    return Math.max(this.#usedAt + IDLE_MS, this.#slots.rememberedUntil);
  }

  #readOutcomes(): void {
    // Each outcome stands for two events: the call and its result.
    this.#own += 2 * this.#pending.filter((pending) => pending.hasOutcome).length;
    const leave = this.#leave.take();
    const left: unknown = leave?.value;
    // The request of such a caller moves along to the next execution, which must skip it.
    if (isRequester(left)) this.#slots.remember(left);
    else if (this.#isValid(leave, LEAVE.name, this.#checks.isLeave)) {
      if (leave.value.token === MOVE) this.#mustMove = true;
      else this.#slots.leave(leave.value);
    }
    const ask = this.#ask.take();
    if (this.#isValid(ask, ASK.name, this.#checks.isAsk) && ask.value.run === this.#run) {
      this.#slots.ask(ask.value);
    }
    if (leave !== undefined || ask !== undefined) this.#usedAt = this.#now;
    this.#slots.release(this.#notified.take()?.value ?? []);
    this.#slots.release(this.#looked.take()?.value ?? []);
    if (this.#alarm.take() !== undefined) this.#alarmAt = Infinity;
  }

  /** Whether there is a valid message. An invalid message is logged and ignored. */
  #isValid<T>(
    taken: { readonly value: unknown } | undefined,
    event: string,
    check: (value: unknown) => value is T,
  ): taken is { readonly value: T } {
    if (taken === undefined) return false;
    if (check(taken.value)) return true;
    this.#ctx.log.warn(`limiter ignored an invalid "${event}" event`);
    return false;
  }

  #admit(): void {
    const ticket = this.#slots.admit(this.#now);
    if (ticket !== null) this.#admitted.push(ticket);
  }

  #notify(): void {
    if (this.#notified.isOpen || this.#admitted.length === 0) return;
    const tickets = this.#admitted.slice(0, BATCH_MAX);
    this.#admitted = this.#admitted.slice(BATCH_MAX);
    const request = { tickets, holds: this.#slots.holds };
    this.#notified.open(this.#ctx.run(this.#calls.admit, request, { retry: RETRY }));
  }

  /** limiter.events.3 */
  #look(): void {
    if (this.#looked.isOpen || this.#now < this.#lookAt) return;
    this.#lookAt = this.#now + LOOK_MS;
    const { holders } = this.#slots;
    if (holders.length === 0) return;
    this.#looked.open(this.#ctx.run(this.#calls.look, holders, { retry: RETRY }));
  }

  /** limiter.events.1, limiter.events.2. Sets one timer, for whatever is due first. */
  #listen(): void {
    if (!this.#leave.isOpen) this.#leave.open(this.#ctx.waitFor(LEAVE, { internal: true }));
    if (!this.#slots.hasNext && !this.#ask.isOpen)
      this.#ask.open(this.#ctx.waitFor(ASK, { internal: true }));
    // Calls in flight wake the loop when they end, so they need no timer.
    const at = Math.min(
      this.#slots.nextAt(this.#now) ?? Infinity,
      this.#slots.isEmpty && !this.#isBusy ? this.#idleUntil : Infinity,
      this.#slots.isEmpty || this.#looked.isOpen ? Infinity : this.#lookAt,
    );
    if (at >= this.#alarmAt) return;
    this.#alarm.cancel();
    this.#alarmAt = at;
    this.#alarm.open(this.#ctx.sleep(new Date(at)));
  }

  #show(): void {
    const status = this.#slots.toStatus(this.#now);
    const text = JSON.stringify(status);
    if (text === this.#shown) return;
    this.#shown = text;
    this.#own++;
    this.#ctx.setStatus(status);
  }
}

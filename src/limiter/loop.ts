// The loop: the orchestration of a limiter. It receives requests, answers each when it admits the caller, and continues
// as new.
//   - limiter.loop.1: The queue holds the requests that were received and not answered, in order of arrival. It is not
//        part of the state: continueAsNew moves unanswered requests along, in front of those that arrive later. So an
//        execution must handle its share of messages before it ends; otherwise a long queue is only copied from
//        execution to execution.
//   - limiter.loop.2: The loop reads requests and "leave" messages at once, however many callers wait. So a caller that
//        leaves the queue is skipped, and a slot that it releases is free at once.
//   - limiter.loop.3: Every LOOK_MS the loop checks the callers that hold a slot, and releases the slots of those that
//        ended without a "leave" message. If it finds one, it checks again at once, with the queue: otherwise each
//        ended caller of the queue would hold a slot for LOOK_MS.
//   - limiter.loop.4: The limits are those of the code that runs the loop. The loop reads them in a step, so the history
//        has them, and reads them again with a message that arrives RULE_MS later or more.
//   - The loop also serves callers that ask with events: executions of callers that began before there were requests.
//        Both kinds of callers count together. Among each kind, the order of arrival decides.
//   - An idle limiter ends as soon as its rate no longer depends on past admissions. A caller that asks at that moment
//        asks again (entry.ts).
//   - Histories in stores hold what this loop does, so a change of its calls on `ctx` goes behind `ctx.patched`.

import type { OrchestrationContext, RequestCall } from "../core/context/types.ts";
import { checkState } from "../core/define/state-schema.ts";
import { RETRY, SERVES, type LimiterCalls } from "./calls.ts";
import { eventLoop } from "./event-loop.ts";
import {
  ASK,
  ENTER,
  isRequester,
  LEAVE,
  MOVE,
  STRICT,
  type Admission,
  type Ask,
  type Departure,
  type Enter,
  type Leave,
  type Ticket,
} from "./messages.ts";
import { Pending } from "./pending.ts";
import { Wakeup } from "./wakeup.ts";
import type { StoredRule } from "./rule.ts";
import { keyOf, Slots, STATE, type LimiterState } from "./state.ts";
import { ticketOf } from "./ticket.ts";

type Context = OrchestrationContext<LimiterState>;
type Call = RequestCall<Enter, Admission>;

const LOOK_MS = 30_000;
const IDLE_MS = 60_000;
const RULE_MS = 1_000;
/**
 * An execution continues as new once it has no call in flight, has caused at least OWN_MIN events itself, and either
 * those are OWN_RATIO times as many as the other events of its history, so that few requests are copied
 * (limiter.loop.1), or its history is longer than EVENTS_MAX.
 */
const OWN_MIN = 1_000;
const OWN_RATIO = 9;
const EVENTS_MAX = 30_000;
/** How many callers one `admit` or `look` activity handles at most, apart from those that hold a slot. */
const BATCH_MAX = 100;
const QUEUE_LOOKED_AT = 1_000;
/** How many times per SHOW_MS the loop sets its status. Under load every admission would change it. */
const SHOWN_MAX = 20;
const SHOW_MS = 1_000;

export function limiterLoop(
  calls: LimiterCalls,
  rule: StoredRule,
): (ctx: Context, state: LimiterState) => Promise<void> {
  return async (ctx, state) => {
    checkState(STATE, state, ctx.info.name);
    if (!ctx.patched("limiter.requests")) return eventLoop(ctx, calls, state);
    if (ctx.kv.get(SERVES) !== true) ctx.kv.set(SERVES, true);
    return new Loop(ctx, calls, { state, rule }).work();
  };
}

class Loop {
  readonly #ctx: Context;
  readonly #calls: LimiterCalls;
  /** The limits of this code. Only a step may read them (limiter.loop.4). */
  readonly #codeRule: StoredRule;
  readonly #slots: Slots;
  readonly #requests: AsyncIterator<Call>;
  readonly #queue = new Map<string, { readonly ticket: Ticket; readonly call: Call }>();
  readonly #wakeup = new Wakeup();
  readonly #request = new Pending<IteratorResult<Call>>(this.#wakeup);
  readonly #leave = new Pending<Departure | Leave>(this.#wakeup);
  readonly #ask = new Pending<Ask>(this.#wakeup);
  readonly #alarm = new Pending<void>(this.#wakeup);
  readonly #ruled = new Pending<StoredRule>(this.#wakeup);
  readonly #begun = new Pending<string>(this.#wakeup);
  readonly #notified = new Pending<readonly string[]>(this.#wakeup);
  readonly #looked = new Pending<readonly string[]>(this.#wakeup);
  readonly #calling = [this.#ruled, this.#begun, this.#notified, this.#looked];
  /** The run id of this instance. Null until the first activity has returned it. */
  #run: string | null = null;
  /** Admitted callers that asked with events and that no `admit` activity has notified yet. */
  #admitted: Ticket[] = [];
  #alarmAt = Infinity;
  #lookAt: number;
  #looksAtQueue = false;
  #ruleReadAt: number;
  #usedAt: number;
  /** How many events of the history this loop caused: its calls and their outcomes, without waiting requests. */
  #own = 0;
  #shown = "";
  #shownCount = 0;
  #shownSince = 0;
  #showAt = Infinity;

  constructor(
    ctx: Context,
    calls: LimiterCalls,
    from: { readonly state: LimiterState; readonly rule: StoredRule },
  ) {
    this.#ctx = ctx;
    this.#calls = calls;
    this.#codeRule = from.rule;
    this.#slots = new Slots(from.state);
    this.#requests = ctx.requests(ENTER)[Symbol.asyncIterator]();
    this.#usedAt = ctx.now().getTime();
    this.#lookAt = this.#usedAt + LOOK_MS;
    this.#ruleReadAt = Math.min(from.state.ruledAt, this.#usedAt); // the clock of a caller may be ahead
  }

  async work(): Promise<void> {
    this.#begun.open(this.#ctx.run(this.#calls.awake, undefined, { retry: RETRY }));
    for (;;) {
      this.#readOutcomes();
      const isLong = this.#isLong;
      // A long execution admits no more callers: new admissions would keep it busy, and it could never end.
      if (!isLong) this.#admit();
      else if (!this.#isBusy) return this.#ctx.continueAsNew(this.#slots.toState());
      if (this.#isIdle && this.#now >= this.#idleUntil) return;
      this.#notify();
      if (!isLong) this.#look();
      this.#show();
      this.#listen();
      await this.#wakeup.next();
    }
  }

  get #now(): number {
    return this.#ctx.now().getTime();
  }

  get #isBusy(): boolean {
    return this.#admitted.length > 0 || this.#calling.some((pending) => pending.isOpen);
  }

  get #isAwaited(): boolean {
    return this.#queue.size > 0 || this.#slots.hasNext;
  }

  get #isEmpty(): boolean {
    return this.#queue.size === 0 && this.#slots.isEmpty;
  }

  get #isIdle(): boolean {
    return this.#isEmpty && !this.#isBusy;
  }

  get #isLong(): boolean {
    const { historyLength } = this.#ctx.info;
    if (this.#own < OWN_MIN) return false; // however long the queue is
    const others = historyLength - this.#own;
    return this.#own >= OWN_RATIO * others || historyLength > EVENTS_MAX;
  }

  get #idleUntil(): number {
    return Math.max(this.#usedAt + IDLE_MS, this.#slots.rememberedUntil);
  }

  #readOutcomes(): void {
    this.#readRequest();
    this.#readLeave();
    this.#readAsk();
    this.#own += 2 * this.#calling.filter((pending) => pending.hasOutcome).length; // the call and its outcome
    this.#run = this.#begun.take()?.value ?? this.#run;
    const rule = this.#ruled.take()?.value;
    if (rule !== undefined) this.#slots.setRule(rule, this.#now);
    this.#slots.release(this.#notified.take()?.value ?? []);
    const ended = this.#looked.take()?.value;
    if (ended !== undefined) this.#release(ended);
    if (this.#alarm.take() !== undefined) {
      this.#alarmAt = Infinity;
      this.#own += 2;
    }
  }

  #readRequest(): void {
    const taken = this.#request.take();
    if (taken === undefined) return;
    const call = taken.value.value as Call; // this loop does not end the iterator
    this.#used();
    const ticket = ticketOf(call, this.#now);
    if (ticket === null) this.#refuse(call, "a limiter admits orchestrations only, by limiter.run");
    else if (this.#slots.hasLeft(ticket.token)) this.#refuse(call, "the caller has left");
    else this.#queue.set(ticket.token, { ticket, call });
  }

  #readLeave(): void {
    const taken = this.#leave.take();
    if (taken === undefined) return;
    this.#used();
    this.#own += 2;
    const leave: unknown = taken.value; // any client can raise an event
    if (isRequester(leave)) {
      const isKnown = this.#slots.depart(leave) || this.#drop(keyOf(leave), "the caller has left");
      // While a read of the next request is open, all received requests are in the queue: this one was withdrawn.
      if (!isKnown && !this.#request.isWaiting) this.#slots.remember(leave);
    } else if (!STRICT.isLeave(leave)) this.#warn(LEAVE.name);
    else if (leave.token !== MOVE) this.#slots.leave(leave);
  }

  #readAsk(): void {
    const taken = this.#ask.take();
    if (taken === undefined) return;
    this.#used();
    this.#own += 2;
    if (!STRICT.isAsk(taken.value)) this.#warn(ASK.name);
    else if (taken.value.run === this.#run) this.#slots.ask(taken.value);
  }

  #used(): void {
    this.#usedAt = this.#now;
  }

  #warn(event: string): void {
    this.#ctx.log.warn(`limiter ignored an invalid "${event}" event`);
  }

  /** limiter.loop.3 */
  #release(ended: readonly string[]): void {
    this.#slots.release(ended);
    for (const key of ended) this.#drop(key, "the caller has ended");
    this.#looksAtQueue = ended.length > 0;
    if (this.#looksAtQueue) this.#lookAt = this.#now;
  }

  /** Removes a caller from the queue. False: it is not in the queue. */
  #drop(key: string, reason: string): boolean {
    const waiting = this.#queue.get(key);
    if (waiting === undefined) return false;
    this.#queue.delete(key);
    this.#refuse(waiting.call, reason);
    return true;
  }

  #refuse(call: Call, reason: string): void {
    this.#own += 2;
    call.refuse(reason);
  }

  /** Callers that asked with an event go first: they are older than the requests, or soon will be. */
  #admit(): void {
    if (this.#slots.rule === null) return;
    const ticket = this.#slots.admit(this.#now);
    if (ticket !== null) this.#admitted.push(ticket);
    for (const [key, waiting] of this.#queue) {
      if (!this.#slots.isOpen(this.#now)) return;
      this.#queue.delete(key);
      this.#slots.enter(waiting.ticket, this.#now);
      this.#own += 2;
      waiting.call.answer({ holds: this.#slots.holds });
    }
  }

  /** Notifies callers that asked with events. */
  #notify(): void {
    if (this.#notified.isOpen || this.#admitted.length === 0) return;
    const tickets = this.#admitted.slice(0, BATCH_MAX);
    this.#admitted = this.#admitted.slice(BATCH_MAX);
    const request = { tickets, holds: this.#slots.holds };
    this.#notified.open(this.#ctx.run(this.#calls.admit, request, { retry: RETRY }));
  }

  /** limiter.loop.3 */
  #look(): void {
    if (this.#looked.isOpen || this.#now < this.#lookAt) return;
    this.#lookAt = this.#now + LOOK_MS;
    const tickets = [...this.#slots.holders];
    if (this.#looksAtQueue) {
      const queued = [...this.#queue.values()].slice(0, QUEUE_LOOKED_AT);
      tickets.push(...queued.map(({ ticket }) => ticket));
    }
    if (tickets.length === 0) return;
    this.#looked.open(this.#ctx.run(this.#calls.look, tickets, { retry: RETRY }));
  }

  /** limiter.loop.2 */
  #listen(): void {
    this.#readRule();
    // The read of the next request must be opened before that of the next "leave" (#readLeave).
    if (!this.#request.isOpen) this.#request.open(this.#requests.next());
    if (!this.#leave.isOpen) this.#leave.open(this.#ctx.waitFor(LEAVE, { internal: true }));
    if (this.#run !== null && !this.#slots.hasNext && !this.#ask.isOpen)
      this.#ask.open(this.#ctx.waitFor(ASK, { internal: true }));
    this.#setAlarm();
  }

  /** limiter.loop.4 */
  #readRule(): void {
    if (this.#ruled.isOpen || this.#usedAt < this.#ruleReadAt + RULE_MS) return;
    this.#ruleReadAt = this.#now;
    this.#ruled.open(this.#ctx.step("rule", () => this.#codeRule));
  }

  /** Sets one timer, for whatever is due first. Calls in flight wake the loop when they end, so they need none. */
  #setAlarm(): void {
    const at = Math.min(
      this.#slots.nextAt(this.#now, this.#isAwaited) ?? Infinity,
      this.#isIdle ? this.#idleUntil : Infinity,
      this.#slots.holdsNone || this.#looked.isOpen ? Infinity : this.#lookAt,
      this.#showAt,
    );
    if (at >= this.#alarmAt) return;
    this.#alarm.cancel();
    this.#alarmAt = at;
    this.#alarm.open(this.#ctx.sleep(new Date(at)));
  }

  #show(): void {
    if (this.#now >= this.#shownSince + SHOW_MS) {
      this.#shownSince = this.#now;
      this.#shownCount = 0;
    }
    const mayShow = this.#shownCount < SHOWN_MAX;
    this.#showAt = mayShow ? Infinity : this.#shownSince + SHOW_MS;
    if (!mayShow) return;
    const status = this.#slots.toStatus(this.#now, this.#isAwaited);
    const text = JSON.stringify(status);
    if (text === this.#shown) return;
    this.#shown = text;
    this.#shownCount++;
    this.#own++;
    this.#ctx.setStatus(status);
  }
}

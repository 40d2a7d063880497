// The loop: a gate's orchestration. It lets callers in, one after the other, and continues as new.
//   GL1. Those who wait are in the mailbox, of which it reads one ahead: they are let in in the order in which they
//        asked. A mailbox goes along when an execution ends, so that one ends only when it has done its share.
//   GL2. It hears who leaves at once, whoever waits.
//   GL3. Whoever is inside for long is looked after: an instance that ended without a word gives its place back.
//   GL4. With nobody inside and nobody asking it ends, once it need not remember who entered. Who asks in that moment
//        asks again (GC1).

import type { OrchestrationContext } from "../core/context-types.ts";
import { checkState } from "../core/state-schema.ts";
import { RETRY, type GateCalls } from "./calls.ts";
import {
  ASK,
  LEAVE,
  LENIENT,
  STRICT,
  type Ask,
  type Leave,
  type MessageChecks,
  type Ticket,
} from "./messages.ts";
import { Slot } from "./slot.ts";
import { Permits, STATE, type GateState } from "./state.ts";

type Context = OrchestrationContext<GateState>;

const LOOK_MS = 30_000;
const IDLE_MS = 60_000;
/** An execution ends when so many events of its history are its own, and as many as those that wait have (GL1), … */
const OWN_MIN = 1_000;
/** … or when it is as long as this; and when nothing of it is under way. */
const EVENTS_MAX = 30_000;
/** Let in by one call. */
const TOLD_MAX = 100;

export function gateLoop(calls: GateCalls): (ctx: Context, state: GateState) => Promise<void> {
  return async (ctx, state) => {
    checkState(STATE, state, ctx.info.name);
    const checks = ctx.patched("strict messages") ? STRICT : LENIENT;
    const run = await ctx.run(calls.awake, undefined, { retry: RETRY });
    return new Gate(ctx, calls, { state, run, checks }).work();
  };
}

class Gate {
  readonly #ctx: Context;
  readonly #calls: GateCalls;
  readonly #run: string;
  readonly #checks: MessageChecks;
  readonly #permits: Permits;
  readonly #ask = new Slot<Ask>();
  readonly #leave = new Slot<Leave>();
  readonly #alarm = new Slot<void>();
  readonly #told = new Slot<readonly string[]>();
  readonly #looked = new Slot<readonly string[]>();
  readonly #slots = [this.#leave, this.#ask, this.#told, this.#looked, this.#alarm];
  /** Let in, and not told yet. */
  #admitted: Ticket[] = [];
  #alarmAt = Infinity;
  #lookAt: number;
  #usedAt: number;
  /** Events of the history that are no one's who waits: all that was asked for here, and what came of it. */
  #own = 0;
  #shown = "";

  constructor(
    ctx: Context,
    calls: GateCalls,
    from: { readonly state: GateState; readonly run: string; readonly checks: MessageChecks },
  ) {
    this.#ctx = ctx;
    this.#calls = calls;
    this.#run = from.run;
    this.#checks = from.checks;
    this.#permits = new Permits(from.state);
    this.#usedAt = ctx.now().getTime();
    this.#lookAt = this.#usedAt + LOOK_MS;
  }

  async work(): Promise<void> {
    for (;;) {
      this.#hear();
      const isLong = this.#isLong;
      if (!isLong)
        this.#admit(); // who is always busy would never come to an end
      else if (!this.#isBusy) return this.#ctx.continueAsNew(this.#permits.toState());
      if (!this.#isBusy && this.#permits.isEmpty && this.#now >= this.#idleUntil) return;
      this.#tell();
      if (!isLong) this.#look();
      this.#listen();
      this.#show();
      await Promise.race(this.#slots.flatMap((slot) => slot.settled ?? []));
    }
  }

  get #now(): number {
    return this.#ctx.now().getTime();
  }

  get #isBusy(): boolean {
    return this.#told.isOpen || this.#looked.isOpen || this.#admitted.length > 0;
  }

  get #isLong(): boolean {
    const { historyLength } = this.#ctx.info;
    if (this.#own < OWN_MIN) return false; // however many wait
    return this.#own >= historyLength - this.#own || historyLength > EVENTS_MAX;
  }

  get #idleUntil(): number {
    return Math.max(this.#usedAt + IDLE_MS, this.#permits.rememberedUntil);
  }

  /** Takes everything that has come. */
  #hear(): void {
    this.#own += 2 * this.#slots.filter((slot) => slot.hasOutcome).length; // what was asked for, and what came
    const leave = this.#leave.take();
    if (this.#isRead(leave, LEAVE.name, this.#checks.isLeave)) this.#permits.leave(leave.value);
    const ask = this.#ask.take();
    if (this.#isRead(ask, ASK.name, this.#checks.isAsk) && ask.value.run === this.#run) {
      this.#permits.ask(ask.value);
    }
    if (leave !== undefined || ask !== undefined) this.#usedAt = this.#now;
    this.#permits.gone(this.#told.take()?.value ?? []);
    this.#permits.gone(this.#looked.take()?.value ?? []);
    if (this.#alarm.take() !== undefined) this.#alarmAt = Infinity;
  }

  /** Whether there is a message that can be used; one that cannot is logged. */
  #isRead<T>(
    taken: { readonly value: unknown } | undefined,
    event: string,
    check: (value: unknown) => value is T,
  ): taken is { readonly value: T } {
    if (taken === undefined) return false;
    if (check(taken.value)) return true;
    this.#ctx.log.warn(`gate ignored an invalid "${event}" event`);
    return false;
  }

  #admit(): void {
    const ticket = this.#permits.admit(this.#now);
    if (ticket !== null) this.#admitted.push(ticket);
  }

  #tell(): void {
    if (this.#told.isOpen || this.#admitted.length === 0) return;
    const tickets = this.#admitted.slice(0, TOLD_MAX);
    this.#admitted = this.#admitted.slice(TOLD_MAX);
    const request = { tickets, holds: this.#permits.holds };
    this.#told.open(this.#ctx.run(this.#calls.admit, request, { retry: RETRY }));
  }

  /** GL3 */
  #look(): void {
    if (this.#looked.isOpen || this.#now < this.#lookAt) return;
    this.#lookAt = this.#now + LOOK_MS;
    const { inside } = this.#permits;
    if (inside.length === 0) return;
    this.#looked.open(this.#ctx.run(this.#calls.look, inside, { retry: RETRY }));
  }

  /** GL1, GL2; one alarm is set, for whatever comes first. */
  #listen(): void {
    if (!this.#leave.isOpen) this.#leave.open(this.#ctx.event(LEAVE, { internal: true }));
    if (!this.#permits.isAsked && !this.#ask.isOpen)
      this.#ask.open(this.#ctx.event(ASK, { internal: true }));
    // What is under way wakes the loop by itself.
    const at = Math.min(
      this.#permits.nextAt(this.#now) ?? Infinity,
      this.#permits.isEmpty && !this.#isBusy ? this.#idleUntil : Infinity,
      this.#permits.isEmpty || this.#looked.isOpen ? Infinity : this.#lookAt,
    );
    if (at >= this.#alarmAt) return;
    this.#alarm.cancel();
    this.#alarmAt = at;
    this.#alarm.open(this.#ctx.sleep(new Date(at)));
  }

  #show(): void {
    const status = this.#permits.toStatus(this.#now);
    const text = JSON.stringify(status);
    if (text === this.#shown) return;
    this.#shown = text;
    this.#own++;
    this.#ctx.setStatus(status);
  }
}

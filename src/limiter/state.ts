// The state of a limiter, which one execution hands to the next, and the decision which caller is admitted.
//   - This file reads no clock and no store: the same messages in the same order admit the same callers.
//   - `concurrency`: a caller holds its slot from the moment of its admission. The number of slots in use never
//        exceeds the rule by an admission. After a change to a smaller number, callers keep their slots.
//   - limiter.state.1: `rate`: within any period of the rule's length, at most `count` callers are admitted. An
//        admission counts even if the caller turns out to have ended.
//   - limiter.state.2: A caller that left before its admission is skipped, in whatever order its two messages arrive.

import { stateSchema } from "../core/define/state-schema.ts";
import type { Ask, Departure, Leave, Ruled, Ticket } from "./messages.ts";
import type { StoredRule } from "./rule.ts";

/** The input of a limiter's execution. Stores hold it, so its members must keep their names. */
export interface LimiterState {
  readonly rule: StoredRule | null;
  /** When the rule was sent. */
  readonly ruledAt: number;
  /** The callers that hold a slot. */
  readonly inside: readonly Ticket[];
  /** The times of the last admissions, oldest first: at most as many as the rule's count. */
  readonly entered: readonly number[];
  /** The first caller that asked with an event. Other callers are in the mailbox. */
  readonly next: Ticket | null;
  /** Keys of callers that left without holding a slot. */
  readonly left: readonly string[];
}

export const STATE = stateSchema<LimiterState>(
  ["inside", "entered"],
  "a limiter is started by its first caller, with limiter.run(ctx, work), not by its name",
);

/** The custom status of a limiter's instance: `describe().customStatus`. */
export interface LimiterStatus {
  readonly concurrency: number | null;
  readonly rate: { readonly count: number; readonly perMs: number } | null;
  /** How many slots are in use. Always 0 if the limiter has only a rate. */
  readonly inUse: number;
  /** Ids of instances that hold a slot, at most twenty of them. */
  readonly holders: readonly string[];
  /** When the rate admits the next caller; null if no caller waits for the rate. */
  readonly nextAt: Date | null;
}

/** The key of a caller that asked with a request. A fork has the tokens of its original, but a different id. */
export function keyOf({ token, id }: Departure): string {
  return `${id}/${token}`;
}

const LEFT_MAX = 10_000;
const HOLDERS_SHOWN = 20;
export const EMPTY: LimiterState = {
  rule: null,
  ruledAt: 0,
  inside: [],
  entered: [],
  next: null,
  left: [],
};

/** The state while an execution works on it. */
export class Slots {
  #rule: StoredRule | null;
  #ruledAt: number;
  #holders: Map<string, Ticket>;
  #entered: number[];
  #next: Ticket | null;
  readonly #left: Set<string>;

  constructor(state: LimiterState) {
    this.#rule = state.rule;
    this.#ruledAt = state.ruledAt;
    this.#holders = new Map(state.inside.map((ticket) => [ticket.token, ticket]));
    this.#entered = [...state.entered];
    this.#next = state.next;
    this.#left = new Set(state.left);
  }

  /** Whether a caller waits for its admission. */
  get hasNext(): boolean {
    return this.#next !== null;
  }

  /** Null: no caller and no code has set a rule yet. */
  get rule(): StoredRule | null {
    return this.#rule;
  }

  get holders(): readonly Ticket[] {
    return [...this.#holders.values()];
  }

  ask({ ticket, ...ruled }: Ask): void {
    this.#takeRule(ruled);
    if (this.#left.delete(ticket.token)) return; // limiter.state.2
    if (this.#holders.has(ticket.token)) return; // the message is a repetition
    this.#next = ticket;
  }

  leave({ token, id, ...ruled }: Leave): void {
    this.#takeRule(ruled);
    if (this.#next?.token === token) {
      this.#next = null;
    } else if (this.#holders.has(token)) {
      // A fork has the same tokens as its original; it must not release the slot of its original.
      if (this.#holders.get(token)?.id === id) this.#holders.delete(token);
    } else {
      this.#addLeft(token);
    }
  }

  /** A caller that asked with a request leaves. False: it holds no slot. */
  depart(departure: Departure): boolean {
    return this.#holders.delete(keyOf(departure));
  }

  /** The request of this caller may be received later, and must be skipped then. */
  remember(departure: Departure): void {
    this.#addLeft(keyOf(departure));
  }

  /** Whether the caller left before its request was received. */
  hasLeft(key: string): boolean {
    return this.#left.delete(key);
  }

  /** Releases the slots of callers that have ended. */
  release(tokens: readonly string[]): void {
    for (const token of tokens) this.#holders.delete(token);
  }

  /** Admits the next caller if there is one and the rule allows it. */
  admit(now: number): Ticket | null {
    const ticket = this.#next;
    if (ticket === null || !this.isOpen(now)) return null;
    this.#next = null;
    this.enter(ticket, now);
    return ticket;
  }

  /** Whether the rule allows an admission now. */
  isOpen(now: number): boolean {
    return this.#hasFreeSlot && this.#rateOpensAt(now) === null;
  }

  /** Counts an admission. `isOpen` must be true. */
  enter(ticket: Ticket, now: number): void {
    if (this.holds) this.#holders.set(ticket.token, ticket);
    if (this.#rule?.rate) {
      this.#entered.push(now);
      const surplus = this.#entered.length - this.#rule.rate.count;
      if (surplus > 0) this.#entered.splice(0, surplus);
    }
  }

  /** Whether an admitted caller holds a slot until it leaves. False: the limiter has only a rate. */
  get holds(): boolean {
    return (this.#rule?.atOnce ?? null) !== null;
  }

  /** When the rate admits the next caller, if there is one and the rate is all it waits for. */
  nextAt(now: number, isAwaited = this.hasNext): number | null {
    return isAwaited && this.#hasFreeSlot ? this.#rateOpensAt(now) : null;
  }

  /** Until when the limiter must keep the times of its admissions, even if it is idle. */
  get rememberedUntil(): number {
    const last = this.#entered.at(-1);
    return last === undefined || !this.#rule?.rate ? 0 : last + this.#rule.rate.perMs;
  }

  get isEmpty(): boolean {
    return this.#next === null && this.holdsNone;
  }

  /** Whether no caller holds a slot. */
  get holdsNone(): boolean {
    return this.#holders.size === 0;
  }

  toState(): LimiterState {
    return {
      rule: this.#rule,
      ruledAt: this.#ruledAt,
      inside: this.holders,
      entered: this.#entered,
      next: this.#next,
      left: [...this.#left],
    };
  }

  toStatus(now: number, isAwaited = this.hasNext): LimiterStatus {
    const nextAt = this.nextAt(now, isAwaited);
    return {
      concurrency: this.#rule?.atOnce ?? null,
      rate: this.#rule?.rate ?? null,
      inUse: this.#holders.size,
      holders: [...this.#holders.values()].slice(0, HOLDERS_SHOWN).map(({ id }) => id),
      nextAt: nextAt === null ? null : new Date(nextAt),
    };
  }

  /** Sets the rule of the code that runs the limiter. */
  setRule(rule: StoredRule, now: number): void {
    this.#rule = rule;
    this.#ruledAt = now;
  }

  #addLeft(key: string): void {
    this.#left.add(key);
    if (this.#left.size > LEFT_MAX) this.#left.delete([...this.#left][0] ?? "");
  }

  /** A message may have waited for a long time while newer code sent its rule; the older rule must not win. */
  #takeRule({ rule, sentAt }: Ruled): void {
    if (sentAt < this.#ruledAt) return;
    this.#rule = rule;
    this.#ruledAt = sentAt;
  }

  get #hasFreeSlot(): boolean {
    const most = this.#rule?.atOnce ?? null;
    return most === null || this.#holders.size < most;
  }

  /** limiter.state.1. Null: the rate admits a caller now. */
  #rateOpensAt(now: number): number | null {
    const rate = this.#rule?.rate ?? null;
    const first = rate === null ? undefined : this.#entered.at(-rate.count);
    if (rate === null || first === undefined) return null;
    const at = first + rate.perMs;
    return at > now ? at : null;
  }
}

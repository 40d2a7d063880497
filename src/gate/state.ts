// State: what a gate hands from one execution to the next, and who may enter by it.
//   GS1. No clock and no store: the same messages in the same order let the same callers in.
//   GS2. `atOnce`: never are more inside than the rule says, counted from the moment a caller is let in.
//   GS3. `rate`: within any time of the rule's length at most so many are let in. Who turns out to be gone counts too.
//   GS4. Whoever left before he was let in is passed over when his turn comes, in whatever order the two arrive.

import { stateSchema } from "../core/state-schema.ts";
import type { Ask, Leave, Ruled, Ticket } from "./messages.ts";
import type { GateRule } from "./rule.ts";

/** A gate's input: empty at first, then what its last execution hands on. */
export interface GateState {
  readonly rule: GateRule | null;
  /** When the rule was sent. */
  readonly ruledAt: number;
  readonly inside: readonly Ticket[];
  /** When the last ones were let in, oldest first: as many as the rule's count. */
  readonly entered: readonly number[];
  /** Next in line; all others wait in the mailbox. */
  readonly next: Ticket | null;
  /** Tokens of those who left and were not inside. */
  readonly left: readonly string[];
}

export const STATE = stateSchema<GateState>(
  ["inside", "entered"],
  "a gate is started by its first caller, with gate.run(ctx, work), not by its name",
);

/** A gate's custom status: `describe().customStatus`. */
export interface GateStatus {
  readonly atOnce: number | null;
  readonly rate: { readonly count: number; readonly perMs: number } | null;
  /** How many are inside; always 0 with a rate alone. */
  readonly inside: number;
  /** Instances that are inside, at most twenty of them. */
  readonly ids: readonly string[];
  /** When the rate lets the next one in, if somebody waits for that. */
  readonly nextAt: Date | null;
}

const LEFT_MAX = 10_000;
const IDS_SHOWN = 20;
export const EMPTY: GateState = {
  rule: null,
  ruledAt: 0,
  inside: [],
  entered: [],
  next: null,
  left: [],
};

/** The state while an execution works on it. */
export class Permits {
  #rule: GateRule | null;
  #ruledAt: number;
  #inside: Map<string, Ticket>;
  #entered: number[];
  #next: Ticket | null;
  readonly #left: Set<string>;

  constructor(state: GateState) {
    this.#rule = state.rule;
    this.#ruledAt = state.ruledAt;
    this.#inside = new Map(state.inside.map((ticket) => [ticket.token, ticket]));
    this.#entered = [...state.entered];
    this.#next = state.next;
    this.#left = new Set(state.left);
  }

  /** Whether somebody is next in line. */
  get isAsked(): boolean {
    return this.#next !== null;
  }

  get inside(): readonly Ticket[] {
    return [...this.#inside.values()];
  }

  ask({ ticket, ...ruled }: Ask): void {
    this.#obey(ruled);
    if (this.#left.delete(ticket.token) || this.#inside.has(ticket.token)) return; // GS4, or a repeated message
    this.#next = ticket;
  }

  leave({ token, id, ...ruled }: Leave): void {
    this.#obey(ruled);
    if (this.#next?.token === token) {
      this.#next = null;
    } else if (this.#inside.has(token)) {
      if (this.#inside.get(token)?.id === id) this.#inside.delete(token); // a fork has its original's tokens
    } else {
      this.#left.add(token);
      if (this.#left.size > LEFT_MAX) this.#left.delete([...this.#left][0] ?? "");
    }
  }

  /** These are not there any more. */
  gone(tokens: readonly string[]): void {
    for (const token of tokens) this.#inside.delete(token);
  }

  /** Lets the next one in, if there is one and there is room. */
  admit(now: number): Ticket | null {
    const ticket = this.#next;
    if (ticket === null || !this.#hasRoom || this.#waitsUntil(now) !== null) return null;
    this.#next = null;
    if (this.holds) this.#inside.set(ticket.token, ticket);
    if (this.#rule?.rate) {
      this.#entered.push(now);
      this.#entered = this.#entered.slice(-this.#rule.rate.count);
    }
    return ticket;
  }

  /** Whether those let in are inside until they leave; otherwise a gate is done with them. */
  get holds(): boolean {
    return (this.#rule?.atOnce ?? null) !== null;
  }

  /** When the rate lets the next one in, if that is what somebody waits for. */
  nextAt(now: number): number | null {
    return this.#next === null || !this.#hasRoom ? null : this.#waitsUntil(now);
  }

  /** Until when the gate must remember who entered, though nobody is inside or asks. */
  get rememberedUntil(): number {
    const last = this.#entered.at(-1);
    return last === undefined || !this.#rule?.rate ? 0 : last + this.#rule.rate.perMs;
  }

  get isEmpty(): boolean {
    return this.#next === null && this.#inside.size === 0;
  }

  toState(): GateState {
    return {
      rule: this.#rule,
      ruledAt: this.#ruledAt,
      inside: this.inside,
      entered: this.#entered,
      next: this.#next,
      left: [...this.#left],
    };
  }

  toStatus(now: number): GateStatus {
    const nextAt = this.nextAt(now);
    return {
      atOnce: this.#rule?.atOnce ?? null,
      rate: this.#rule?.rate ?? null,
      inside: this.#inside.size,
      ids: [...this.#inside.values()].slice(0, IDS_SHOWN).map(({ id }) => id),
      nextAt: nextAt === null ? null : new Date(nextAt),
    };
  }

  /** A question may have waited for long, while newer code is at work. */
  #obey({ rule, sentAt }: Ruled): void {
    if (sentAt < this.#ruledAt) return;
    this.#rule = rule;
    this.#ruledAt = sentAt;
  }

  get #hasRoom(): boolean {
    const atOnce = this.#rule?.atOnce ?? null;
    return atOnce === null || this.#inside.size < atOnce;
  }

  /** GS3; null: the rate lets one in now. */
  #waitsUntil(now: number): number | null {
    const rate = this.#rule?.rate ?? null;
    const first = rate === null ? undefined : this.#entered.at(-rate.count);
    if (rate === null || first === undefined) return null;
    const at = first + rate.perMs;
    return at > now ? at : null;
  }
}

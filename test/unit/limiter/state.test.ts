// Which callers a limiter admits, depending on its messages. Random messages are compared with a simple count.

import { describe, expect, test } from "vitest";
import type { Ticket } from "../../../src/limiter/messages.ts";
import type { StoredRule } from "../../../src/limiter/rule.ts";
import { EMPTY, Slots, type LimiterState } from "../../../src/limiter/state.ts";

const RUNS = 300;
const STEPS = 120;

function ticketOf(number: number): Ticket {
  return { token: `t${number}`, id: `i${number}`, runId: "r", execution: 1, askedAt: 0 };
}

function randomOf(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** Encodes and decodes the state, as between two executions. */
function reloaded(slots: Slots): Slots {
  return new Slots(JSON.parse(JSON.stringify(slots.toState())) as LimiterState);
}

test(`limiter.state.1, limiter.state.2: over ${RUNS} random sequences the limit holds, and callers are admitted once and in order`, () => {
  const base = Math.floor(Math.random() * 2 ** 31);
  for (let run = 0; run < RUNS; run++) {
    const below = randomOf(base + run);
    const atOnce = below(3) === 0 ? null : 1 + below(4);
    const rate = atOnce === null || below(2) === 0 ? { count: 1 + below(4), perMs: 50 } : null;
    const ruled = { rule: { atOnce, rate } satisfies StoredRule, sentAt: 0 };
    const what = `seed ${base + run}`;
    let slots = new Slots(EMPTY);
    let now = 0;
    let requested = 0;
    const mailbox: number[] = [];
    const left = new Set<number>();
    const inside = new Set<number>();
    const admitted: { readonly number: number; readonly at: number }[] = [];
    for (let step = 0; step < STEPS; step++) {
      now += below(10);
      const choice = below(4);
      if (choice === 0) mailbox.push(requested++);
      if (choice === 1 && requested > 0) {
        const number = below(requested);
        if (!left.has(number)) {
          slots.leave({ token: `t${number}`, id: `i${number}`, ...ruled });
          if (!inside.delete(number) && !admitted.some((one) => one.number === number)) {
            left.add(number);
          }
        }
      }
      if (choice === 2) slots = reloaded(slots);
      for (;;) {
        const next = slots.hasNext ? undefined : mailbox.shift();
        if (next !== undefined) slots.ask({ ticket: ticketOf(next), run: "g", ...ruled });
        const ticket = slots.admit(now);
        if (ticket !== null) {
          const number = Number(ticket.token.slice(1));
          expect(left.has(number), what).toBe(false);
          expect(number, what).toBeGreaterThan(admitted.at(-1)?.number ?? -1);
          admitted.push({ number, at: now });
          if (atOnce !== null) inside.add(number);
        } else if (next === undefined) break;
      }
      if (atOnce !== null) expect(inside.size, what).toBeLessThanOrEqual(atOnce);
      expect(slots.holders.length, what).toBe(inside.size);
      if (rate !== null) {
        const recent = admitted.filter(({ at }) => at > now - rate.perMs).length;
        expect(recent, what).toBeLessThanOrEqual(rate.count);
      }
      const isFull = atOnce !== null && inside.size >= atOnce;
      const isHeld = rate !== null && slots.nextAt(now) !== null;
      if (slots.hasNext)
        expect(isFull || isHeld, `${what}: a caller waits though the rule admits it`).toBe(true);
    }
    expect(admitted.length, what).toBeGreaterThan(0);
  }
});

describe("a rule", () => {
  const ask = (number: number, atOnce: number, sentAt: number) => ({
    ticket: ticketOf(number),
    run: "g",
    rule: { atOnce, rate: null },
    sentAt,
  });

  test("that was sent later wins, independent of the order of arrival", () => {
    const slots = new Slots(EMPTY);
    slots.ask(ask(0, 3, 200));
    slots.admit(0);
    slots.ask(ask(1, 1, 100));
    expect(slots.admit(0)?.token).toBe("t1");
    expect(slots.toStatus(0)).toMatchObject({ concurrency: 3, inUse: 2 });
  });

  test("with a lower limit removes no slot, and admits no caller until a slot is free", () => {
    const slots = new Slots(EMPTY);
    for (const number of [0, 1, 2]) {
      slots.ask(ask(number, 3, 1));
      slots.admit(0);
    }
    slots.ask(ask(3, 1, 2));
    for (const number of [0, 1]) {
      expect(slots.admit(0)).toBeNull();
      slots.leave({
        token: `t${number}`,
        id: `i${number}`,
        rule: { atOnce: 1, rate: null },
        sentAt: 2,
      });
    }
    expect(slots.admit(0)).toBeNull();
    slots.release(["t2"]);
    expect(slots.admit(0)?.token).toBe("t3");
  });
});

test("a repeated message admits no caller twice, and a fork cannot release the slot of its original", () => {
  const ruled = { rule: { atOnce: 2, rate: null }, sentAt: 0 };
  const slots = new Slots(EMPTY);
  const ask = { ticket: ticketOf(0), run: "g", ...ruled };
  slots.ask(ask);
  expect(slots.admit(0)).not.toBeNull();
  slots.ask(ask);
  expect(slots.admit(0)).toBeNull();
  slots.leave({ token: "t0", id: "the fork", ...ruled });
  expect(slots.holders).toHaveLength(1);
});

test("the limiter remembers up to ten thousand callers that left before their request arrived", () => {
  const ruled = { rule: { atOnce: 1, rate: null }, sentAt: 0 };
  const slots = new Slots(EMPTY);
  for (let n = 0; n < 10_001; n++) slots.leave({ token: `t${n}`, id: `i${n}`, ...ruled });
  expect(slots.toState().left).toHaveLength(10_000);
  slots.ask({ ticket: ticketOf(10_000), run: "g", ...ruled });
  expect(slots.hasNext).toBe(false);
});

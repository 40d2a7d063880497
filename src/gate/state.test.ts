// Whoever a gate lets in, by its messages alone: compared with counting, over random ones.

import { describe, expect, test } from "vitest";
import type { Ticket } from "./messages.ts";
import type { GateRule } from "./rule.ts";
import { EMPTY, Permits, type GateState } from "./state.ts";

const RUNS = 300;
const STEPS = 120;

function ticketOf(number: number): Ticket {
  return { token: `t${number}`, id: `i${number}`, runId: "r", execution: 1, askedAt: 0 };
}

function chanceOf(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** Through a store and back, as between two executions. */
function handedOn(permits: Permits): Permits {
  return new Permits(JSON.parse(JSON.stringify(permits.toState())) as GateState);
}

test(`GS2 to GS4: over ${RUNS} random lives nobody is let in too many, twice, or out of turn`, () => {
  const base = Math.floor(Math.random() * 2 ** 31);
  for (let run = 0; run < RUNS; run++) {
    const below = chanceOf(base + run);
    const atOnce = below(3) === 0 ? null : 1 + below(4);
    const rate = atOnce === null || below(2) === 0 ? { count: 1 + below(4), perMs: 50 } : null;
    const ruled = { rule: { atOnce, rate } satisfies GateRule, sentAt: 0 };
    const what = `seed ${base + run}`;
    let permits = new Permits(EMPTY);
    let now = 0;
    let asked = 0;
    const line: number[] = []; // in the mailbox
    const left = new Set<number>();
    const inside = new Set<number>();
    const admitted: { readonly number: number; readonly at: number }[] = [];
    for (let step = 0; step < STEPS; step++) {
      now += below(10);
      const choice = below(4);
      if (choice === 0) line.push(asked++);
      if (choice === 1 && asked > 0) {
        const number = below(asked);
        if (!left.has(number)) {
          permits.leave({ token: `t${number}`, id: `i${number}`, ...ruled });
          if (!inside.delete(number) && !admitted.some((one) => one.number === number)) {
            left.add(number);
          }
        }
      }
      if (choice === 2) permits = handedOn(permits);
      for (;;) {
        const next = permits.isAsked ? undefined : line.shift();
        if (next !== undefined) permits.ask({ ticket: ticketOf(next), run: "g", ...ruled });
        const ticket = permits.admit(now);
        if (ticket !== null) {
          const number = Number(ticket.token.slice(1));
          expect(left.has(number), what).toBe(false);
          expect(number, what).toBeGreaterThan(admitted.at(-1)?.number ?? -1);
          admitted.push({ number, at: now });
          if (atOnce !== null) inside.add(number);
        } else if (next === undefined) break;
      }
      if (atOnce !== null) expect(inside.size, what).toBeLessThanOrEqual(atOnce);
      expect(permits.inside.length, what).toBe(inside.size);
      if (rate !== null) {
        const recent = admitted.filter(({ at }) => at > now - rate.perMs).length;
        expect(recent, what).toBeLessThanOrEqual(rate.count);
      }
      const isFull = atOnce !== null && inside.size >= atOnce;
      const isHeld = rate !== null && permits.nextAt(now) !== null;
      if (permits.isAsked) expect(isFull || isHeld, `${what}: waits for nothing`).toBe(true);
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

  test("that was sent later counts, in whatever order they are read", () => {
    const permits = new Permits(EMPTY);
    permits.ask(ask(0, 3, 200));
    permits.admit(0);
    permits.ask(ask(1, 1, 100));
    expect(permits.admit(0)?.token).toBe("t1");
    expect(permits.toStatus(0)).toMatchObject({ atOnce: 3, inside: 2 });
  });

  test("that is narrower puts nobody out, and lets nobody in until there is room", () => {
    const permits = new Permits(EMPTY);
    for (const number of [0, 1, 2]) {
      permits.ask(ask(number, 3, 1));
      permits.admit(0);
    }
    permits.ask(ask(3, 1, 2));
    for (const number of [0, 1]) {
      expect(permits.admit(0)).toBeNull();
      permits.leave({
        token: `t${number}`,
        id: `i${number}`,
        rule: { atOnce: 1, rate: null },
        sentAt: 2,
      });
    }
    expect(permits.admit(0)).toBeNull();
    permits.gone(["t2"]);
    expect(permits.admit(0)?.token).toBe("t3");
  });
});

test("a message that is repeated lets nobody in twice, and a fork's word frees no place of its original", () => {
  const ruled = { rule: { atOnce: 2, rate: null }, sentAt: 0 };
  const permits = new Permits(EMPTY);
  const ask = { ticket: ticketOf(0), run: "g", ...ruled };
  permits.ask(ask);
  expect(permits.admit(0)).not.toBeNull();
  permits.ask(ask);
  expect(permits.admit(0)).toBeNull();
  permits.leave({ token: "t0", id: "the fork", ...ruled });
  expect(permits.inside).toHaveLength(1);
});

test("of those who left without having asked, ten thousand are remembered", () => {
  const ruled = { rule: { atOnce: 1, rate: null }, sentAt: 0 };
  const permits = new Permits(EMPTY);
  for (let n = 0; n < 10_001; n++) permits.leave({ token: `t${n}`, id: `i${n}`, ...ruled });
  expect(permits.toState().left).toHaveLength(10_000);
  permits.ask({ ticket: ticketOf(10_000), run: "g", ...ruled });
  expect(permits.isAsked).toBe(false);
});

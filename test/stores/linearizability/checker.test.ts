// Tests of the checker: histories of a register and a queue with known answers, and a comparison with a search through
// all orders.

import fc from "fast-check";
import { expect, test } from "vitest";
import { seedFromEnvironment } from "../../faults/kill/chance.ts";
import { checkHistory, type Model, type Operation } from "./checker.ts";

type Access = { readonly write: number } | "read";
type Step = Operation<Access, number | null>;

const register: Model<number, Access, number | null> = {
  initial: 0,
  apply: (state, { input, output }) => {
    if (input !== "read") return input.write;
    return output === state ? state : null;
  },
  keyOf: String,
};

const write = (value: number, calledAt: number, answeredAt: number): Step => ({
  ...{ input: { write: value }, output: null, calledAt, answeredAt },
});
const read = (value: number, calledAt: number, answeredAt: number): Step => ({
  ...{ input: "read" as const, output: value, calledAt, answeredAt },
});
const isFine = (history: readonly Step[]): boolean =>
  checkHistory(history, register).isLinearizable;

test.each<{ what: string; history: readonly Step[] }>([
  { what: "an empty history", history: [] },
  { what: "a sequential history", history: [write(1, 1, 2), read(1, 3, 4), write(2, 5, 6)] },
  {
    what: "a read during a write that sees the old value",
    history: [write(1, 1, 4), read(0, 2, 3)],
  },
  {
    what: "a read during a write that sees the new value",
    history: [write(1, 1, 4), read(1, 2, 3)],
  },
  {
    what: "two concurrent writes, seen in the opposite order of their calls",
    history: [write(1, 1, 5), write(2, 2, 6), read(2, 7, 8), read(2, 9, 10)],
  },
  {
    what: "reads during a write that see first the old, then the new value",
    history: [write(1, 1, 8), read(0, 2, 3), read(1, 4, 5)],
  },
])("$what is linearizable", ({ history }) => {
  const { isLinearizable, order } = checkHistory(history, register);
  expect(isLinearizable).toBe(true);
  expect(order).toHaveLength(history.length);
});

test.each<{ what: string; history: readonly Step[] }>([
  { what: "a read of a value that was never written", history: [write(1, 1, 2), read(7, 3, 4)] },
  { what: "a stale read", history: [write(1, 1, 2), write(2, 3, 4), read(1, 5, 6)] },
  {
    what: "reads during a write that see first the new, then the old value",
    history: [write(1, 1, 8), read(1, 2, 3), read(0, 4, 5)],
  },
  {
    what: "two concurrent writes that two readers saw in different orders",
    history: [
      ...[write(1, 1, 20), write(2, 2, 21), read(1, 3, 4), read(2, 5, 6)],
      ...[read(1, 7, 8), read(2, 9, 10)],
    ],
  },
  { what: "an acknowledged write that is lost", history: [write(1, 1, 2), read(0, 3, 4)] },
])("$what is not linearizable", ({ history }) => {
  const { isLinearizable, order } = checkHistory(history, register);
  expect(isLinearizable).toBe(false);
  expect(order.length).toBeLessThan(history.length);
});

test("a queue that gives one item to two concurrent takers is not linearizable", () => {
  type Taking = "put" | "take";
  const queue: Model<number, Taking, boolean> = {
    initial: 0,
    apply(state, { input, output }) {
      if (input === "put") return state + 1;
      if (output !== state > 0) return null;
      return output ? state - 1 : state;
    },
    keyOf: String,
  };
  const put = { input: "put" as const, output: true, calledAt: 1, answeredAt: 2 };
  const take = (output: boolean, calledAt: number, answeredAt: number) => ({
    ...{ input: "take" as const, output, calledAt, answeredAt },
  });
  const once = [put, take(true, 3, 5), take(false, 4, 6)];
  const twice = [put, take(true, 3, 5), take(true, 4, 6)];
  expect(checkHistory(once, queue).isLinearizable).toBe(true);
  expect(checkHistory(twice, queue).isLinearizable).toBe(false);
});

test("the checker agrees with a search through all orders", () => {
  const seed = seedFromEnvironment();
  console.log(`PERDURE_SEED=${seed}`);
  const step = fc.record({ client: fc.nat(2), isRead: fc.boolean(), value: fc.nat(2) });
  const ends = fc.array(fc.nat(1_000), { minLength: 12, maxLength: 12 });
  const verdicts = { yes: 0, no: 0 };
  fc.assert(
    fc.property(fc.array(step, { maxLength: 6 }), ends, (steps, times) => {
      const history = steps.map(({ isRead, value }, index): Step => {
        const [first = 0, second = 0] = [times[2 * index], times[2 * index + 1]];
        const early = Math.min(first, second) * 100 + 2 * index;
        const late = Math.max(first, second) * 100 + 2 * index + 1;
        return isRead ? read(value, early, late) : write(value, early, late);
      });
      const expected = anyOrder(history);
      verdicts[expected ? "yes" : "no"] += 1;
      expect(isFine(history)).toBe(expected);
    }),
    { seed, numRuns: 1_000 },
  );
  expect(Math.min(verdicts.yes, verdicts.no)).toBeGreaterThan(100);
});

test("ten concurrent calls have 10! orders, but the search visits at most 2^10 states", () => {
  const writes = Array.from({ length: 10 }, (_, index) => write(1, index + 1, 1_000 + index));
  const { isLinearizable, tries } = checkHistory([...writes, read(2, 2_000, 2_001)], register);
  expect(isLinearizable).toBe(false);
  expect(tries).toBeLessThanOrEqual(10 * 2 ** 10);
});

/** Whether any permutation is legal. */
function anyOrder(history: readonly Step[], order: readonly Step[] = []): boolean {
  if (order.length === history.length) return isLegal(order);
  return history.some((step) => !order.includes(step) && anyOrder(history, [...order, step]));
}

function isLegal(order: readonly Step[]): boolean {
  const isLate = (step: Step, index: number): boolean =>
    order.slice(index + 1).some((later) => later.answeredAt < step.calledAt);
  if (order.some(isLate)) return false;
  let value = 0;
  return order.every(({ input, output }) => {
    if (input === "read") return output === value;
    value = input.write;
    return true;
  });
}

// Tests of the checker: histories of a register and a queue with known answers, and a comparison with a search through
// all orders.

import fc from "fast-check";
import { expect, test } from "vitest";
import { seedFromEnvironment } from "../../faults/kill/chance.ts";
import { checkHistory, type Model, type Operation } from "./checker.ts";

type Access = { readonly write: number } | { readonly add: number } | "read";
type Step = Operation<Access, number | null>;
type Verdict = ReturnType<typeof checkHistory>;

const register: Model<number, Access, number | null> = {
  initial: 0,
  apply: (state, { input, output }) => {
    const next = effectOf(state, input);
    return output === null || output === next ? next : null;
  },
  keyOf: String,
};
const effectOf = (state: number, access: Access): number => {
  if (access === "read") return state;
  return "add" in access ? state + access.add : access.write;
};
const isReadStep = ({ input }: Step): boolean => input === "read";

const write = (value: number, calledAt: number, answeredAt: number): Step => ({
  ...{ input: { write: value }, output: null, calledAt, answeredAt },
});
const read = (value: number, calledAt: number, answeredAt: number): Step => ({
  ...{ input: "read" as const, output: value, calledAt, answeredAt },
});
/** A write without an answer. */
const open = (value: number, calledAt: number): Step => write(value, calledAt, Infinity);

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
  const { result, order } = checkHistory(history, register);
  expect(result).toBe("linearizable");
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
  const { result, order } = checkHistory(history, register);
  expect(result).toBe("violated");
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
  expect(checkHistory(once, queue).result).toBe("linearizable");
  expect(checkHistory(twice, queue).result).toBe("violated");
});

test.each<{ what: string; history: readonly Step[]; result: Verdict["result"] }>([
  {
    what: "a write without an answer that a later read sees",
    history: [open(1, 1), read(0, 2, 3), read(1, 4, 5)],
    result: "linearizable",
  },
  {
    what: "a write without an answer that no read sees",
    history: [open(1, 1), write(2, 2, 3), read(2, 4, 5), read(2, 6, 7)],
    result: "linearizable",
  },
  {
    what: "a write without an answer that a read sees before its call",
    history: [read(1, 1, 2), open(1, 3)],
    result: "violated",
  },
  {
    what: "a write without an answer that takes effect twice",
    history: [open(1, 1), read(1, 2, 3), write(2, 4, 5), read(2, 6, 7), read(1, 8, 9)],
    result: "violated",
  },
])("$what: $result", ({ history, result }) => {
  expect(checkHistory(history, register).result).toBe(result);
});

test.each([
  { what: "that knows reads", model: { ...register, isRead: isReadStep } },
  { what: "that does not know reads", model: register },
])("with a model $what, the checker agrees with a search through all orders", ({ model }) => {
  const seed = seedFromEnvironment();
  console.log(`PERDURE_SEED=${seed}`);
  const value = fc.nat(2);
  const access = fc.oneof(
    fc.constant("read" as const),
    fc.record({ write: value }),
    fc.record({ add: fc.integer({ min: 1, max: 2 }) }),
  );
  const step = fc.record({ input: access, value, isAnswered: fc.nat(3).map((n) => n > 0) });
  const ends = fc.array(fc.nat(1_000), { minLength: 12, maxLength: 12 });
  const verdicts = { yes: 0, no: 0 };
  fc.assert(
    fc.property(fc.array(step, { maxLength: 6 }), ends, (steps, times) => {
      const history = steps.map(({ input, value: seen, isAnswered }, index): Step => {
        const [first = 0, second = 0] = [times[2 * index], times[2 * index + 1]];
        const calledAt = Math.min(first, second) * 100 + 2 * index;
        const answeredAt = Math.max(first, second) * 100 + 2 * index + 1;
        const hasOutput = isAnswered && (input === "read" || "add" in input);
        const output = hasOutput ? seen : null;
        return { input, output, calledAt, answeredAt: isAnswered ? answeredAt : Infinity };
      });
      const expected = anyOrder(history);
      verdicts[expected ? "yes" : "no"] += 1;
      expect(checkHistory(history, model).result).toBe(expected ? "linearizable" : "violated");
    }),
    { seed, numRuns: 1_000 },
  );
  expect(Math.min(verdicts.yes, verdicts.no)).toBeGreaterThan(100);
});

test("ten concurrent calls have 10! orders, but the search visits at most 2^10 states", () => {
  const writes = Array.from({ length: 10 }, (_, index) => write(1, index + 1, 1_000 + index));
  const { result, tries } = checkHistory([...writes, read(2, 2_000, 2_001)], register);
  expect(result).toBe("violated");
  expect(tries).toBeLessThanOrEqual(10 * 2 ** 10);
});

test("a search that takes too long gives up", () => {
  const adds = Array.from({ length: 12 }, (_, index): Step => {
    return { input: { add: 2 ** index }, output: null, calledAt: index + 1, answeredAt: Infinity };
  });
  const history = [...adds, read(2 ** 13, 1_000, 1_001)];
  const { result, states } = checkHistory(history, register, { statesMax: 100 });
  expect(result).toBe("undecided");
  expect(states).toBe(101);
  expect(checkHistory(history, register).result).toBe("violated");
});

/** Whether any permutation of the answered calls and some of the others is legal. */
function anyOrder(history: readonly Step[], order: readonly Step[] = []): boolean {
  const rest = history.filter((step) => !order.includes(step));
  if (rest.every(({ answeredAt }) => answeredAt === Infinity) && isLegal(order)) return true;
  return rest.some((step) => anyOrder(history, [...order, step]));
}

function isLegal(order: readonly Step[]): boolean {
  const isLate = (step: Step, index: number): boolean =>
    order.slice(index + 1).some((later) => later.answeredAt < step.calledAt);
  if (order.some(isLate)) return false;
  let value = 0;
  return order.every(({ input, output }) => {
    value = effectOf(value, input);
    return output === null || output === value;
  });
}

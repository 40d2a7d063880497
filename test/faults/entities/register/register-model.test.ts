// The checker decides histories of a register with 40 calls quickly, even if most of the calls have no answer.
//   - A register in memory with four callers makes the histories, so the correct verdict is known.
//   - register-model.1: The value of a register never returns. A set and a cas write a new multiple of 1,000, and the adds
//        of a history are smaller than 1,000 in total.

import { expect, test } from "vitest";
import { checkHistory } from "../../../stores/linearizability/checker.ts";
import { chanceOf } from "../../kill/chance.ts";
import { drawCall } from "./histories.ts";
import { effectOf, formatHistory, registerModel, type Call, type Made } from "./register.ts";

const CALLERS = 4;
const CALLS = 10;
const SEEDS = Array.from({ length: 50 }, (_, index) => index + 1);
/** Calls without an answer per 100 calls. */
const PERCENTAGES = [0, 5, 20, 50, 75] as const;
/** Far below the limit of the checker. */
const STATES_MAX = 100_000;

test.each(PERCENTAGES)(
  "40 calls of a register, %d percent without an answer, are linearizable",
  (percent) => {
    for (const seed of SEEDS) {
      const history = simulate(seed, percent / 100);
      expect(history).toHaveLength(CALLERS * CALLS);
      expectVerdict(history, "linearizable");
    }
  },
);

test.each(PERCENTAGES)(
  "a stale read among 40 calls, %d percent without an answer, is found",
  (percent) => {
    const broken = brokenBy(withStaleRead, percent);
    expect(broken.length).toBeGreaterThan(0);
    for (const history of broken) expectVerdict(history, "violated");
  },
);

test.each(PERCENTAGES)(
  "a lost update among 40 calls, %d percent without an answer, is found",
  (percent) => {
    const broken = brokenBy(withLostUpdate, percent);
    expect(broken.length).toBeGreaterThan(0);
    for (const history of broken) expectVerdict(history, "violated");
  },
);

function brokenBy(
  change: (history: readonly Made[]) => readonly Made[] | null,
  percent: number,
): readonly (readonly Made[])[] {
  return SEEDS.map((seed) => change(simulate(seed, percent / 100))).filter((each) => each !== null);
}

function expectVerdict(history: readonly Made[], expected: string): void {
  const { result } = checkHistory(history, registerModel, { statesMax: STATES_MAX });
  expect(result, formatHistory(history)).toBe(expected);
}

/** A call that has begun. */
interface Running {
  readonly input: Call;
  readonly calledAt: number;
  /** Undefined: it has not taken effect yet. */
  output?: Made["output"];
}

/** The history of a correct register. Some of the calls without an answer take effect later. */
function simulate(seed: number, unanswered: number): readonly Made[] {
  const chance = chanceOf(seed);
  const made: Made[] = [];
  const callers = Array.from({ length: CALLERS }, (): { running?: Running; calls: number } => ({
    calls: 0,
  }));
  const late: Running[] = [];
  let state = 0;
  let last = 0;
  let unique = 0;
  const execute = (running: Running): void => {
    [state, running.output] = effectOf(state, running.input);
  };
  for (let now = 1; made.length < CALLERS * CALLS; now += 1) {
    const delayed = chance.happens(0.2) ? late.shift() : undefined;
    if (delayed !== undefined) execute(delayed);
    const caller = callers[chance.between(0, CALLERS - 1)];
    if (caller === undefined) continue;
    const { running } = caller;
    if (running === undefined) {
      if (caller.calls++ >= CALLS) continue;
      caller.running = { input: drawCall(chance, last, ++unique), calledAt: now };
    } else if (running.output !== undefined) {
      if (typeof running.output === "number") last = running.output;
      made.push({ ...running, output: running.output, answeredAt: now });
      delete caller.running;
    } else if (chance.happens(unanswered)) {
      made.push({ ...running, output: null, answeredAt: Infinity });
      if (chance.happens(0.5)) late.push(running);
      delete caller.running;
    } else {
      execute(running);
    }
  }
  return made;
}

/** The last read returns a value that was replaced before the read began. Null: there is none. */
function withStaleRead(history: readonly Made[]): readonly Made[] | null {
  const read = history.findLast(({ input, output }) => input.kind === "read" && output !== null);
  if (read === undefined) return null;
  const earlier = history.filter(({ answeredAt }) => answeredAt < read.calledAt);
  const stale = earlier.find((one) =>
    earlier.some((other) => {
      const isLater = one.answeredAt < other.calledAt;
      return isLater && isOlder(one.output, other.output);
    }),
  );
  if (stale === undefined) return null;
  return history.map((made) => (made === read ? { ...made, output: stale.output } : made));
}

/** Whether no add leads from the first value to the second one (register-model.1). */
function isOlder(before: Made["output"], after: Made["output"]): boolean {
  if (typeof before !== "number" || typeof after !== "number") return false;
  return Math.floor(before / 1_000) !== Math.floor(after / 1_000);
}

/** Two adds get the same answer, which is impossible (register-model.1). Null: there are fewer than two. */
function withLostUpdate(history: readonly Made[]): readonly Made[] | null {
  const adds = history.filter(({ input, output }) => input.kind === "add" && output !== null);
  const [last, before] = adds.toReversed();
  if (last === undefined || before === undefined) return null;
  return history.map((made) => (made === last ? { ...made, output: before.output } : made));
}

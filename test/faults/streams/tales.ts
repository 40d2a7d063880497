// Tales: instances whose orchestration and activities write to one stream while their processes are killed.
//   - Every value names its part, its number in the part and the run of the activity that wrote it. The result of a part
//       is the run that succeeded.

import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { activity, ActivityError, orchestration } from "../../../src/index.ts";
import { stream } from "../../../src/stream/index.ts";
import type { Chance } from "../kill/chance.ts";

/** What one activity writes. */
export interface Part {
  readonly name: string;
  readonly count: number;
  readonly bytes: number;
  readonly ms: number;
  /** Whether it waits until each value is in the store. */
  readonly flushes: boolean;
  /** The number of attempts that throw after some of the values. */
  readonly fails: number;
  readonly attempts: number;
}
export interface Tale {
  /** The parts of a round are written concurrently; each round is one execution. */
  readonly rounds: readonly (readonly Part[])[];
  readonly told?: readonly Told[];
}
/** `run` is null if the activity failed. */
export interface Told {
  readonly part: string;
  readonly run: string | null;
}
export interface Word {
  readonly part: string;
  readonly run: string;
  readonly n: number;
  readonly filler: string;
}

export const words = stream<Word>("words");
/** The parts that the orchestration writes in each round, before and after the activities. */
export const BEGIN = "begin";
export const END = "end";

const PARTS_MAX = 4;
const ROUNDS_MAX = 2;

const PART: Part = {
  name: "0.0",
  count: 4,
  bytes: 10,
  ms: 5,
  flushes: true,
  fails: 1,
  attempts: 2,
};
/** A part that succeeds in its second attempt, and one that fails. */
export const FIRST_TALE: Tale = {
  rounds: [[PART, { ...PART, name: "0.1", fails: 2 }]],
};

export function taleOf(chance: Chance): Tale {
  const rounds = Array.from({ length: chance.between(1, ROUNDS_MAX) }, (_, round) =>
    Array.from({ length: chance.between(1, PARTS_MAX) }, (__, n): Part => {
      const attempts = chance.between(1, 3);
      return {
        name: `${round}.${n}`,
        count: chance.between(1, 8),
        bytes: chance.pick([0, 0, 10, 1_000, 20_000]),
        ms: chance.between(0, 15),
        flushes: chance.happens(0.5),
        fails: chance.happens(0.6) ? 0 : chance.between(1, attempts),
        attempts,
      };
    }),
  );
  return { rounds };
}

/** `onBegin` is called when an activity begins. */
export function defineTales(onBegin: () => void) {
  const tell = activity("tell", async (part: Part, { attempt, stream: open }): Promise<string> => {
    const { name, count, bytes, ms, flushes, fails, attempts } = part;
    const run = randomUUID();
    onBegin();
    // A killed process counts as an attempt, too: a part that must fail fails in every attempt.
    const isFailing = fails >= attempts || attempt <= fails;
    const out = open(words);
    for (let n = 0; n < (isFailing ? Math.ceil(count / 2) : count); n++) {
      await out.write({ part: name, run, n, filler: "x".repeat(bytes) });
      if (flushes) await out.flush();
      await pause(ms);
    }
    if (isFailing) throw new Error(`scripted: attempt ${attempt}`);
    return run;
  });
  const tale = orchestration(
    "tale",
    async (ctx, { rounds, told = [] }: Tale): Promise<readonly Told[]> => {
      const [parts = [], ...later] = rounds;
      const out = ctx.stream(words);
      const say = (part: string): void => out.write({ part, run: "", n: 0, filler: "" });
      say(`${BEGIN} ${rounds.length}`);
      const one = async (part: Part): Promise<Told> => {
        const retry = {
          maxAttempts: part.attempts,
          backoff: { kind: "fixed", base: 20 },
        } as const;
        try {
          return { part: part.name, run: await ctx.run(tell, part, { retry }) };
        } catch (error) {
          if (error instanceof ActivityError) return { part: part.name, run: null };
          throw error;
        }
      };
      const all = [...told, ...(await ctx.all(parts.map((part) => () => one(part))))];
      say(`${END} ${rounds.length}`);
      return later.length === 0 ? all : ctx.continueAsNew({ rounds: later, told: all });
    },
  );
  return { tale, register: [tale, tell] };
}

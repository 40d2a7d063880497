// Histories of registers: processes call a few registers concurrently while some of the processes are killed.
//   - histories.1: A call whose process was killed is repeated with its request id, or stays without an answer. A repeated
//        call is one operation: it begins with the first attempt and ends with the answer of the last one.
//   - histories.2: Some calls are made by two processes at the same time, with one request id. They are one operation too,
//        and their answers must be equal.
//   - histories.3: An error ends the round: it has no further calls. A timeout is an error too, because the processes that
//        are alive must take over from a killed one long before.

import { chanceOf, type Chance } from "../../kill/chance.ts";
import type { Answered, Caller } from "./caller.ts";
import type { Call, Made } from "./register.ts";

export const REGISTERS = 5;
const CALLS = 8;
const KILLS = 2;
/** The kills happen after so many answers. */
const KILLED_AFTER_MAX = 100;
const REPEATED = 0.7;
const DOUBLED = 0.15;

export interface Round {
  /** One history per register. */
  readonly histories: readonly (readonly Made[])[];
  /** histories.3 */
  readonly errors: readonly string[];
  readonly repeated: number;
  readonly doubled: number;
  readonly unknown: number;
}

/** Makes the calls of one round. The registers of a round are new. */
export async function makeRound(callers: readonly Caller[], seed: number): Promise<Round> {
  const chance = chanceOf(seed);
  const counts = { repeated: 0, doubled: 0, unknown: 0 };
  const errors: string[] = [];
  let answers = 0;
  const kills = Array.from({ length: KILLS }, () => ({
    after: chance.between(1, KILLED_AFTER_MAX),
    caller: chance.pick([callers[0] as Caller, ...callers.slice(1)]),
  }));
  const killing: Promise<void>[] = [];
  const answered = (): void => {
    answers += 1;
    for (const { after, caller } of kills) if (after === answers) killing.push(caller.kill());
  };

  const history = async (number: number): Promise<readonly Made[]> => {
    const key = `${seed}-${number}`;
    const made: Made[] = [];
    let last = 0;
    let unique = 0;
    const lane = async (caller: number, own: Chance): Promise<void> => {
      for (let n = 0; n <= CALLS && errors.length === 0; n += 1) {
        const call = n === CALLS ? ({ kind: "get" } as const) : drawCall(own, last, ++unique);
        const requestId = `${key}-${caller}-${n}`;
        const isDoubled = call.kind !== "read" && own.happens(DOUBLED);
        const places = isDoubled ? [caller, caller + 1] : [caller];
        const attempts = places.map((place) =>
          make(callers[place % callers.length] as Caller, { key, call, requestId }, own),
        );
        const operation = merge(await Promise.all(attempts), call, errors);
        if (isDoubled) counts.doubled += 1;
        if (operation.output === null) counts.unknown += 1;
        made.push(operation);
        if (typeof operation.output === "number") last = operation.output;
      }
    };
    await Promise.all(
      callers.map((_, caller) => lane(caller, chanceOf(seed * 1_000 + number * 10 + caller))),
    );
    return made;
  };

  /** histories.1 */
  const make = async (
    caller: Caller,
    message: Parameters<Caller["call"]>[0],
    own: Chance,
  ): Promise<Attempt> => {
    const calledAt = Number(process.hrtime.bigint());
    let found = await caller.call(message);
    let isRepeated = false;
    while (found === null && own.happens(REPEATED)) {
      counts.repeated += 1;
      isRepeated = true;
      found = await caller.call(message);
    }
    if (found?.error !== undefined) errors.push(found.error);
    answered();
    return { calledAt: isRepeated ? calledAt : (found?.calledAt ?? calledAt), found };
  };

  const histories = await Promise.all(Array.from({ length: REGISTERS }, (_, n) => history(n)));
  await Promise.all(killing);
  return { histories, errors, ...counts };
}

interface Attempt {
  readonly calledAt: number;
  readonly found: Answered | null;
}

/** histories.2 */
function merge(attempts: readonly Attempt[], input: Call, errors: string[]): Made {
  const calledAt = Math.min(...attempts.map((each) => each.calledAt));
  const answers = attempts.flatMap(({ found }) =>
    found === null || found.reply === null ? [] : [found],
  );
  const [first] = answers.toSorted((a, b) => a.answeredAt - b.answeredAt);
  if (first === undefined) return { input, output: null, calledAt, answeredAt: Infinity };
  const replies = new Set(answers.map(({ reply }) => reply));
  if (replies.size > 1) {
    const text = [...replies].join(" and ");
    errors.push(`One request id got two answers to ${JSON.stringify(input)}: ${text}.`);
  }
  return { input, output: first.reply, calledAt, answeredAt: first.answeredAt };
}

export function drawCall(chance: Chance, last: number, unique: number): Call {
  const value = unique * 1_000 + chance.between(0, 9);
  const kind = chance.pick(["get", "set", "add", "add", "cas", "read", "read"] as const);
  if (kind === "add") return { kind, value: chance.between(1, 9) };
  if (kind === "set") return { kind, value };
  return kind === "cas" ? { kind, from: last, value } : { kind };
}

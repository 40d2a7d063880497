// The instance of W2 and its variants: five sequential activities.

import { strict as assert } from "node:assert";
import {
  activity,
  orchestration,
  type OpenOptions,
  type Orchestration,
  type Perdure,
} from "../../src/index.ts";
import { cpuOf, timeMs, withLoopDelay } from "../measure.ts";
import { AT_ONCE, ROUNDS, STEPS, WARM_UP_ROUNDS } from "../sizes.ts";
import { withServerCost } from "../server-cost.ts";
import { median } from "../statistics.ts";
import type { Reading, Setting } from "../subject.ts";
import { assertUntroubled, withPerdure } from "./open.ts";

export const increment = activity("increment", (value: number) => value + 1);

export const five = orchestration("five", async (ctx, value: number) => {
  for (let i = 0; i < STEPS; i++) value = await ctx.run(increment, value);
  return value;
});

/** The same, each step with timeouts and retries. */
export const guardedFive = orchestration("guarded-five", async (ctx, value: number) => {
  const options = { retry: { maxAttempts: 5 }, timeout: "30s", scheduleToClose: "5m" } as const;
  for (let i = 0; i < STEPS; i++) value = await ctx.run(increment, value, options);
  return value;
});

const TAGS = Array.from({ length: 10 }, (_, index) => `tag-${index}`);
/** A worker that registers all of them. */
export const routedRuntime = { tags: { tags: TAGS, untagged: true } } as const;

/** The same, spread over ten tags and five priorities. */
export const routedFive = orchestration("routed-five", async (ctx, value: number) => {
  const tags = TAGS.slice(value % TAGS.length).slice(0, 1);
  const options = { tags, priority: (value % 5) + 1 };
  for (let i = 0; i < STEPS; i++) value = await ctx.run(increment, value, options);
  return value;
});

/** The same, on one of a hundred sessions. */
export const sessionFive = orchestration("session-five", async (ctx, value: number) => {
  const session = `session-${value % 100}`;
  for (let i = 0; i < STEPS; i++) value = await ctx.run(increment, value, { session });
  return value;
});

/** Starts that many at once and waits for their results. */
export async function startAtOnce(
  perdure: Perdure,
  subject: Orchestration<number, number>,
  count: number,
): Promise<void> {
  const inputs = Array.from({ length: count }, (_, i) => i);
  const handles = await Promise.all(inputs.map((i) => perdure.client.start(subject, i)));
  const results = await Promise.all(handles.map((handle) => handle.result()));
  for (const [i, result] of results.entries()) assert.equal(result, i + STEPS);
}

export interface Rounds {
  readonly stepsPerS: number;
  readonly cpuUsPerStep: number;
  readonly loopP99Ms: number;
  /** On PostgreSQL. */
  readonly serverCost: readonly Reading[];
  /** The number of instances so far, warm-up included. */
  readonly instances: number;
}

/** The median of some rounds, after the warm-up. */
export async function rounds(
  setting: Setting,
  perdure: Perdure,
  subject: Orchestration<number, number>,
): Promise<Rounds> {
  const roundMs = (): Promise<number> => timeMs(() => startAtOnce(perdure, subject, AT_ONCE));
  for (let i = 0; i < WARM_UP_ROUNDS; i++) await roundMs();
  const each: number[] = [];
  const work = async (): Promise<void> => {
    for (let i = 0; i < ROUNDS; i++) each.push(((AT_ONCE * STEPS) / (await roundMs())) * 1_000);
  };
  let cpuUs = 0;
  let loopP99Ms = 0;
  const steps = ROUNDS * AT_ONCE * STEPS;
  const serverCost = await withServerCost(setting, steps, AT_ONCE, async () => {
    ({ value: cpuUs, loopP99Ms } = await withLoopDelay(() => cpuOf(work)));
  });
  return {
    serverCost,
    stepsPerS: median(each),
    cpuUsPerStep: cpuUs / steps,
    loopP99Ms,
    instances: (WARM_UP_ROUNDS + ROUNDS) * AT_ONCE,
  };
}

export async function measureRounds(
  setting: Setting,
  subject: Orchestration<number, number>,
): Promise<readonly Reading[]> {
  return withPerdure(setting, { register: [subject, increment] }, async (perdure) => {
    const measured = await rounds(setting, perdure, subject);
    const { stepsPerS, cpuUsPerStep, loopP99Ms, serverCost, instances } = measured;
    await assertUntroubled(perdure, instances);
    assert.equal(perdure.runtime.stats().activities.completed, instances * STEPS);
    return [
      { metric: "stepsPerS", value: stepsPerS, n: AT_ONCE },
      { metric: "cpuUsPerStep", value: cpuUsPerStep, n: AT_ONCE },
      { metric: "loopP99Ms", value: loopP99Ms, n: AT_ONCE },
      ...serverCost,
    ];
  });
}

/** A variant of W2, as a share of W2 in the same process. */
export async function measureShare(
  setting: Setting,
  subject: Orchestration<number, number>,
  runtime: OpenOptions["runtime"] = {},
): Promise<readonly Reading[]> {
  const options = { register: [five, subject, increment], runtime };
  return withPerdure(setting, options, async (perdure) => {
    const plain = await rounds(setting, perdure, five);
    const variant = await rounds(setting, perdure, subject);
    await assertUntroubled(perdure, plain.instances + variant.instances);
    const { stepsPerS, cpuUsPerStep, loopP99Ms, serverCost } = variant;
    return [
      { metric: "stepsPerS", value: stepsPerS, n: AT_ONCE },
      { metric: "ofW2Percent", value: (100 * stepsPerS) / plain.stepsPerS, n: AT_ONCE },
      { metric: "cpuUsPerStep", value: cpuUsPerStep, n: AT_ONCE },
      { metric: "loopP99Ms", value: loopP99Ms, n: AT_ONCE },
      ...serverCost,
    ];
  });
}

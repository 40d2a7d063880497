// W7: an evicted instance with n events gets one more and completes: from raising the event to the result.
//   One runtime writes the instances, and the next one, with an empty cache, wakes them. A figure is the median of the
//   instances of its length; R² is that of the line through these figures. The busy figure is the same while 500
//   instances of W2 are in flight all the time.

import { strict as assert } from "node:assert";
import { setTimeout as pause } from "node:timers/promises";
import { event, orchestration, type Perdure } from "../../src/index.ts";
import { forEachOf, timeMs, until, withLoopDelay } from "../measure.ts";
import { AT_ONCE, historiesEach, historyLengths, STEPS } from "../sizes.ts";
import { fitLine, median } from "../statistics.ts";
import type { Reading, Run } from "../subject.ts";
import { five, increment } from "../support/five-steps.ts";
import { withPerdure } from "../support/open.ts";

const WARM_UPS = 5;
const WARM_UP_EVENTS = 2_000;
/** OrchestrationStarted, and the subscription to the event. */
const OTHER_EVENTS = 2;

const go = event<number>("go");
const long = orchestration("long", async (ctx, steps: number) => {
  let value = 0;
  for (let i = 0; i < steps; i++) value = await ctx.run(increment, value);
  return value + (await ctx.waitFor(go));
});

interface Sample {
  readonly id: string;
  readonly events: number;
}

export const run: Run = async (setting) => {
  const each = historiesEach(setting);
  const warmUps = samples("warm-up", WARM_UP_EVENTS, WARM_UPS);
  const lengths = historyLengths(setting);
  const longest = Math.max(...lengths);
  const quiet = lengths.flatMap((events) => samples("quiet", events, each));
  const busy = samples("busy", longest, each);
  const register = [long, five, increment];
  await withPerdure(setting, { register }, (perdure) =>
    write(perdure, [...warmUps, ...quiet, ...busy]),
  );
  return withPerdure(setting, { register }, async (perdure) => {
    for (const sample of warmUps) await wake(perdure, sample);
    const points: [events: number, ms: number][] = [];
    for (const sample of quiet) points.push([sample.events, await wake(perdure, sample)]);
    const { value: busyMs, loopP99Ms } = await withLoopDelay(() =>
      alongsideW2(perdure, async () => {
        const times: number[] = [];
        for (const sample of busy) {
          await pause(100);
          times.push(await wake(perdure, sample));
        }
        return median(times);
      }),
    );
    assert.equal(perdure.runtime.stats().refusedTurns, 0, "no turn was refused");
    const readings = lengths.map((n): Reading => {
      const times = points.filter(([events]) => events === n).map(([, ms]) => ms);
      return { metric: "replayMs", value: median(times), n };
    });
    return [
      ...readings,
      {
        metric: "r2",
        value: fitLine(readings.map(({ n, value }) => [n, value])).r2,
        n: longest,
      },
      { metric: "replayBusyMs", value: busyMs, n: longest },
      { metric: "loopP99Ms", value: loopP99Ms, n: longest },
    ];
  });
};

function samples(kind: string, events: number, count: number): Sample[] {
  return Array.from({ length: count }, (_, i) => ({ id: `${kind}-${events}-${i}`, events }));
}

/** Runs all instances up to the wait for their event. */
async function write(perdure: Perdure, all: readonly Sample[]): Promise<void> {
  const started = all.map(({ id, events }) => perdure.client.start(long, stepsOf(events), { id }));
  for (const handle of await Promise.all(started)) {
    const waits = async (): Promise<boolean> =>
      (await handle.describe()).waitingFor.some(({ kind }) => kind === "event");
    await until("the instance waits for its event", waits, { everyMs: 50 });
  }
}

async function wake(perdure: Perdure, { id, events }: Sample): Promise<number> {
  const handle = perdure.client.get(long, id);
  assert.equal((await handle.history()).length, events);
  const { replays } = perdure.runtime.stats();
  const ms = await timeMs(async () => {
    await handle.raise(go, 7);
    assert.equal(await handle.result(), stepsOf(events) + 7);
  });
  assert.equal(
    perdure.runtime.stats().replays,
    replays + 1,
    "the instance was replayed exactly once",
  );
  return ms;
}

async function alongsideW2<T>(perdure: Perdure, work: () => Promise<T>): Promise<T> {
  let over = false;
  const flow = forEachOf(AT_ONCE, AT_ONCE, async (i) => {
    while (!over) {
      const handle = await perdure.client.start(five, i);
      assert.equal(await handle.result(), i + STEPS);
    }
  });
  await pause(1_000);
  const value = await work().finally(() => (over = true));
  await flow;
  return value;
}

function stepsOf(events: number): number {
  return (events - OTHER_EVENTS) / 2;
}

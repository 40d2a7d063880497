// W6: many instances in a long sleep and their cost, and 10,000 more instances that are due at one moment.
//   Memory: the growth of the process from an opened, warm runtime to one with all sleepers asleep, after garbage
//   collection. The heap is reported too: it separates what sleepers hold from pages that V8 keeps.
//   Queries: calls that reach the store while nothing happens, plus the heartbeats of the liveness thread.
//   Due: from that moment until the last of the 10,000 is done, counted in the runtime that runs them.

import { strict as assert } from "node:assert";
import { setTimeout as pause } from "node:timers/promises";
import { orchestration, type Handle, type Perdure } from "../../src/index.ts";
import { forEachOf, settledMemory, timeMs, until, withLoopDelay } from "../measure.ts";
import { DUE_TOGETHER, sleepers } from "../sizes.ts";
import type { Run } from "../subject.ts";
import { CallCount } from "../support/counting-provider.ts";
import { withPerdure } from "../support/open.ts";

const WARM_UP = 2_000;
const STARTS_AT_ONCE = 500;
const LOOKED_AT = 100;
const IDLE_MS = 5_000;
const IDLE_MS_QUICK = 3_000;
/** How much longer the starts of the 10,000 may take than the starts before them. */
const MARGIN = 2;
const MARGIN_MS = 1_000;

const sleeper = orchestration("sleeper", async (ctx, _: undefined) => ctx.sleep("30d"));
/** Returns the time at which it woke. */
const napper = orchestration("napper", async (ctx, until: Date) => {
  await ctx.sleep(until);
  return ctx.now().getTime();
});

export const run: Run = (setting) => {
  const n = sleepers(setting);
  const count = new CallCount();
  const register = [sleeper, napper];
  const work = async (perdure: Perdure) => {
    await fallAsleep(perdure, WARM_UP);
    const before = await settledMemory();
    const startMs = await timeMs(() => fallAsleep(perdure, n));
    const after = await settledMemory();
    const queriesPerS = await idleQueries(count, setting.quick ? IDLE_MS_QUICK : IDLE_MS);
    const inMs = ((startMs * DUE_TOGETHER) / n) * MARGIN + MARGIN_MS;
    const { value: dueMs, loopP99Ms } = await withLoopDelay(() => wakeTogether(perdure, inMs));
    assert.equal(perdure.runtime.stats().orchestrationsStarted, WARM_UP + n + DUE_TOGETHER);
    return [
      { metric: "rssMb", value: after.rssMb - before.rssMb, n },
      { metric: "heapMb", value: after.heapMb - before.heapMb, n },
      { metric: "rssTotalMb", value: after.rssMb, n },
      { metric: "queriesPerS", value: queriesPerS, n },
      { metric: "startsPerS", value: (n / startMs) * 1_000, n },
      { metric: "dueMs", value: dueMs, n: DUE_TOGETHER },
      { metric: "loopP99Ms", value: loopP99Ms, n: DUE_TOGETHER },
    ] as const;
  };
  return withPerdure(setting, { register }, work, (provider) => count.around(provider));
};

/** Starts that many sleepers and waits until each has committed its first turn. */
async function fallAsleep(perdure: Perdure, n: number): Promise<void> {
  const { orchestrationsStarted } = perdure.runtime.stats();
  const some: Handle[] = [];
  await forEachOf(n, STARTS_AT_ONCE, async (i) => {
    const handle = await perdure.client.start(sleeper);
    if (i % (n / LOOKED_AT) === 0) some.push(handle);
  });
  const asleep = (): boolean =>
    perdure.runtime.stats().orchestrationsStarted === orchestrationsStarted + n;
  await until("all sleepers are asleep", asleep);
  for (const handle of some) {
    const { status, waitingFor } = await handle.describe();
    assert.deepEqual([status, waitingFor.map(({ kind }) => kind)], ["running", ["timer"]]);
  }
}

async function idleQueries(count: CallCount, idleMs: number): Promise<number> {
  const before = count.calls;
  await pause(idleMs);
  return ((count.calls - before) / idleMs) * 1_000 + count.beatsPerS;
}

async function wakeTogether(perdure: Perdure, inMs: number): Promise<number> {
  const due = new Date(Date.now() + Math.round(inMs));
  const handles: Handle<number>[] = [];
  await forEachOf(DUE_TOGETHER, STARTS_AT_ONCE, async () => {
    handles.push(await perdure.client.start(napper, due));
  });
  assert(Date.now() < due.getTime(), "all instances were started before they were due");
  assert.equal(perdure.runtime.stats().orchestrationsCompleted, 0, "none was woken early");
  const allDone = (): boolean => perdure.runtime.stats().orchestrationsCompleted === DUE_TOGETHER;
  await until("all that were due are done", allDone);
  const dueMs = Date.now() - due.getTime();
  for (const handle of handles) assert((await handle.result()) >= due.getTime(), "none was early");
  return dueMs;
}

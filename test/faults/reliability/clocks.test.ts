// Wall clocks that are set while a runtime waits, and waits longer than the longest host timer (P5).

import { expect, test } from "vitest";
import { activity, orchestration, type RuntimeOptions } from "../../../src/index.ts";
import { onlyOn } from "../../support/test-store.ts";
import {
  collectLogs,
  signal,
  startRuntime,
  virtualStore,
  virtualWorld,
} from "../trouble/support.ts";
import { wrapProvider } from "../trouble/wrapped-provider.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const HOST_TIMER_MAX_MS = 2 ** 31 - 1;
/** Polls and heartbeats are rare, so that a simulated year is fast; no timer may depend on them. */
const SELDOM: RuntimeOptions = {
  pollIntervalMs: 10 * DAY_MS,
  beatMs: 10 * DAY_MS,
  staleMs: 100 * DAY_MS,
  stallMs: 100 * DAY_MS,
};

const sleeps = orchestration("sleeps", async (ctx, ms: number) => {
  const begun = ctx.now().getTime();
  await ctx.sleep(ms);
  return ctx.now().getTime() - begun;
});

test.each([
  0,
  1,
  HOST_TIMER_MAX_MS - 1,
  HOST_TIMER_MAX_MS,
  HOST_TIMER_MAX_MS + 1,
  30 * DAY_MS,
  400 * DAY_MS,
])("a timer of %d ms fires once, not early and at most a second late", async (ms) => {
  const { client, environment } = await virtualWorld([sleeps], SELDOM);
  const handle = await client.start(sleeps, ms, { id: "a" });
  await environment.settle();
  if (ms > 1) {
    await environment.advance(ms - 1);
    expect((await handle.describe()).status).toBe("running");
  }
  await environment.advance(1_001);
  const slept = Number(await handle.result());
  expect(slept).toBeGreaterThanOrEqual(ms);
  expect(slept).toBeLessThanOrEqual(ms + 1_000);
  const fired = (await handle.history()).filter(({ kind }) => kind === "TimerFired");
  expect(fired).toHaveLength(1);
});

test.each([60_000, HOUR_MS, 400 * DAY_MS])(
  "a wall clock set forward by %d ms fires the timers that became due within two seconds, and no others",
  async (jump) => {
    const { client, environment } = await virtualWorld([sleeps]);
    const due = await client.start(sleeps, jump, { id: "due" });
    const later = await client.start(sleeps, jump + HOUR_MS, { id: "later" });
    await environment.advance(1_000);
    environment.jumpWallClock(jump);
    await environment.advance(2_000);
    expect(Number(await due.result())).toBeGreaterThanOrEqual(jump);
    expect((await later.describe()).status).toBe("running");
    await environment.advance(HOUR_MS);
    expect(Number(await later.result())).toBeGreaterThanOrEqual(jump + HOUR_MS);
  },
);

test.each([5_000, 60_000, HOUR_MS, -5_000, -60_000, -HOUR_MS])(
  "a wall clock set by %d ms causes no takeover from a live worker: the activity in flight ends as its first attempt",
  async (jump) => {
    const entered = signal();
    const finish = signal<string>();
    const attempts: number[] = [];
    const slow = activity("slow", async (_: undefined, { attempt }) => {
      attempts.push(attempt);
      entered.reach();
      return finish.reached;
    });
    const work = orchestration("work", async (ctx) => ctx.run(slow));
    const { client, environment, provider, runtime } = await virtualWorld([work, slow]);
    const other = await startRuntime(wrapProvider(provider, {}), [work, slow]);
    await environment.advance(10_000); // both have sent heartbeats for longer than the stale time
    const handle = await client.start(work, undefined, { id: "a" });
    await entered.reached;
    environment.jumpWallClock(jump);
    await environment.advance(30_000);
    finish.reach("done");
    await environment.advance(1_000);
    expect(await handle.result()).toBe("done");
    expect(attempts).toEqual([1]);
    expect([runtime.stats().refusedTurns, other.stats().refusedTurns]).toEqual([0, 0]);
  },
);

onlyOn("sqlite", "PostgreSQL uses the server's clock, which these tests cannot set", () => {
  test.each([60_000, HOUR_MS, 400 * DAY_MS])(
    "a wall clock set back by %d ms does not delay waiting work, and is logged",
    async (jump) => {
      const echo = activity("echo", async (text: string) => text);
      const work = orchestration("work", async (ctx) =>
        ctx.run(echo, String(await ctx.waitFor("go"))),
      );
      const { client, environment, provider } = await virtualStore();
      const handle = await client.start(work, undefined, { id: "a" });
      await handle.raise("go", "done");
      environment.jumpWallClock(-jump);
      const logs = collectLogs();
      await startRuntime(provider, [work, echo], { log: logs.sink });
      await environment.advance(2_000);
      expect(await handle.result()).toBe("done");
      expect(logs.about("the store's clock was set back")).toMatchObject([{ level: "warn" }]);
    },
  );
});

// Callers of limiters that leave: cancelled at any point, ended without a message, or waiting in large numbers.

import { expect, onTestFinished, test } from "vitest";
import { limiter } from "../../../src/limiter/index.ts";
import { orchestration, type OrchestrationContext } from "../../../src/index.ts";
import { TestEnvironment } from "../../../src/testing/index.ts";

const one = limiter("one", { concurrency: 1 });
const hold = orchestration("hold", (ctx, ms: number) => one.run(ctx, () => ctx.sleep(ms)));

async function kitWith(register: Parameters<typeof TestEnvironment.create>[0]["register"]) {
  const kit = await TestEnvironment.create({ register });
  onTestFinished(() => kit.close());
  return kit;
}

/** Waits for a slot for that long, and lives on. */
async function waitAWhile(ctx: OrchestrationContext, ms: number): Promise<void> {
  const passed = one.run(ctx, () => ctx.sleep("1h"));
  if (ms === 0) passed.cancel("at once");
  else await ctx.race([passed, ctx.sleep(ms)]);
  await ctx.sleep("1d");
}
const giveUp = orchestration("give up", waitAWhile);
/** The same after an earlier passage: the limiter is known to serve requests, so there is no timer. */
const giveUpLater = orchestration("give up later", async (ctx, ms: number) => {
  await one.run(ctx, () => ms);
  await ctx.waitFor("again");
  await waitAWhile(ctx, ms);
});

test.each([0, 1, 998, 999, 1_000, 1_001, 1_002, 1_100])(
  "a caller that gives up after %i ms, around its admission, keeps no slot",
  async (ms) => {
    const kit = await kitWith([one, hold, giveUp]);
    await kit.client.start(hold, 1_000);
    await kit.settle();
    await kit.client.start(giveUp, ms);
    await kit.advance("2s");
    expect((await kit.client.get("one").describe()).customStatus).toMatchObject({ inUse: 0 });
    const next = await kit.client.start(hold, 1);
    await kit.advance("1s");
    expect((await next.describe()).status).toBe("completed");
  },
);

test.each([0, 1, 999, 1_000, 1_001, 1_100])(
  "a caller that has passed before and gives up after %i ms keeps no slot",
  async (ms) => {
    const kit = await kitWith([one, hold, giveUpLater]);
    const caller = await kit.client.start(giveUpLater, ms);
    await kit.settle();
    await kit.client.start(hold, 1_000);
    await kit.settle();
    await caller.raise("again");
    await kit.advance("2s");
    expect((await kit.client.get("one").describe()).customStatus).toMatchObject({ inUse: 0 });
    const next = await kit.client.start(hold, 1);
    await kit.advance("1s");
    expect((await next.describe()).status).toBe("completed");
  },
);

test("a caller that gives up while the limiter is paused keeps no slot and no place in the queue", async () => {
  const kit = await kitWith([one, hold, giveUp]);
  await kit.client.start(hold, 1);
  await kit.advance("1s");
  await kit.client.get("one").pause("the service is down");
  await kit.client.start(giveUp, 5_000);
  await kit.client.start(hold, 1, { id: "next" });
  await kit.advance("10s");
  await kit.client.get("one").resume();
  await kit.advance("1s");
  expect((await kit.client.get("next").describe()).status).toBe("completed");
  expect((await kit.client.get("one").describe()).customStatus).toMatchObject({ inUse: 0 });
});

test("fifty callers that were terminated in the queue delay the others by one check", async () => {
  const kit = await kitWith([one, hold]);
  await kit.client.start(hold, 60_000, { id: "first" });
  await kit.settle();
  for (let n = 0; n < 50; n++) await kit.client.start(hold, 60_000, { id: `dead ${n}` });
  await kit.settle();
  const last = await kit.client.start(hold, 1, { id: "last" });
  await kit.settle();
  for (let n = 0; n < 50; n++) await kit.client.get(`dead ${n}`).terminate("gone");
  await kit.client.get("first").terminate("gone");
  await kit.advance("35s");
  expect((await last.describe()).status).toBe("completed");
});

test("the passage of a free limiter costs a request, and an event if the caller held a slot", async () => {
  const slow = limiter("slow", { rate: { count: 10, per: "1m" } });
  const pass = orchestration("pass", async (ctx) => slow.run(ctx, () => one.run(ctx, () => "in")));
  const kit = await kitWith([one, slow, pass]);
  const handle = await kit.client.start(pass, undefined, { id: "p" });
  await kit.settle();
  expect(await handle.result()).toBe("in");
  const kinds = (await handle.history()).map(({ kind }) => kind);
  expect(kinds.filter((kind) => kind.startsWith("Activity"))).toEqual([]);
  expect(kinds.filter((kind) => kind === "AskSent")).toHaveLength(2);
  expect(kinds.filter((kind) => kind === "EventRaised")).toHaveLength(1);
});

test("later passages of an execution set no timer, and no delivery of a leave is reported", async () => {
  const pass = orchestration("pass", async (ctx, times: number) => {
    for (let n = 0; n < times; n++) await one.run(ctx, () => n);
  });
  const kit = await kitWith([one, pass]);
  const handle = await kit.client.start(pass, 4);
  await kit.settle();
  expect((await handle.describe()).status).toBe("completed");
  const kinds = (await handle.history()).map(({ kind }) => kind);
  const countOf = (kind: string) => kinds.filter((each) => each === kind).length;
  expect(countOf("EventRaised")).toBe(4);
  expect(countOf("SendCompleted")).toBe(0);
  expect(countOf("TimerCreated")).toBe(1);
});

test("a request restarts a limiter that has ended, without an activity", async () => {
  const kit = await kitWith([one, hold]);
  await kit.client.start(hold, 1);
  await kit.advance("2m");
  expect((await kit.client.get("one").describe()).status).toBe("completed");
  const next = await kit.client.start(hold, 1);
  await kit.advance("1s");
  expect((await next.describe()).status).toBe("completed");
  const kinds = (await next.history()).map(({ kind }) => kind);
  expect(kinds.filter((kind) => kind.startsWith("Activity"))).toEqual([]);
  expect((await kit.client.get("one").describe()).execution).toBe(2);
});

test("2,000 callers that wait are copied to few executions, and count as left when they are cancelled", async () => {
  const many = orchestration("many", (ctx, count: number) =>
    ctx.all(Array.from({ length: count }, () => one.run(ctx, () => ctx.sleep("1d")))),
  );
  const kit = await kitWith([one, hold, many]);
  await kit.client.start(hold, 60_000);
  await kit.settle();
  for (let n = 0; n < 20; n++) await kit.client.start(many, 100, { id: `many ${n}` });
  await kit.settle();
  const last = await kit.client.start(hold, 1);
  await kit.settle();
  const it = kit.client.get("one");
  expect((await it.describe()).execution).toBe(1);
  expect((await it.stats()).events).toBeLessThan(2_100); // one event per request
  for (let n = 0; n < 20; n++) await kit.client.get(`many ${n}`).cancel("enough");
  await kit.advance("62s");
  expect((await last.describe()).status).toBe("completed");
  expect(await kit.client.count({ name: "many", status: "cancelled" })).toBe(20);
  const { execution, customStatus } = await it.describe();
  expect(customStatus).toMatchObject({ inUse: 0 });
  expect(execution).toBeLessThan(10);
});

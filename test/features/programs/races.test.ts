// Joins and races of every kind of task, and values that pass through them unchanged.

import { expect, test } from "vitest";
import { activity, event, orchestration, type ActivityContext } from "../../../src/index.ts";
import { isWaitingFor, open, state } from "./support.ts";

const echo = activity("echo", async (value: unknown) => value);
const data = event<unknown>("data");

test("a join accepts an activity and a timer", async () => {
  const main = orchestration("main", (ctx) => ctx.all([ctx.run(echo, "x"), ctx.sleep(10)]));
  const { client } = await open([main, echo]);
  expect(await (await client.start(main)).result()).toEqual(["x", undefined]);
});

test("a join accepts an activity and an event", async () => {
  const main = orchestration("main", (ctx) => ctx.all([ctx.run(echo, "x"), ctx.waitFor(data)]));
  const { client } = await open([main, echo]);
  const handle = await client.start(main);
  await state(handle, ({ waitingFor }) => waitingFor.length === 1);
  await handle.raise(data, { ready: true });
  expect(await handle.result()).toEqual(["x", { ready: true }]);
});

test("a join of several timers lasts as long as the longest timer", async () => {
  const main = orchestration("main", async (ctx) => {
    const before = ctx.now().getTime();
    await ctx.all([ctx.sleep(5), ctx.sleep(40), ctx.sleep(20)]);
    return ctx.now().getTime() - before;
  });
  const { client } = await open([main]);
  expect(await (await client.start(main)).result()).toBeGreaterThanOrEqual(40);
});

test("a join of an activity and a message does not encode the message twice", async () => {
  const main = orchestration("main", (ctx) => ctx.all([ctx.run(echo, 1), ctx.waitFor(data)]));
  const { client } = await open([main, echo]);
  const handle = await client.start(main);
  const message = { text: '{"looks":"like JSON"}', n: 1 };
  await handle.raise(data, message);
  expect(await handle.result()).toEqual([1, message]);
});

test("an activity can win a race against a timer", async () => {
  const main = orchestration("main", (ctx) =>
    ctx.race({ work: ctx.run(echo, "x"), late: ctx.sleep("1h") }),
  );
  const { client } = await open([main, echo]);
  expect(await (await client.start(main)).result()).toEqual({ key: "work", value: "x" });
});

test("when a timer wins against an activity, the activity is aborted", async () => {
  const stopped = Promise.withResolvers<unknown>();
  const long = activity("long", async (_: undefined, { signal }: ActivityContext) => {
    const { promise, reject } = Promise.withResolvers<never>();
    signal.addEventListener("abort", () => {
      stopped.resolve(signal.reason);
      reject(signal.reason as Error);
    });
    return promise;
  });
  const main = orchestration("main", async (ctx) => {
    const first = await ctx.race({ late: ctx.sleep(20), work: ctx.run(long) });
    await ctx.waitFor("leave"); // so that the race cancels the activity, not the end of the instance
    return first.key;
  });
  const { client } = await open([main, long]);
  const handle = await client.start(main);
  expect(await stopped.promise).toMatchObject({ name: "CancelledError" });
  await handle.raise("leave");
  expect(await handle.result()).toBe("late");
});

test("an event can win a race against a timer", async () => {
  const main = orchestration("main", (ctx) =>
    ctx.race({ event: ctx.waitFor(data), late: ctx.sleep("1h") }),
  );
  const { client } = await open([main]);
  const handle = await client.start(main);
  await state(handle, isWaitingFor("event"));
  await handle.raise(data, [1, 2]);
  expect(await handle.result()).toEqual({ key: "event", value: [1, 2] });
});

test("a message that wins against a timer is not encoded twice", async () => {
  const main = orchestration("main", (ctx) => ctx.race([ctx.sleep("1h"), ctx.waitFor(data)]));
  const { client } = await open([main]);
  const handle = await client.start(main);
  await handle.raise(data, "123");
  expect(await handle.result()).toEqual({ index: 1, value: "123" });
});

test("the shorter of two timers wins", async () => {
  const main = orchestration("main", (ctx) =>
    ctx.race({ short: ctx.sleep(5), long: ctx.sleep("1h") }),
  );
  const { client } = await open([main]);
  expect(await (await client.start(main)).result()).toEqual({ key: "short", value: undefined });
});

const VALUES: readonly unknown[] = [
  "text",
  "123",
  '{"a":1}',
  "",
  0,
  -1.5,
  true,
  false,
  null,
  undefined,
  [],
  [1, [2, [3]]],
  { nested: { deep: [null] } },
  new Date(5),
  10n ** 20n,
  new Map([["a", new Set([1])]]),
  new Uint8Array([1, 2, 3]),
];

test("values of every type pass through a join unchanged", async () => {
  const main = orchestration("main", (ctx, values: readonly unknown[]) =>
    ctx.all(values.map((value) => ctx.run(echo, value))),
  );
  const { client } = await open([main, echo]);
  expect(await (await client.start(main, VALUES)).result()).toEqual(VALUES);
});

test("values of every type pass through a race unchanged", async () => {
  const main = orchestration("main", async (ctx, values: readonly unknown[]) => {
    const won: unknown[] = [];
    for (const value of values) {
      won.push((await ctx.race([ctx.run(echo, value), ctx.sleep("1h")])).value);
    }
    return won;
  });
  const { client } = await open([main, echo]);
  expect(await (await client.start(main, VALUES)).result()).toEqual(VALUES);
});

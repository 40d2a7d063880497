// First programs: calls, decisions, loops, failures, timers, fan-out, children, detached instances, statuses.

import { expect, test } from "vitest";
import { activity, ActivityError, orchestration, OrchestrationError } from "../../../src/index.ts";
import { failureOf, isWaitingFor, newStore, open, state } from "./support.ts";

const greet = activity("greet", async (name: string) => `Hello, ${name}!`);
const add = activity("add", async ([a, b]: readonly [number, number]) => a + b);
const double = activity("double", async (n: number) => n * 2);
const refuse = activity("refuse", async (why: string): Promise<never> => {
  throw new Error(why);
});

test("an orchestration calls an activity twice and combines the results", async () => {
  const hello = orchestration("hello", async (ctx, name: string) => {
    const first = await ctx.run(greet, "Rust");
    const second = await ctx.run(greet, name);
    return `${first} ${second}`;
  });
  const { client } = await open([hello, greet]);
  const handle = await client.start(hello, "TypeScript");
  expect(await handle.result()).toBe("Hello, Rust! Hello, TypeScript!");
});

test("the result of an activity decides which activity runs next", async () => {
  const isLarge = activity("isLarge", async (n: number) => n > 100);
  const sort = orchestration("sort", async (ctx, n: number) =>
    (await ctx.run(isLarge, n)) ? ctx.run(greet, "giant") : ctx.run(greet, "dwarf"),
  );
  const { client } = await open([sort, isLarge, greet]);
  expect(await (await client.start(sort, 500)).result()).toBe("Hello, giant!");
  expect(await (await client.start(sort, 5)).result()).toBe("Hello, dwarf!");
});

test("if and else work as in ordinary code", async () => {
  const plan = orchestration("plan", async (ctx, kind: string) => {
    if (kind === "none") return "nothing";
    if (kind === "one") return ctx.run(greet, "one");
    const both = [await ctx.run(greet, "one"), await ctx.run(greet, "two")];
    return both.join(" ");
  });
  const { client } = await open([plan, greet]);
  const results = ["none", "one", "both"].map(async (kind) =>
    (await client.start(plan, kind)).result(),
  );
  expect(await Promise.all(results)).toEqual(["nothing", "Hello, one!", "Hello, one! Hello, two!"]);
});

test("a loop accumulates over its rounds", async () => {
  const power = orchestration("power", async (ctx, rounds: number) => {
    let value = 1;
    for (let round = 0; round < rounds; round++) value = await ctx.run(double, value);
    return value;
  });
  const { client } = await open([power, double]);
  expect(await (await client.start(power, 10)).result()).toBe(1_024);
});

test("activities in a chain pass their results on", async () => {
  const chain = orchestration("chain", async (ctx, n: number) => {
    const doubled = await ctx.run(double, n);
    const sum = await ctx.run(add, [doubled, 1]);
    return ctx.run(greet, String(sum));
  });
  const { client } = await open([chain, double, add, greet]);
  expect(await (await client.start(chain, 20)).result()).toBe("Hello, 41!");
});

test("an orchestration catches the failure of an activity and runs an alternative", async () => {
  const careful = orchestration("careful", async (ctx, why: string) => {
    try {
      return await ctx.run(refuse, why);
    } catch (error) {
      if (!(error instanceof ActivityError)) throw error;
      return `${error.message}; ${await ctx.run(greet, "plan B")}`;
    }
  });
  const { client } = await open([careful, refuse, greet]);
  expect(await (await client.start(careful, "no stock")).result()).toBe("no stock; Hello, plan B!");
});

test("a timer fires after its duration and not before", async () => {
  const nap = orchestration("nap", async (ctx) => {
    const before = ctx.now().getTime();
    await ctx.sleep("50ms");
    return ctx.now().getTime() - before;
  });
  const { client } = await open([nap]);
  expect(await (await client.start(nap)).result()).toBeGreaterThanOrEqual(50);
});

test("activities run in parallel, and their results are in the order of the calls", async () => {
  let running = 0;
  let most = 0;
  const all = Promise.withResolvers<void>();
  const work = activity("work", async (n: number) => {
    most = Math.max(most, ++running);
    if (running === 5) all.resolve();
    await all.promise;
    running--;
    return n * n;
  });
  const squares = orchestration("squares", (ctx, count: number) =>
    ctx.all(Array.from({ length: count }, (_, n) => ctx.run(work, n))),
  );
  const { client } = await open([squares, work]);
  expect(await (await client.start(squares, 5)).result()).toEqual([0, 1, 4, 9, 16]);
  expect(most).toBe(5);
});

test("time and ids are the same in every replay, and ids are unique", async () => {
  const draw = orchestration("draw", async (ctx) => {
    const before = [ctx.now().getTime(), ctx.uuid(), ctx.uuid(), ctx.random()];
    await ctx.run(double, 1);
    return { before, after: ctx.uuid() };
  });
  // Without a cache the second turn runs the code of the first turn again.
  const { client } = await open([draw, double], { runtime: { stickyCacheMax: 0 } });
  const started = Date.now();
  const { before, after } = await (await client.start(draw)).result();
  expect(new Set([...before, after]).size).toBe(5);
  expect(Number(before[0])).toBeGreaterThanOrEqual(started - 1_000);
  expect(after).toMatch(/^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/);
});

test("describe reports a running instance and later its completion", async () => {
  const gate = Promise.withResolvers<string>();
  const wait = activity("wait", () => gate.promise);
  const main = orchestration("main", (ctx) => ctx.run(wait));
  const { client } = await open([main, wait]);
  const handle = await client.start(main);
  expect(await state(handle, isWaitingFor("activity"))).toMatchObject({ status: "running" });
  gate.resolve("done");
  await handle.result();
  expect(await handle.describe()).toMatchObject({ status: "completed", output: "done" });
});

test("a failed orchestration reports the error that it threw", async () => {
  const broken = orchestration("broken", async () => {
    throw new RangeError("too far");
  });
  const { client } = await open([broken]);
  const handle = await client.start(broken);
  const error = await failureOf(handle.result());
  expect(error).toBeInstanceOf(OrchestrationError);
  expect(error).toMatchObject({
    kind: "failed",
    message: "too far",
    cause: { name: "RangeError" },
  });
  expect(await handle.describe()).toMatchObject({
    status: "failed",
    error: { message: "too far" },
  });
});

test("a parent calls a child and gets its result", async () => {
  const child = orchestration("child", (ctx, n: number) => ctx.run(double, n));
  const parent = orchestration(
    "parent",
    async (ctx, n: number) => `child: ${await ctx.call(child, n)}`,
  );
  const { client } = await open([parent, child, double]);
  expect(await (await client.start(parent, 21)).result()).toBe("child: 42");
});

test("children run in parallel, and the parent sums their results", async () => {
  const child = orchestration("child", (ctx, n: number) => ctx.run(double, n));
  const parent = orchestration("parent", async (ctx, numbers: number[]) => {
    const results = await ctx.all(numbers.map((n) => ctx.call(child, n)));
    return results.reduce((sum, n) => sum + n, 0);
  });
  const { client } = await open([parent, child, double]);
  expect(await (await client.start(parent, [1, 2, 3, 4])).result()).toBe(20);
});

test("a child can call a child", async () => {
  const leaf = orchestration("leaf", (ctx, name: string) => ctx.run(greet, name));
  const middle = orchestration(
    "middle",
    async (ctx, name: string) => `m(${await ctx.call(leaf, name)})`,
  );
  const root = orchestration(
    "root",
    async (ctx, name: string) => `r(${await ctx.call(middle, name)})`,
  );
  const { client } = await open([root, middle, leaf, greet]);
  const handle = await client.start(root, "x");
  expect(await handle.result()).toBe("r(m(Hello, x!))");
  expect(await handle.tree()).toMatchObject({ children: [{ children: [{ children: [] }] }] });
});

test("an orchestration does not wait for detached instances", async () => {
  const gate = Promise.withResolvers<void>();
  const slow = activity("slow", async (name: string) => {
    await gate.promise;
    return name;
  });
  const worker = orchestration("worker", (ctx, name: string) => ctx.run(slow, name));
  const main = orchestration("main", async (ctx) => {
    void ctx.startDetached(worker, "one", { id: "detached-1" });
    void ctx.startDetached(worker, "two", { id: "detached-2" });
    return "left";
  });
  const { client } = await open([main, worker, slow]);
  expect(await (await client.start(main)).result()).toBe("left");
  gate.resolve();
  expect(await client.get(worker, "detached-1").result()).toBe("one");
  expect(await client.get(worker, "detached-2").result()).toBe("two");
});

test("an orchestration starts a detached instance and continues with its work", async () => {
  const echo = orchestration("echo", async (_ctx, text: string) => text);
  const main = orchestration("main", async (ctx) => {
    void ctx.startDetached(echo, "payload", { id: "aside" });
    return ctx.run(greet, "work");
  });
  const { client } = await open([main, echo, greet]);
  expect(await (await client.start(main)).result()).toBe("Hello, work!");
  const aside = client.get(echo, "aside");
  expect(await aside.result()).toBe("payload");
  expect((await aside.describe()).parent).toBeUndefined();
});

test("an activity can start an instance through its client", async () => {
  const echo = orchestration("echo", async (_ctx, text: string) => `echo ${text}`);
  const spawn = activity("spawn", async (text: string, { client }) => {
    const handle = await client.start(echo, text, { id: "spawned" });
    return handle.result();
  });
  const main = orchestration("main", (ctx, text: string) => ctx.run(spawn, text));
  const { client } = await open([main, echo, spawn]);
  expect(await (await client.start(main, "hi")).result()).toBe("echo hi");
  expect(await client.get("spawned").exists()).toBe(true);
});

test("a waiting instance in a file store continues in the next process", async () => {
  const store = newStore();
  const runs: string[] = [];
  const note = activity("note", async (text: string) => void runs.push(text));
  const main = orchestration("main", async (ctx) => {
    await ctx.run(note, "before");
    await ctx.waitFor("go");
    await ctx.run(note, "after");
    return "done";
  });
  const first = await open([main, note], { store });
  const handle = await first.client.start(main, undefined, { id: "survivor" });
  await state(handle, isWaitingFor("event"));
  await first.close();

  const second = await open([main, note], { store });
  await second.client.raise("survivor", "go");
  expect(await second.client.get(main, "survivor").result()).toBe("done");
  expect(runs).toEqual(["before", "after"]);
});

test("the statistics of a runtime count its completed work", async () => {
  const main = orchestration("main", async (ctx, fails: boolean) => {
    await ctx.run(double, 1);
    if (fails) throw new Error("no");
  });
  const { client, runtime } = await open([main, double]);
  await (await client.start(main, false)).result();
  await failureOf((await client.start(main, true)).result());
  expect(runtime.stats()).toMatchObject({
    orchestrationsStarted: 2,
    orchestrationsCompleted: 1,
    orchestrationsFailed: 1,
    activities: { completed: 2 },
  });
});

test("handle.stats measures an instance", async () => {
  const main = orchestration("main", async (ctx) => {
    ctx.kv.set("a", "12345");
    ctx.kv.set("b", true);
    await ctx.run(double, 1);
  });
  const { client } = await open([main, double]);
  const handle = await client.start(main);
  await handle.result();
  await handle.raise("late").catch(() => undefined);
  const stats = await handle.stats();
  expect(stats).toMatchObject({ events: 6, keys: 2, unread: 0 });
  expect(stats.bytes).toBeGreaterThan(100);
  expect(stats.keyBytes).toBeGreaterThan(5);
});

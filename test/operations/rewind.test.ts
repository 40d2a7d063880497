// Rewind (semantics 21b): an instance goes on at the failed call, and completed work is not repeated.

import { expect, onTestFinished, test } from "vitest";
import {
  activity,
  orchestration,
  Perdure,
  type ActivityContext,
  type Handle,
  type Provider,
  type Registrable,
} from "../../src/index.ts";
import { freshStore } from "../support/test-store.ts";

/** Notes each run of an activity with its idempotency key, and fails as often as it is told to. */
class Outside {
  readonly runs: (readonly [name: string, key: string, attempt: number])[] = [];
  readonly failing = new Set<string>();

  run(
    name: string,
    { idempotencyKey, attempt }: Pick<ActivityContext, "idempotencyKey" | "attempt">,
  ) {
    this.runs.push([name, idempotencyKey, attempt]);
    if (this.failing.has(name)) throw new Error(`${name} failed`);
    return `${name} done`;
  }
  keys(name: string): readonly string[] {
    return this.runs.flatMap(([each, key]) => (each === name ? [key] : []));
  }
  activity(name: string) {
    return activity(name, async (_input: unknown, ctx: ActivityContext) => this.run(name, ctx));
  }
}

async function open(store: Provider, register: readonly Registrable[]): Promise<Perdure> {
  const runtime = { log: () => undefined, shadowReplay: "always" } as const;
  const perdure = await Perdure.open(store, { register, runtime });
  onTestFinished(() => perdure.close({ graceMs: 0 }));
  return perdure;
}

/** Waits for the failure of the newest execution. */
async function failed(handle: Handle): Promise<void> {
  await expect(handle.result()).rejects.toThrow();
}

function shop() {
  const outside = new Outside();
  const charge = outside.activity("charge");
  const ship = outside.activity("ship");
  const order = orchestration("order", async (ctx, cents: number) => {
    ctx.setStatus("charging");
    const paid = await ctx.run(charge, cents);
    ctx.kv.set("paid", paid);
    ctx.setStatus("shipping");
    ctx.setAttributes({ phase: "shipping" });
    const shipped = await ctx.run(ship, cents);
    return [paid, shipped];
  });
  return { outside, order, register: [charge, ship, order] };
}

test("a failed instance goes on at the failed call, with the same key, and repeats nothing else", async () => {
  const { outside, order, register } = shop();
  const { client } = await open(await freshStore(), register);
  outside.failing.add("ship");
  const handle = await client.start(order, 5, { id: "o" });
  await failed(handle);
  const preview = await handle.rewind({ to: "failure", dryRun: true });
  expect(preview).toMatchObject({
    ...{ id: "o", from: 1, execution: 2, dryRun: true, check: { kind: "ok" } },
    kept: [{ kind: "activity", name: "charge" }],
    redone: [{ kind: "activity", name: "ship" }],
    ...{ happened: [], compensated: [], returned: [], others: [] },
  });
  expect(await handle.describe()).toMatchObject({ status: "failed", execution: 1 });
  outside.failing.clear();
  await handle.rewind({ to: "failure", reason: "the carrier is back", by: "ada" });
  expect(await handle.result()).toEqual(["charge done", "ship done"]);
  expect(outside.keys("charge")).toHaveLength(1);
  const [first, second] = outside.runs.filter(([name]) => name === "ship");
  expect(second).toEqual(first); // also the attempt is the first again
  expect(await handle.describe()).toMatchObject({
    execution: 2,
    repairs: [
      {
        kind: "rewind",
        reason: "the carrier is back",
        by: "ada",
        execution: 1,
        before: preview.before,
      },
    ],
  });
  await expect(handle.result({ execution: 1 })).rejects.toThrow("ship failed");
});

test("a rewind of a rewind keeps the first key", async () => {
  const { outside, order, register } = shop();
  const { client } = await open(await freshStore(), register);
  outside.failing.add("ship");
  const handle = await client.start(order, 5, { id: "o" });
  await failed(handle);
  await handle.rewind({ to: "failure" });
  await failed(handle);
  outside.failing.clear();
  await handle.rewind({ to: "failure" });
  expect(await handle.result()).toEqual(["charge done", "ship done"]);
  expect(new Set(outside.keys("ship")).size).toBe(1);
  expect(outside.keys("ship")).toHaveLength(3);
  expect(outside.keys("charge")).toHaveLength(1);
  expect((await handle.describe()).repairs).toHaveLength(2);
});

test("code that threw after a completed call runs on from there once it is fixed", async () => {
  const outside = new Outside();
  const charge = outside.activity("charge");
  const code = (isFixed: boolean) =>
    orchestration("order", async (ctx) => {
      const paid = await ctx.run(charge, 1);
      if (!isFixed) throw new TypeError("paid.receipt is undefined");
      return paid;
    });
  const store = await freshStore();
  const broken = await open(store, [charge, code(false)]);
  const handle = await broken.client.start("order", undefined, { id: "o" });
  await failed(handle);
  await broken.close({ graceMs: 0 });
  const { client } = await open(store, [charge, code(true)]);
  await client.get("o").rewind({ to: "failure" });
  expect(await client.get("o").result()).toBe("charge done");
  expect(outside.keys("charge")).toHaveLength(1);
});

test("parallel work that completed after the failure is kept, and failed work is done again", async () => {
  const outside = new Outside();
  const names = ["a", "b", "c"];
  const activities = names.map((name) => outside.activity(name));
  const fan = orchestration("fan", async (ctx) => {
    const calls = activities.map((each) => ctx.run(each, 0));
    const results = await Promise.allSettled(calls);
    for (const result of results) if (result.status === "rejected") throw result.reason;
    return results.length;
  });
  const { client } = await open(await freshStore(), [fan, ...activities]);
  outside.failing.add("a").add("c");
  const handle = await client.start(fan, undefined, { id: "f" });
  await failed(handle);
  outside.failing.clear();
  const failures = (await handle.history()).filter(({ kind }) => kind === "ActivityFailed");
  const report = await handle.rewind({ before: failures[0]?.sequence ?? 0 });
  expect(report.kept.map(({ name }) => name)).toEqual(["b"]);
  expect(report.redone.map(({ name }) => name)).toEqual(["a", "c"]);
  expect(await handle.result()).toBe(3);
  expect(outside.runs.map(([name]) => name).sort()).toEqual(["a", "a", "b", "c", "c"]);
  for (const name of names) expect(new Set(outside.keys(name)).size).toBe(1);
});

test("events go back to the mailbox once and in order; state is as of the cut", async () => {
  const outside = new Outside();
  const work = outside.activity("work");
  const reader = orchestration("reader", async (ctx) => {
    const first = await ctx.waitFor<string>("word");
    ctx.kv.set("first", first);
    ctx.setStatus("one");
    await ctx.run(work, 0);
    ctx.setStatus("two");
    ctx.kv.set("second", 2);
    const second = await ctx.waitFor<string>("word");
    const third = await ctx.waitFor<string>("word");
    if (outside.failing.size > 0) throw new Error("bug");
    return [first, second, third];
  });
  const { client } = await open(await freshStore(), [reader, work]);
  outside.failing.add("bug");
  const handle = await client.start(reader, undefined, { id: "r" });
  for (const word of ["x", "y", "z"]) await handle.raise("word", word);
  await failed(handle);
  const preview = await handle.rewind({ before: { activity: "work" }, dryRun: true });
  expect(preview.happened).toMatchObject([{ kind: "activity", name: "work" }]);
  outside.failing.clear();
  await handle.rewind({ before: { activity: "work" } });
  expect(await handle.result()).toEqual(["x", "y", "z"]);
  expect(new Set(outside.keys("work")).size).toBe(1); // the same call at the same place
  expect(outside.keys("work")).toHaveLength(2);
  expect(await handle.kv.get("second")).toBe(2);
  expect((await handle.unread()).items).toEqual([]);
});

test("a call with a changed input gets a new key", async () => {
  const outside = new Outside();
  const charge = outside.activity("charge");
  const code = (cents: number) =>
    orchestration("order", async (ctx) => {
      await ctx.sleep(1);
      return ctx.run(charge, cents);
    });
  const store = await freshStore();
  const old = await open(store, [charge, code(100)]);
  await (await old.client.start("order", undefined, { id: "o" })).result();
  await old.close({ graceMs: 0 });
  const { client } = await open(store, [charge, code(99)]);
  const handle = client.get("o");
  await expect(handle.rewind({ to: "failure" })).rejects.toMatchObject({
    code: "INVALID_ARGUMENT",
  });
  await handle.rewind({ before: { activity: "charge" } });
  expect(await handle.result()).toBe("charge done");
  expect(new Set(outside.keys("charge")).size).toBe(2);
});

test("a step begins with its first attempt again, with the same key", async () => {
  const outside = new Outside();
  const stepped = orchestration("stepped", async (ctx) => {
    return ctx.step("save", (step) => outside.run("save", step), { attempts: 2 });
  });
  const { client } = await open(await freshStore(), [stepped]);
  outside.failing.add("save");
  const handle = await client.start(stepped, undefined, { id: "s" });
  await failed(handle);
  await handle.rewind({ to: "failure" });
  await failed(handle);
  outside.failing.clear();
  await handle.rewind({ to: "failure" });
  expect(await handle.result()).toBe("save done");
  expect(outside.runs.map(([, , attempt]) => attempt)).toEqual([1, 2, 1, 2, 1]);
  expect(new Set(outside.keys("save")).size).toBe(1);
});

test("cancelled, terminated and completed instances can be rewound; a running one cannot", async () => {
  const waiter = orchestration("waiter", async (ctx) => {
    const timer = ctx.sleep(3_600_000);
    const word = await ctx.waitFor<string>("go");
    timer.cancel("not needed");
    return word;
  });
  const { client } = await open(await freshStore(), [waiter]);
  const handle = await client.start(waiter, undefined, { id: "w" });
  const waiting = async () => {
    for await (const info of handle.watch()) if (info.waitingFor.length === 2) return info;
    throw new Error("It ended.");
  };
  const { waitingFor } = await waiting();
  const due = waitingFor.find(({ kind }) => kind === "timer");
  await expect(handle.rewind({ to: "failure" })).rejects.toMatchObject({
    code: "INSTANCE_RUNNING",
  });
  await handle.cancel();
  await failed(handle);
  await handle.rewind({ to: "failure" });
  expect((await waiting()).waitingFor).toContainEqual(due); // timers keep their due time
  await handle.terminate();
  await failed(handle);
  await handle.rewind({ to: "failure" });
  await waiting();
  await handle.raise("go", "on");
  expect(await handle.result()).toBe("on");
  const received = (await handle.history()).find(({ kind }) => kind === "EventReceived");
  const report = await handle.rewind({ before: received?.sequence ?? 0 });
  expect(report.returned).toEqual(["go"]);
  expect(await handle.result()).toBe("on");
  expect((await handle.describe()).execution).toBe(4);
});

test("code that does not fit the past is refused with the difference, and nothing changes", async () => {
  const { outside, order, register } = shop();
  const store = await freshStore();
  const old = await open(store, register);
  outside.failing.add("ship");
  await failed(await old.client.start(order, 5, { id: "o" }));
  await old.close({ graceMs: 0 });
  const refund = outside.activity("refund");
  const other = orchestration("order", async (ctx) => {
    ctx.setStatus("charging");
    return ctx.run(refund, 1);
  });
  const { client } = await open(store, [refund, other]);
  const handle = client.get("o");
  const before = await handle.describe();
  const preview = await handle.rewind({ to: "failure", dryRun: true });
  expect(preview.check).toMatchObject({ kind: "diverged", code: "NONDETERMINISM" });
  const rewind = handle.rewind({ to: "failure" });
  await expect(rewind).rejects.toThrow(/refund/);
  await expect(rewind).rejects.toMatchObject({ code: "NONDETERMINISM" });
  expect(await handle.describe()).toEqual(before);
});

test("a blocked instance goes on before the event from which its code diverged", async () => {
  const outside = new Outside();
  const [one, two, three] = ["one", "two", "three"].map((name) => outside.activity(name));
  if (one === undefined || two === undefined || three === undefined) throw new Error("Three.");
  const code = (next: typeof two) =>
    orchestration("chain", async (ctx) => {
      await ctx.run(one, 0);
      const done = await ctx.run(next, 0);
      return [done, await ctx.waitFor("go")];
    });
  const store = await freshStore();
  const old = await open(store, [one, two, code(two)]);
  const handle = await old.client.start("chain", undefined, { id: "c" });
  for await (const info of handle.watch()) if (info.waitingFor[0]?.kind === "event") break;
  await old.close({ graceMs: 0 });
  const { client } = await open(store, [one, two, three, code(three)]);
  const blocked = client.get("c");
  await blocked.raise("go", 7);
  for await (const info of blocked.watch()) if (info.blocked !== undefined) break;
  const report = await blocked.rewind({ to: "failure", reason: "two became three" });
  expect(report.happened).toMatchObject([{ name: "two" }]);
  expect(await blocked.result()).toEqual(["three done", 7]);
  expect(outside.runs.map(([name]) => name)).toEqual(["one", "two", "three"]);
});

test("compensations that ran are named, and are registered again", async () => {
  const outside = new Outside();
  const [book, pay, undo] = ["book", "pay", "undo"].map((name) => outside.activity(name));
  if (book === undefined || pay === undefined || undo === undefined) throw new Error("Three.");
  const trip = orchestration("trip", async (ctx) => {
    await ctx.run(book, 0);
    ctx.compensate(() => ctx.run(undo, 0));
    return ctx.run(pay, 0);
  });
  const { client } = await open(await freshStore(), [trip, book, pay, undo]);
  outside.failing.add("pay");
  const handle = await client.start(trip, undefined, { id: "t" });
  await failed(handle);
  const preview = await handle.rewind({ to: "failure" });
  expect(preview.redone).toMatchObject([{ name: "pay" }]);
  expect(preview.compensated).toMatchObject([{ name: "undo" }]);
  await failed(handle);
  expect(outside.runs.map(([name]) => name)).toEqual(["book", "pay", "undo", "pay", "undo"]);
});

test("replaced outcomes are what the code gets, and the history says so", async () => {
  const { outside, order, register } = shop();
  const { client } = await open(await freshStore(), register);
  outside.failing.add("ship");
  const handle = await client.start(order, 5, { id: "o" });
  await failed(handle);
  const calls = (await handle.history()).filter(({ kind }) => kind === "ActivityScheduled");
  const [charge = 0, ship = 0] = calls.map(({ sequence }) => sequence);
  const replace = [
    { sequence: charge, output: "paid in cash" },
    { sequence: ship, output: "picked up" },
  ];
  const wrong = handle.rewind({ to: "failure", replace: [{ sequence: 1, output: 1 }] });
  await expect(wrong).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  await handle.rewind({ to: "failure", by: "ada", replace });
  expect(await handle.result()).toEqual(["paid in cash", "picked up"]);
  expect(outside.keys("ship")).toHaveLength(1);
  const replaced = (await handle.history()).filter((event) => "replaced" in event);
  expect(replaced.map(({ kind }) => kind)).toEqual(["ActivityCompleted", "ActivityCompleted"]);
  expect((await handle.describe()).repairs).toMatchObject([
    { by: "ada", replaced: [charge, ship] },
  ]);
});

test("a child is rewound with the parent that received its failure, from either of them", async () => {
  const { outside, order, register } = shop();
  const parent = orchestration("cart", async (ctx, id: string) => ctx.call(order, 5, { id }));
  const { client } = await open(await freshStore(), [...register, parent]);
  for (const from of ["parent", "child"]) {
    outside.failing.add("ship");
    const cart = await client.start(parent, `order-${from}`, { id: `cart-${from}` });
    const child = client.get(`order-${from}`);
    await failed(cart);
    outside.failing.clear();
    const alone = child.rewind({ to: "failure" });
    await expect(alone).rejects.toMatchObject({ code: "PARENT_INFORMED" });
    const runs = outside.runs.length;
    const report = await (from === "parent" ? cart : child).rewind({ to: "failure", tree: true });
    expect(report.others.map(({ id }) => id)).toEqual([from === "parent" ? child.id : cart.id]);
    expect(await cart.result()).toEqual(["charge done", "ship done"]);
    expect(outside.runs.slice(runs).map(([name]) => name)).toEqual(["ship"]);
    expect((await child.describe()).execution).toBe(2);
  }
});

test("without tree, a failed child is started again as a new instance", async () => {
  const { outside, order, register } = shop();
  const parent = orchestration("cart", async (ctx) => ctx.call(order, 5));
  const { client } = await open(await freshStore(), [...register, parent]);
  outside.failing.add("ship");
  const cart = await client.start(parent, undefined, { id: "cart" });
  await failed(cart);
  await cart.rewind({ to: "failure" });
  await failed(cart);
  outside.failing.clear();
  // The failed child of the second execution goes on.
  await cart.rewind({ to: "failure", tree: true });
  expect(await cart.result()).toEqual(["charge done", "ship done"]);
  expect(outside.keys("charge")).toHaveLength(2);
  expect(new Set(outside.keys("ship")).size).toBe(2);
});

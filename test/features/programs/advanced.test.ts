// Programs that combine features: typed definitions, retries, cancels, queues, versions, sagas, nondeterminism.

import { expect, test } from "vitest";
import {
  activity,
  ActivityError,
  CancelledError,
  ChildError,
  event,
  orchestration,
  type StandardSchema,
} from "../../../src/index.ts";
import { failureOf, isWaitingFor, newStore, open, state } from "./support.ts";

const double = activity("double", async (n: number) => n * 2);

/** A Standard Schema that accepts whole numbers, also as text. */
const wholeNumber: StandardSchema<string | number, number> = {
  "~standard": {
    version: 1,
    vendor: "test",
    validate: (value) =>
      Number.isInteger(Number(value)) ? { value: Number(value) } : { issues: [{ message: "no" }] },
  },
};

test("schemas check and convert the inputs of activities and orchestrations", async () => {
  const half = activity("half", async (n) => n / 2, { input: wholeNumber });
  const main = orchestration("main", (ctx, n) => ctx.run(half, n), { input: wholeNumber });
  const { client } = await open([main, half]);
  expect(await (await client.start(main, "10")).result()).toBe(5);
  expect(await failureOf(client.start(main, "ten"))).toMatchObject({ code: "INVALID_ARGUMENT" });
});

test("a fan-out of typed activities returns typed results", async () => {
  const point = activity("point", async (x: number) => ({ x, y: x * x }));
  const main = orchestration("main", async (ctx, xs: number[]) => {
    const points = await ctx.all(xs.map((x) => ctx.run(point, x)));
    return points.reduce((sum, { y }) => sum + y, 0);
  });
  const { client } = await open([main, point]);
  expect(await (await client.start(main, [1, 2, 3])).result()).toBe(14);
});

test("the key of a race's winner determines the type of its value", async () => {
  const never = activity(
    "never",
    (_: undefined, { signal }) =>
      new Promise<string>((_resolve, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason as Error));
      }),
  );
  const main = orchestration("main", async (ctx) => {
    const first = await ctx.race({ quick: ctx.run(double, 3), slow: ctx.run(never) });
    return first.key === "quick" ? first.value + 1 : first.value.length;
  });
  const { client } = await open([main, double, never]);
  expect(await (await client.start(main)).result()).toBe(7);
});

test("an activity is retried until it succeeds, and history does not record the failed attempts", async () => {
  const flaky = activity("flaky", async (_: undefined, { attempt }) => {
    if (attempt < 3) throw new Error("not yet");
    return attempt;
  });
  const main = orchestration("main", (ctx) =>
    ctx.run(flaky, undefined, { retry: { maxAttempts: 5, backoff: { kind: "none" } } }),
  );
  const { client } = await open([main, flaky]);
  const handle = await client.start(main);
  expect(await handle.result()).toBe(3);
  const history = await handle.history();
  expect(history.filter(({ kind }) => kind.startsWith("Activity"))).toMatchObject([
    { kind: "ActivityScheduled" },
    { kind: "ActivityCompleted", attempts: 3 },
  ]);
});

test("when the attempts are used up, the orchestration undoes its earlier work", async () => {
  const undone: string[] = [];
  const reserve = activity("reserve", async (what: string) => `reserved ${what}`);
  const release = activity("release", async (what: string) => void undone.push(what));
  const pay = activity("pay", async () => {
    throw new Error("card declined");
  });
  const order = orchestration("order", async (ctx, what: string) => {
    await ctx.run(reserve, what);
    try {
      await ctx.run(pay, undefined, { retry: { maxAttempts: 2, backoff: { kind: "none" } } });
    } catch (error) {
      await ctx.run(release, what);
      throw error;
    }
  });
  const { client } = await open([order, reserve, release, pay]);
  expect(await failureOf((await client.start(order, "chair")).result())).toMatchObject({
    message: "card declined",
    cause: { attempts: 2 },
  });
  expect(undone).toEqual(["chair"]);
});

test("a cancel of the parent also cancels the child", async () => {
  const child = orchestration("child", (ctx) => ctx.waitFor("never"));
  const parent = orchestration("parent", (ctx) => ctx.call(child, undefined, { id: "the-child" }));
  const { client } = await open([parent, child]);
  const handle = await client.start(parent);
  await state(handle, isWaitingFor("child"));
  const inner = client.get("the-child");
  await state(inner, isWaitingFor("event"));
  await handle.cancel("stop");
  expect(await failureOf(handle.result())).toMatchObject({ kind: "cancelled" });
  expect(await failureOf(inner.result())).toMatchObject({ kind: "cancelled" });
});

test("cancelling a completed instance is refused and changes nothing", async () => {
  const main = orchestration("main", async () => "done");
  const { client } = await open([main]);
  const handle = await client.start(main);
  await handle.result();
  expect(await failureOf(handle.cancel("too late"))).toMatchObject({ code: "INSTANCE_FINISHED" });
  expect(await handle.describe()).toMatchObject({ status: "completed", output: "done" });
});

test("a child can win a race against a timer, and a losing child is cancelled", async () => {
  const quick = orchestration("quick", (ctx) => ctx.run(double, 5));
  const slow = orchestration("slow", (ctx) => ctx.waitFor("never"));
  const main = orchestration("main", async (ctx) => {
    const first = await ctx.race({ child: ctx.call(quick), late: ctx.sleep("1h") });
    const second = await ctx.race({
      child: ctx.call(slow, undefined, { id: "loser" }),
      timer: ctx.sleep(10),
    });
    return [first.key, second.key];
  });
  const { client } = await open([main, quick, slow, double]);
  expect(await (await client.start(main)).result()).toEqual(["child", "timer"]);
  expect(await failureOf(client.get("loser").result())).toMatchObject({ kind: "cancelled" });
});

test("timers and activities can alternate", async () => {
  const main = orchestration("main", async (ctx) => {
    const trace: number[] = [];
    for (let round = 0; round < 3; round++) {
      await ctx.sleep(5);
      trace.push(await ctx.run(double, round));
    }
    return trace;
  });
  const { client } = await open([main, double]);
  expect(await (await client.start(main)).result()).toEqual([0, 2, 4]);
});

test("a timer of length zero is recorded and fires", async () => {
  const main = orchestration("main", async (ctx) => {
    await ctx.sleep(0);
    return "fired";
  });
  const { client } = await open([main]);
  const handle = await client.start(main);
  expect(await handle.result()).toBe("fired");
  expect((await handle.history()).map(({ kind }) => kind)).toContain("TimerFired");
});

test("each new custom status has a higher version", async () => {
  const main = orchestration("main", async (ctx) => {
    for (const phase of ["loading", "working", "saving"]) {
      ctx.setStatus({ phase });
      await ctx.waitFor("next");
    }
    ctx.setStatus({ phase: "done" });
  });
  const { client } = await open([main]);
  const handle = await client.start(main);
  for (const [index, phase] of ["loading", "working", "saving"].entries()) {
    const info = await state(
      handle,
      ({ customStatusVersion }) => customStatusVersion === index + 1,
    );
    expect(info.customStatus).toEqual({ phase });
    await handle.raise("next");
  }
  await handle.result();
  expect(await handle.describe()).toMatchObject({
    customStatus: { phase: "done" },
    customStatusVersion: 4,
  });
});

test("watch reports each committed status and the last one", async () => {
  const main = orchestration("main", async (ctx) => {
    ctx.setStatus("first");
    await ctx.waitFor("next");
    ctx.setStatus("last");
  });
  const { client } = await open([main]);
  const handle = await client.start(main);
  const seen: unknown[] = [];
  for await (const { customStatus } of handle.watch()) {
    if (seen.at(-1) !== customStatus) seen.push(customStatus);
    if (customStatus === "first") await handle.raise("next");
  }
  expect(seen.filter((status) => status !== undefined)).toEqual(["first", "last"]);
});

test("messages with the same name are read in the order in which they were sent", async () => {
  const job = event<number>("job");
  const main = orchestration("main", async (ctx) => {
    const read: number[] = [];
    for await (const number of ctx.events(job)) {
      read.push(number);
      await ctx.run(double, number);
      if (read.length === 5) break;
    }
    return read;
  });
  const { client } = await open([main, double]);
  const handle = await client.start(main);
  for (const number of [5, 3, 1, 4, 2]) await handle.raise(job, number);
  expect(await handle.result()).toEqual([5, 3, 1, 4, 2]);
});

test("messages of different names have separate mailboxes", async () => {
  const main = orchestration("main", async (ctx) => {
    const orders = [await ctx.waitFor("order"), await ctx.waitFor("order")];
    const alerts = [await ctx.waitFor("alert"), await ctx.waitFor("alert")];
    return { orders, alerts };
  });
  const { client } = await open([main]);
  const handle = await client.start(main);
  for (const [name, data] of [
    ["alert", 1],
    ["order", "a"],
    ["alert", 2],
    ["order", "b"],
  ] as const) {
    await handle.raise(name, data);
  }
  expect(await handle.result()).toEqual({ orders: ["a", "b"], alerts: [1, 2] });
});

test("continueAsNew passes the result of an activity to the next execution", async () => {
  const main = orchestration("main", async (ctx, sum: number): Promise<number> => {
    const next = sum + (await ctx.run(double, 5));
    return next >= 30 ? next : ctx.continueAsNew(next);
  });
  const { client } = await open([main, double]);
  const handle = await client.start(main, 0);
  expect(await handle.result()).toBe(30);
  expect(await handle.executions()).toHaveLength(3);
});

test("a child runs the version that its caller names", async () => {
  const child = (version: string) =>
    orchestration("child", async (ctx) => ctx.info.version, { version });
  const main = orchestration("main", (ctx) =>
    ctx.all([ctx.call("child"), ctx.call("child", null, { version: "1.0.0" })]),
  );
  const { client } = await open([main, child("1.0.0"), child("2.0.0")]);
  expect(await (await client.start(main)).result()).toEqual(["2.0.0", "1.0.0"]);
});

test("a failed child raises a ChildError with the cause in its parent", async () => {
  const child = orchestration("child", async () => {
    throw Object.assign(new RangeError("out of stock"), { sku: "a-1" });
  });
  const main = orchestration("main", async (ctx) => {
    const error: unknown = await ctx.call(child).catch((caught: unknown) => caught);
    if (!(error instanceof ChildError)) throw error;
    return { message: error.message, cause: error.cause };
  });
  const { client } = await open([main, child]);
  expect(await (await client.start(main)).result()).toMatchObject({
    message: "out of stock",
    cause: { name: "RangeError", sku: "a-1" },
  });
});

test("a failed saga runs its compensations in reverse order", async () => {
  const ledger: string[] = [];
  const book = activity("book", async (entry: string) => void ledger.push(entry));
  const ship = activity("ship", async () => {
    throw new Error("no courier");
  });
  const order = orchestration("order", async (ctx) => {
    await ctx.run(book, "debit");
    ctx.compensate(() => ctx.run(book, "refund"));
    await ctx.run(book, "reserve");
    ctx.compensate(() => ctx.run(book, "release"));
    await ctx.run(ship);
  });
  const { client } = await open([order, book, ship]);
  const error = await failureOf((await client.start(order)).result());
  expect(error).toMatchObject({ message: "no courier" });
  expect((error as Error).cause).toBeInstanceOf(ActivityError);
  expect(ledger).toEqual(["debit", "reserve", "release", "refund"]);
});

test("a shield lets cleanup finish although the instance is being cancelled", async () => {
  const cleaned: string[] = [];
  const clean = activity("clean", async (what: string) => void cleaned.push(what));
  const main = orchestration("main", async (ctx) => {
    try {
      await ctx.waitFor("never");
    } catch (error) {
      if (error instanceof CancelledError) await ctx.shield(() => ctx.run(clean, "desk"));
      throw error;
    }
  });
  const { client } = await open([main, clean]);
  const handle = await client.start(main);
  await state(handle, isWaitingFor("event"));
  await handle.cancel("closing time");
  expect(await failureOf(handle.result())).toMatchObject({ kind: "cancelled" });
  expect(cleaned).toEqual(["desk"]);
});

test("a timer instead of a recorded activity blocks the instance, and the message names both", async () => {
  const store = newStore();
  const before = orchestration("swap", async (ctx) => {
    await ctx.run(double, 1);
    await ctx.waitFor("go");
  });
  const after = orchestration("swap", async (ctx) => {
    await ctx.sleep(1);
    await ctx.waitFor("go");
  });
  const first = await open([before, double], { store });
  await state(await first.client.start(before, undefined, { id: "i" }), isWaitingFor("event"));
  await first.close();
  const second = await open([after, double], { store });
  const handle = second.client.get("i");
  await handle.raise("go");
  const { status, blocked } = await state(handle, (info) => info.blocked !== undefined);
  expect({ status, code: blocked?.code }).toEqual({ status: "running", code: "NONDETERMINISM" });
  expect(blocked?.message).toMatch(/^nondeterministic: .*ActivityScheduled "double".*TimerCreated/);

  // Deploying the old code again repairs the instance.
  await second.close();
  const third = await open([before, double], { store });
  await third.client.get("i").result();
});

test("an additional activity blocks the instance, or fails it with onNondeterminism: fail", async () => {
  const store = newStore();
  const make = (extra: boolean, version: string) =>
    orchestration(
      "extra",
      async (ctx) => {
        if (extra) await ctx.run(double, 0);
        await ctx.run(double, 1);
        await ctx.waitFor("go");
      },
      { version, onNondeterminism: version === "1.0.0" ? "block" : "fail" },
    );
  const first = await open([make(false, "1.0.0"), make(false, "2.0.0"), double], { store });
  for (const [id, version] of [
    ["blocks", "1.0.0"],
    ["fails", "2.0.0"],
  ] as const) {
    const handle = await first.client.start("extra", undefined, { id, version });
    await state(handle, isWaitingFor("event"));
  }
  await first.close();
  const second = await open([make(true, "1.0.0"), make(true, "2.0.0"), double], { store });
  for (const id of ["blocks", "fails"]) await second.client.raise(id, "go");
  const { blocked } = await state(
    second.client.get("blocks"),
    (info) => info.blocked !== undefined,
  );
  expect(blocked?.code).toBe("NONDETERMINISM");
  expect(await failureOf(second.client.get("fails").result())).toMatchObject({
    kind: "failed",
    message: expect.stringMatching(/^nondeterministic: /),
  });
});

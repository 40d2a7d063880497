// Long-running programs: events, executions, cancels, retries, versions, statuses, logs.

import { appendFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import {
  activity,
  ActivityError,
  event,
  orchestration,
  Runtime,
  type LogSink,
  type RuntimeOptions,
} from "../../../src/index.ts";
import { failureOf, isWaitingFor, open, state } from "./support.ts";

const double = activity("double", async (n: number) => n * 2);
const approval = event<{ by: string }>("approval");

test("an instance waits for an event and receives its data", async () => {
  const main = orchestration("main", async (ctx) => `by ${(await ctx.waitFor(approval)).by}`);
  const { client } = await open([main]);
  const handle = await client.start(main);
  await state(handle, isWaitingFor("event"));
  await handle.raise(approval, { by: "Ada" });
  expect(await handle.result()).toBe("by Ada");
});

test("an instance continues as new until a condition is met", async () => {
  const countdown = orchestration("countdown", async (ctx, n: number): Promise<string> => {
    if (n === 0) return `ended in execution ${ctx.info.executionId}`;
    return ctx.continueAsNew(n - 1);
  });
  const { client } = await open([countdown]);
  const handle = await client.start(countdown, 4);
  expect(await handle.result()).toBe("ended in execution 5");
  const statuses = (await handle.executions()).map(({ status }) => status);
  expect(statuses).toEqual([...Array<string>(4).fill("continuedAsNew"), "completed"]);
});

test("a running instance can be cancelled with a reason", async () => {
  const main = orchestration("main", (ctx) => ctx.waitFor("never"));
  const { client } = await open([main]);
  const handle = await client.start(main);
  await state(handle, isWaitingFor("event"));
  await handle.cancel("no longer needed");
  expect(await failureOf(handle.result())).toMatchObject({
    kind: "cancelled",
    message: "cancelled: no longer needed",
  });
  expect((await handle.describe()).status).toBe("cancelled");
});

test("an activity that fails at first is retried until it succeeds", async () => {
  const flaky = activity("flaky", async (needed: number, { attempt }) => {
    if (attempt < needed) throw new Error(`attempt ${attempt}`);
    return attempt;
  });
  const retry = { maxAttempts: 5, backoff: { kind: "fixed", base: 5 } } as const;
  const main = orchestration("main", (ctx, needed: number) => ctx.run(flaky, needed, { retry }));
  const { client } = await open([main, flaky]);
  expect(await (await client.start(main, 3)).result()).toBe(3);
});

test("an activity that always fails uses up its attempts and fails the orchestration", async () => {
  let runs = 0;
  const broken = activity("broken", async () => {
    throw new Error(`failure ${++runs}`);
  });
  const retry = { maxAttempts: 3, backoff: { kind: "none" } } as const;
  const main = orchestration("main", (ctx) => ctx.run(broken, undefined, { retry }));
  const { client } = await open([main, broken]);
  const error = await failureOf((await client.start(main)).result());
  expect(error).toMatchObject({ kind: "failed", message: "failure 3" });
  expect((error as Error).cause).toBeInstanceOf(ActivityError);
  expect((error as Error).cause).toMatchObject({ attempts: 3 });
  expect(runs).toBe(3);
});

const version = (number: string) =>
  orchestration("versioned", async () => `version ${number}`, { version: number });

test("a start by name uses the newest version", async () => {
  const { client } = await open([version("1.0.0"), version("1.10.0"), version("1.9.0")]);
  expect(await (await client.start("versioned")).result()).toBe("version 1.10.0");
});

test("different versions run different code at the same time", async () => {
  const [one, two] = [version("1.0.0"), version("2.0.0")];
  const { client } = await open([one, two]);
  expect(await (await client.start(one)).result()).toBe("version 1.0.0");
  expect(await (await client.start(two)).result()).toBe("version 2.0.0");
  expect(await (await client.start("versioned", null, { version: "1.0.0" })).result()).toBe(
    "version 1.0.0",
  );
});

test("continueAsNew moves a long-running instance to the newest version", async () => {
  const old = orchestration("upgrade", async (ctx, n: number): Promise<string> =>
    ctx.continueAsNew(n + 1),
  );
  const newer = orchestration(
    "upgrade",
    async (ctx, n: number) => `${ctx.info.version} after ${n}`,
    {
      version: "2.0.0",
    },
  );
  const { client } = await open([old, newer]);
  expect(await (await client.start(old, 0)).result()).toBe("2.0.0 after 1");
});

test("ctx.status returns the last status that was set", async () => {
  const main = orchestration("main", async (ctx) => {
    const seen = [ctx.status];
    ctx.setStatus("first");
    await ctx.run(double, 1);
    seen.push(ctx.status);
    ctx.setStatus("second");
    await ctx.run(double, 2);
    seen.push(ctx.status);
    return seen;
  });
  const { client } = await open([main, double]);
  const handle = await client.start(main);
  expect(await handle.result()).toEqual([undefined, "first", "second"]);
  expect(await handle.describe()).toMatchObject({ customStatus: "second", customStatusVersion: 2 });
});

test("continueAsNew keeps the custom status, and null removes it", async () => {
  const main = orchestration("main", async (ctx, round: number): Promise<unknown> => {
    if (round === 0) {
      ctx.setStatus({ phase: "begun" });
      return ctx.continueAsNew(1);
    }
    const carried = ctx.status;
    ctx.setStatus(null);
    await ctx.run(double, 1);
    return { carried, now: ctx.status };
  });
  const { client } = await open([main, double]);
  const handle = await client.start(main, 0);
  expect(await handle.result()).toEqual({ carried: { phase: "begun" }, now: undefined });
  expect(await handle.describe()).not.toHaveProperty("customStatus");
});

test("an eternal instance can prune its old executions", async () => {
  const prune = activity("prune", async (_: undefined, { client, info }) => {
    await client.prune(info.instanceId, { keepLast: 1 });
  });
  const batches = orchestration("batches", async (ctx, batch: number): Promise<string> => {
    await ctx.run(double, batch);
    await ctx.run(prune);
    return batch === 4 ? "5 batches" : ctx.continueAsNew(batch + 1);
  });
  const { client } = await open([batches, prune, double]);
  const handle = await client.start(batches, 0);
  expect(await handle.result()).toBe("5 batches");
  expect((await handle.executions()).map(({ execution }) => execution)).toEqual([5]);
});

test("an instance applies settings that it receives between two rounds", async () => {
  const apply = activity("apply", async (setting: string) => `applied ${setting}`);
  const setting = event<string>("setting");
  const main = orchestration("main", async (ctx) => {
    const log: string[] = [];
    for (let round = 0; round < 3; round++) {
      for (;;) {
        const next = await ctx.race({ setting: ctx.waitFor(setting), none: ctx.sleep(10) });
        if (next.key === "none") break;
        log.push(await ctx.run(apply, next.value));
      }
      await ctx.waitFor("round");
      log.push(`round ${round}`);
    }
    return log;
  });
  const { client } = await open([main, apply]);
  const handle = await client.start(main, undefined, {
    events: [
      { name: "setting", data: "v1" },
      { name: "setting", data: "v2" },
    ],
  });
  await state(handle, (info) =>
    info.waitingFor.some((wait) => "name" in wait && wait.name === "round"),
  );
  await handle.raise(setting, "v3");
  for (let round = 0; round < 3; round++) await handle.raise("round");
  expect(await handle.result()).toEqual([
    "applied v1",
    "applied v2",
    "round 0",
    "applied v3",
    "round 1",
    "round 2",
  ]);
});

test("log lines of orchestrations and activities reach the sink once each", async () => {
  const folder = mkdtempSync(join(tmpdir(), "perdure-lines-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "lines.log");
  const sink: LogSink = (level, message, fields) =>
    appendFileSync(file, `${level} ${message} ${String(fields["instance"])}\n`);
  const work = activity("work", async (_: undefined, { log }) => log.warn("working"));
  const main = orchestration("main", async (ctx) => {
    ctx.log.info("begun");
    await ctx.run(work);
    ctx.log.error("ended");
  });
  const { client } = await open([main, work], { runtime: { log: sink, stickyCacheMax: 0 } });
  await (await client.start(main, undefined, { id: "i" })).result();
  expect(readFileSync(file, "utf8").split("\n").filter(Boolean)).toEqual([
    "info begun i",
    "warn working i",
    "error ended i",
  ]);
});

test("a log sink that throws does not affect the instance", async () => {
  const sink: LogSink = () => {
    throw new Error("the disk is full");
  };
  const main = orchestration("main", async (ctx) => {
    ctx.log.info("lost");
    return "done";
  });
  const { client } = await open([main], { runtime: { log: sink } });
  expect(await (await client.start(main)).result()).toBe("done");
});

test("an invalid log sink is refused, and the error names the option", async () => {
  const { provider } = await open([]);
  const options = { log: "lines.log" } as unknown as RuntimeOptions;
  expect(() => new Runtime(provider, { ...options, register: [] })).toThrow(
    expect.objectContaining({
      code: "INVALID_ARGUMENT",
      message: expect.stringContaining("log must be a function"),
    }),
  );
});

test("an activity has typed inputs and outputs", async () => {
  interface Order {
    readonly lines: readonly { readonly sku: string; readonly quantity: number }[];
    readonly at: Date;
  }
  const total = activity("total", async (order: Order) => ({
    pieces: order.lines.reduce((sum, { quantity }) => sum + quantity, 0),
    at: order.at,
  }));
  const main = orchestration("main", (ctx, order: Order) => ctx.run(total, order));
  const { client } = await open([main, total]);
  const at = new Date("2026-01-02T03:04:05Z");
  const lines = [
    { sku: "a", quantity: 2 },
    { sku: "b", quantity: 3 },
  ];
  const { pieces, at: returned } = await (await client.start(main, { lines, at })).result();
  expect(pieces).toBe(5);
  expect(returned).toEqual(at);
});

test("the results of ctx.all have the types of their branches", async () => {
  const name = activity("name", async () => "Ada");
  const main = orchestration("main", async (ctx) => {
    const [n, text, nothing] = await ctx.all([ctx.run(double, 4), ctx.run(name), ctx.sleep(1)]);
    return { n: n + 1, text: text.toUpperCase(), nothing };
  });
  const { client } = await open([main, double, name]);
  expect(await (await client.start(main)).result()).toEqual({
    n: 9,
    text: "ADA",
    nothing: undefined,
  });
});

test("the winner of a race has the type of its branch", async () => {
  const main = orchestration("main", async (ctx) => {
    const first = await ctx.race({ number: ctx.run(double, 4), late: ctx.sleep("1h") });
    return first.key === "number" ? first.value.toFixed(1) : "late";
  });
  const { client } = await open([main, double]);
  expect(await (await client.start(main)).result()).toBe("8.0");
});

test("a child has typed inputs and outputs", async () => {
  const child = orchestration("child", async (_ctx, at: { x: number; y: number }) => at.x * at.y);
  const main = orchestration("main", async (ctx) => (await ctx.call(child, { x: 6, y: 7 })) + 0.5);
  const { client } = await open([main, child]);
  expect(await (await client.start(main)).result()).toBe(42.5);
});

test("a join of an activity and a timer waits for both", async () => {
  const main = orchestration("main", (ctx) => ctx.all([ctx.run(double, 2), ctx.sleep(20)]));
  const { client } = await open([main, double]);
  expect(await (await client.start(main)).result()).toEqual([4, undefined]);
});

test("the number of parallel calls can depend on the input", async () => {
  const main = orchestration("main", (ctx, numbers: number[]) =>
    ctx.all(numbers.map((n) => ctx.run(double, n))),
  );
  const { client } = await open([main, double]);
  const numbers = Array.from({ length: 50 }, (_, n) => n);
  expect(await (await client.start(main, numbers)).result()).toEqual(numbers.map((n) => n * 2));
  expect(await (await client.start(main, [])).result()).toEqual([]);
});

test("an activity wins a race against a long timer, and the timer is cancelled", async () => {
  const main = orchestration("main", (ctx) => ctx.race([ctx.run(double, 8), ctx.sleep("1d")]));
  const { client } = await open([main, double]);
  const handle = await client.start(main);
  expect(await handle.result()).toEqual({ index: 0, value: 16 });
  const kinds = (await handle.history()).map(({ kind }) => kind);
  expect(kinds).toContain("TimerCancelled");
});

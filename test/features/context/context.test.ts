// Context, middleware and services where they meet other features: encryption, moves, threads, runFlow, transactions and
// the test kit.

import { AsyncLocalStorage } from "node:async_hooks";
import { randomBytes } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { encryptingCodec } from "../../../src/encryption/index.ts";
import { flow, runFlow } from "../../../src/flow/index.ts";
import {
  activity,
  moveStore,
  orchestration,
  Perdure,
  threads,
  type OpenOptions,
} from "../../../src/index.ts";
import { SqliteProvider } from "../../../src/sqlite/index.ts";
import { TestEnvironment } from "../../../src/testing/index.ts";
import * as threadWork from "./thread-work.ts";

const read = activity("read", (_: unknown, ctx) => ctx.context);
const told = orchestration("told", async (ctx) => ctx.context);
const wait = orchestration("wait", async (ctx) => {
  await ctx.waitFor("go");
  return [ctx.context, await ctx.run(read), await ctx.call(told)];
});

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), "perdure-context-"));
  onTestFinished(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

async function open(address: string, options: OpenOptions): Promise<Perdure> {
  const perdure = await Perdure.open(address, {
    ...options,
    runtime: { log: () => undefined, ...options.runtime },
  });
  onTestFinished(() => perdure.close({ graceMs: 0 }));
  return perdure;
}

test("an encrypted context survives a move and a restart, and no store contains it in plain text", async () => {
  const canary = `tenant-${crypto.randomUUID()}`;
  const codec = encryptingCodec({ keys: { k: randomBytes(32) }, current: "k" });
  const options = { register: [read, told, wait], runtime: { codec } };
  const place = folder();
  const files = [join(place, "a.db"), join(place, "b.db")] as const;
  const before = await open(`sqlite:${files[0]}`, options);
  await before.client.start(wait, undefined, { id: "w", context: { canary } });
  await expect.poll(() => before.client.get("w").describe()).toMatchObject({ context: { canary } });
  await before.close();
  const [from, to] = [await SqliteProvider.open(files[0]), await SqliteProvider.open(files[1])];
  await moveStore(from, to);
  await Promise.all([from.close(), to.close()]);
  const after = await open(`sqlite:${files[1]}`, options);
  const moved = after.client.get(wait, "w");
  await moved.raise("go");
  expect(await moved.result()).toEqual([{ canary }, { canary }, { canary }]);
  await after.close();
  for (const name of readdirSync(place)) {
    expect(readFileSync(join(place, name)).includes(canary), name).toBe(false);
  }
});

test("a worker without the key of a context leaves its instance blocked, not failed", async () => {
  const keys = { old: randomBytes(32), new: randomBytes(32) };
  const oldest = encryptingCodec({ keys: { old: keys.old }, current: "old" });
  const newest = encryptingCodec({ keys: { new: keys.new }, current: "new" });
  const address = `sqlite:${join(folder(), "store.db")}`;
  const options = { register: [told], autoStart: false };
  const client = await open(address, { ...options, runtime: { codec: oldest } });
  await client.client.start(told, undefined, { id: "t", context: { tenant: "acme" } });
  await client.close();
  const worker = await open(address, { register: [told], runtime: { codec: newest } });
  await expect
    .poll(() => worker.client.get("t").describe())
    .toMatchObject({ blocked: { code: "KEY_MISSING" } });
});

test("a thread uses the services and the middleware of its module", async () => {
  const executor = threads({ module: new URL("./thread-work.ts", import.meta.url), size: 1 });
  const main = orchestration("main", async (ctx, name: string) => ctx.run(name, "m"));
  const { work, lacking, middleware } = threadWork;
  const options = { register: [main, told, work, lacking], runtime: { executor } };
  const { client } = await open("sqlite::memory:", { ...options, middleware: [] });
  const context = { tenant: "acme" };
  const handle = await client.start(main, "work", { id: "m", context });
  const result = { prefix: "thread", context, told: { by: "thread" } };
  expect(await handle.result({ timeout: "60s" })).toEqual({ tenant: "acme", result });
  const missing = await client.start(main, "lacking");
  await expect(missing.result({ timeout: "60s" })).rejects.toThrow(
    /There is no service "db"; add it: the module of the thread must export const services/,
  );
  const bare = threads({ module: new URL("./bare-work.ts", import.meta.url), size: 1 });
  const { work: bareWork } = await import("./bare-work.ts");
  await expect(
    open("sqlite::memory:", { register: [bareWork], middleware, runtime: { executor: bare } }),
  ).rejects.toMatchObject({
    code: "INVALID_ARGUMENT",
    message: expect.stringContaining("the runtime has middleware, but it exports none"),
  });
});

test("wrong options of open are refused", async () => {
  for (const [options, what] of [
    [{ middleware: {} }, "middleware must be a list"],
    [{ middleware: [{ strat: () => 1 }] }, 'middleware[0]: unknown option "strat"'],
    [{ services: 5 }, "services must be an object; got 5."],
  ] as const) {
    await expect(open("sqlite::memory:", options as never)).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
      message: expect.stringContaining(what),
    });
  }
});

test.each([
  [{ context: { tenant: "acme" } }, "must change context of the call, not of its options"],
  [null, "The options of a call must be an object; got null."],
  [{ idd: "x" }, 'unknown option "idd"'],
])("options that a middleware makes are checked: %j", async (options, what) => {
  const kit = await TestEnvironment.create({
    register: [told, wait],
    middleware: [{ start: (call, next) => next({ ...call, options: options as never }) }],
  });
  onTestFinished(() => kit.close());
  await expect(kit.client.start(told, undefined)).rejects.toMatchObject({
    code: "INVALID_ARGUMENT",
    message: expect.stringContaining(what),
  });
  expect(await kit.client.count()).toBe(0);
});

test("a wrong context is refused at every call, and nothing is written", async () => {
  const kit = await TestEnvironment.create({ register: [read, told, wait] });
  onTestFinished(() => kit.close());
  const { client } = kit;
  const large = { text: "x".repeat(5_000) };
  const wrong = [1, 2] as never;
  const isRefused = { code: "INVALID_ARGUMENT" };
  const isLarge = { code: "LIMIT_EXCEEDED" };
  await expect(client.start(told, undefined, { context: wrong })).rejects.toMatchObject(isRefused);
  await expect(client.start(told, undefined, { context: large })).rejects.toMatchObject(isLarge);
  await expect(client.enqueue(read, 1, { context: wrong })).rejects.toMatchObject(isRefused);
  await expect(client.enqueue(read, 1, { context: large })).rejects.toMatchObject(isLarge);
  const one = { input: 1, context: large };
  await expect(client.enqueueMany(read, [one])).rejects.toMatchObject(isLarge);
  await expect(
    client.ask(wait, "w", "x", undefined, { start: { context: large } }),
  ).rejects.toMatchObject(isLarge);
  expect(await client.count()).toBe(0);
});

test("an orchestration can catch the error of a context that is too large", async () => {
  const parent = orchestration("parent", async (ctx) => {
    try {
      await ctx.call(told, undefined, { context: { text: "x".repeat(5_000) } });
    } catch (error) {
      return (error as { code?: string }).code;
    }
    return "started";
  });
  const kit = await TestEnvironment.create({ register: [told, parent] });
  onTestFinished(() => kit.close());
  expect(await (await kit.start(parent)).result()).toBe("LIMIT_EXCEEDED");
});

test("a test gives fakes as services, and middleware sets up an async context", async () => {
  const tenants = new AsyncLocalStorage<unknown>();
  const bill = activity("bill", async (cents: number, ctx) => {
    const charge = ctx.services["charge"] as (cents: number) => string;
    return `${String(tenants.getStore())}: ${charge(cents)}`;
  });
  const pay = orchestration("pay", async (ctx, cents: number) => {
    const billed = await ctx.run(bill, cents);
    const shown = await ctx.step("show", (s) => (s.services["charge"] as () => string)());
    return [billed, shown];
  });
  const kit = await TestEnvironment.create({
    register: [bill, pay],
    services: { charge: (cents = 0) => `charged ${cents}` },
    middleware: [{ activity: (call, next) => tenants.run(call.context["tenant"], next) }],
  });
  onTestFinished(() => kit.close());
  const handle = await kit.start(pay, 5, { context: { tenant: "acme" } });
  expect(await handle.result()).toEqual(["acme: charged 5", "charged 0"]);
});

test("ctx.tx passes no step middleware", async () => {
  const names: string[] = [];
  const both = orchestration("both", async (ctx) => {
    await ctx.tx("write", () => 1);
    return ctx.step("show", () => 2);
  });
  const kit = await TestEnvironment.create({
    register: [both],
    middleware: [{ step: (call, next) => (names.push(call.name), next()) }],
  });
  onTestFinished(() => kit.close());
  expect(await (await kit.start(both)).result()).toBe(2);
  expect(names).toEqual(["show"]);
});

test("runFlow has services and an empty context", async () => {
  const line = flow<number>("line")
    .then("add", (n, ctx) => n + (ctx.services["one"] as number) + Object.keys(ctx.context).length)
    .build();
  expect(await runFlow(line, 1, { services: { one: 1 } })).toBe(2);
});

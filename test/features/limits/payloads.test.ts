// Payloads and state over their limits are refused at the call, before anything is written.

import { expect, test } from "vitest";
import { activity, Client, orchestration, Perdure, type PerdureError } from "../../../src/index.ts";
import { freshStore } from "../../support/test-store.ts";
import { refusalOf, virtualStore, virtualWorld } from "../../faults/trouble/support.ts";

const limits = { payloadBytesMax: 100 };
const small = "x".repeat(98); // 100 bytes with its quotes
const large = "x".repeat(99);
const LIMIT = { code: "LIMIT_EXCEEDED" };

const echo = activity("echo", (value: string) => value);
const inflate = activity("inflate", () => large);

test("a start with an input over the limit is refused and writes nothing", async () => {
  const { provider } = await virtualStore();
  const client = new Client(provider, { limits });
  const refusal = await refusalOf(client.start("any", large, { id: "a" }));
  expect(refusal).toMatchObject(LIMIT);
  expect(refusal.message).toBe("The value has 101 bytes; the limit is 100.");
  expect(await client.get("a").exists()).toBe(false);
  await client.start("any", small, { id: "a" });
});

test("raising an event over the limit is refused", async () => {
  const { provider } = await virtualStore();
  const client = new Client(provider, { limits });
  await client.start("any", null, { id: "a" });
  expect(await refusalOf(client.raise("a", "e", large))).toMatchObject(LIMIT);
  const events = [{ name: "e", data: large }];
  expect(await refusalOf(client.start("any", null, { id: "b", events }))).toMatchObject(LIMIT);
  expect(await client.get("b").exists()).toBe(false);
});

test("an input over the limit is refused at the call, and the code can continue", async () => {
  const main = orchestration("main", async (ctx) => {
    const refused: string[] = [];
    const calls = [
      () => ctx.run(echo, large),
      () => ctx.call("child", large),
      () => ctx.startDetached("child", large, { id: "d" }),
      () => ctx.waitFor("e", { details: large }),
      () => ctx.continueAsNew(large as never),
    ];
    for (const call of calls) {
      try {
        void call();
      } catch (error) {
        refused.push((error as PerdureError).code);
      }
    }
    return [refused.length, await ctx.run(echo, small.slice(9))];
  });
  for (const stickyCacheMax of [0, 10]) {
    const { client } = await virtualWorld([main, echo], { limits, stickyCacheMax });
    const handle = await client.start(main, undefined, { id: "a" });
    expect(await handle.result()).toEqual([5, small.slice(9)]);
    expect((await handle.history()).map(({ kind }) => kind)).toEqual([
      "OrchestrationStarted",
      "ActivityScheduled",
      "ActivityCompleted",
      "OrchestrationCompleted",
    ]);
  }
});

test("a result over the limit fails the call at once without retries", async () => {
  const main = orchestration("main", async (ctx) => ctx.run(inflate, undefined, { attempts: 5 }));
  const step = orchestration("step", async (ctx) => ctx.step("big", () => large, { attempts: 5 }));
  const { client, runtime } = await virtualWorld([main, step, inflate], { limits });
  for (const which of [main, step]) {
    const handle = await client.start(which, undefined);
    const failed: unknown = await handle.result().catch((error: unknown) => error);
    expect(failed).toMatchObject({ cause: { attempts: 1, cause: LIMIT } });
  }
  expect(runtime.stats().activities.started).toBe(1);
});

test("an orchestration with an output over the limit fails with LIMIT_EXCEEDED", async () => {
  const main = orchestration("main", async () => large);
  const { client } = await virtualWorld([main], { limits });
  const handle = await client.start(main, undefined);
  await expect(handle.result()).rejects.toMatchObject({ cause: LIMIT });
});

test("lowering a limit does not affect values that are already in the history", async () => {
  const main = orchestration("main", async (ctx) => {
    const said = await ctx.run(echo, large);
    await ctx.waitFor("go");
    return said.length;
  });
  const { client, runtime, provider, environment } = await virtualWorld([main, echo], {});
  const handle = await client.start(main, undefined, { id: "a" });
  await environment.advance(10);
  expect((await handle.describe()).waitingFor).toMatchObject([{ kind: "event" }]);
  await runtime.shutdown({ graceMs: 0 });
  const lower = await Perdure.open(provider, {
    register: [main, echo],
    runtime: { limits, log: () => undefined },
  });
  await handle.raise("go");
  expect(await handle.result()).toBe(99);
  await lower.close({ graceMs: 0 });
});

test("status and key-values have separate limits", async () => {
  const main = orchestration("main", async (ctx) => {
    const codes: string[] = [];
    const refused = (call: () => void): void => {
      try {
        call();
      } catch (error) {
        codes.push((error as PerdureError).code);
      }
    };
    refused(() => ctx.setStatus("x".repeat(9)));
    refused(() => ctx.kv.set("a", "x".repeat(19)));
    ctx.kv.set("a", 1);
    ctx.kv.set("b", 2);
    refused(() => ctx.kv.set("c", 3));
    ctx.kv.set("b", 4);
    ctx.setStatus("x".repeat(8));
    return codes;
  });
  const own = { statusBytesMax: 10, kvKeysMax: 2, kvValueBytesMax: 20 };
  const { client } = await virtualWorld([main], { limits: own });
  const handle = await client.start(main, undefined);
  expect(await handle.result()).toEqual(Array(3).fill("LIMIT_EXCEEDED"));
});

test("a value at three quarters of its limit logs one warning", async () => {
  const main = orchestration("main", async (ctx, n: number) => {
    await ctx.run(echo, "x".repeat(n));
    ctx.setStatus("y".repeat(n));
    ctx.kv.set("k", "z".repeat(n));
    await ctx.run(echo, "x".repeat(n));
  });
  const own = { payloadBytesMax: 100, statusBytesMax: 100, kvValueBytesMax: 100, kvKeysMax: 1 };
  const { client, logs } = await virtualWorld([main, echo], { limits: own });
  const warned = () =>
    logs.lines.filter(({ level }) => level === "warn").map(({ message }) => message);
  await (await client.start(main, 72, { id: "below" })).result();
  expect(warned()).toEqual(['"below" has 1 of at most 1 keys']);
  await (await client.start(main, 73, { id: "near" })).result();
  expect(warned().slice(1).toSorted()).toEqual([
    '"near" has 1 of at most 1 keys',
    'An output of "near" has 75 of at most 100 bytes',
    'The input of "echo" of "near" has 75 of at most 100 bytes',
    'The status of "near" has 75 of at most 100 bytes',
    'The value of key "k" of "near" has 75 of at most 100 bytes',
  ]);
});

test.each<[string, unknown]>([
  ["an unknown name", { eventsMax: 1 }],
  ["zero", { payloadBytesMax: 0 }],
  ["a fraction", { payloadBytesMax: 1.5 }],
  ["a text", { payloadBytesMax: "2MB" }],
  ["a number", 5],
])("limits with %s are refused when the runtime is opened", async (_, given) => {
  const bad = { limits: given as never };
  const opened = Perdure.open(await freshStore(), { runtime: bad });
  await expect(opened).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
});

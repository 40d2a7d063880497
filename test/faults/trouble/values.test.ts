// Values that would not survive storage: refused with their path at the call that passes them (I10, semantics 28).

import { describe, expect, test } from "vitest";
import {
  activity,
  defaultCodec,
  event,
  orchestration,
  PerdureError,
  type Codec,
  type OrchestrationContext,
} from "../../../src/index.ts";
import { refusalOf, virtualStore, virtualWorld } from "./support.ts";

class Money {
  readonly amount: number;
  constructor(amount: number) {
    this.amount = amount;
  }
}
const circle: { self?: unknown } = {};
circle.self = circle;
const sparse = [1, 2, 3];
delete sparse[1];

/** [description, the value, the path of the defect, the expected part of the message]. */
const UNFIT: readonly (readonly [string, unknown, string, string])[] = [
  ["a function", { items: [1, { fn: () => 1 }] }, "$.items[1].fn", "function"],
  ["a symbol", { "odd key": Symbol("s") }, '$["odd key"]', "symbol"],
  ["an instance of a class", { total: new Money(3) }, "$.total", "class Money"],
  ["a cycle", { circle }, "$.circle.self", "circ"],
  ["a sparse array", { list: sparse }, "$.list[1]", "hole"],
  ["a promise", { later: Promise.resolve(1) }, "$.later", "await it first"],
  ["a WeakMap in a Map", new Map([["k", new WeakMap()]]), '$.get("k")', "WeakMap"],
  ["a function by itself", () => 1, "$", "function"],
];

const echo = activity("echo", (value: unknown) => value);
const idle = orchestration("idle", async (ctx) => ctx.waitFor("done"));

describe.each(UNFIT)("%s", (_, value, path, why) => {
  test("as the input of a start is refused with its path, and nothing is written", async () => {
    const { client } = await virtualStore();
    const error = await refusalOf(client.start("o", value, { id: "a" }));
    expect(error).toMatchObject({ code: "VALUE_NOT_SERIALIZABLE", path });
    expect(error.message).toContain(path);
    expect(error.message.toLowerCase()).toContain(why.toLowerCase());
    expect(await client.get("a").exists()).toBe(false);
  });

  test("as the data of an event is refused with its path, and the instance gets nothing", async () => {
    const { client, provider } = await virtualStore();
    const handle = await client.start(idle, undefined, { id: "a" });
    const error = await refusalOf(handle.raise("done", value));
    expect(error).toMatchObject({ code: "VALUE_NOT_SERIALIZABLE", path });
    const record = await provider.readInstance("a");
    const inbox = await provider.readInbox(record?.key ?? 0);
    expect(inbox.map(({ kind }) => kind)).toEqual(["start"]);
  });

  test("as an activity's result fails it at once, whatever its retry policy", async () => {
    let runs = 0;
    const bad = activity(
      "bad",
      () => {
        runs++;
        return value;
      },
      { attempts: 5 },
    );
    const work = orchestration("work", async (ctx) => ctx.run(bad));
    const { client, environment } = await virtualWorld([work, bad]);
    const handle = await client.start(work);
    const result = handle.result();
    await Promise.allSettled([result, environment.advance(60_000)]);
    await expect(result).rejects.toMatchObject({
      kind: "failed",
      message: expect.stringContaining(path),
      cause: {
        code: "ACTIVITY_FAILED",
        attempts: 1,
        cause: { code: "VALUE_NOT_SERIALIZABLE", path },
      },
    });
    expect(runs).toBe(1);
  });
});

describe("inside an orchestration, a value that cannot be stored", () => {
  const bad = { items: [{ fn: () => 1 }] };
  const refused = { code: "VALUE_NOT_SERIALIZABLE", path: "$.items[0].fn" };

  const calls: readonly (readonly [
    string,
    (ctx: OrchestrationContext<undefined>) => Promise<unknown>,
  ])[] = [
    ["ctx.run's input", async (ctx) => ctx.run(echo, bad)],
    ["ctx.call's input", async (ctx) => ctx.call("idle", bad)],
    ["ctx.startDetached's input", async (ctx) => ctx.startDetached("idle", bad, { id: "d" })],
    ["ctx.waitFor's details", async (ctx) => ctx.waitFor("done", { details: bad })],
    ["ctx.continueAsNew's input", async (ctx) => ctx.continueAsNew(bad as never)],
  ];
  test.each(calls)("as %s throws at the call, and nothing is recorded", async (_, fn) => {
    const caught: unknown[] = [];
    const work = orchestration("work", async (ctx: OrchestrationContext<undefined>) => {
      try {
        return await fn(ctx);
      } catch (error) {
        caught.push(error);
        throw error;
      }
    });
    const { client } = await virtualWorld([work, echo, idle]);
    const handle = await client.start(work, undefined, { id: "a" });
    await expect(handle.result()).rejects.toMatchObject({
      code: "ORCHESTRATION_FAILED",
      cause: refused,
    });
    expect(caught).toMatchObject([refused]);
    expect((await handle.history()).map(({ kind }) => kind)).toEqual([
      "OrchestrationStarted",
      "OrchestrationFailed",
    ]);
    expect(await client.get("d").exists()).toBe(false);
  });

  test("as a step's result fails the step without a retry", async () => {
    let runs = 0;
    const work = orchestration("work", async (ctx) =>
      ctx.step(
        "bad",
        () => {
          runs++;
          return bad;
        },
        { attempts: 4 },
      ),
    );
    const { client, environment } = await virtualWorld([work]);
    const handle = await client.start(work);
    const result = handle.result();
    await Promise.allSettled([result, environment.advance(60_000)]);
    await expect(result).rejects.toMatchObject({
      cause: { code: "STEP_FAILED", attempts: 1, cause: refused },
    });
    expect(runs).toBe(1);
  });

  test("as the output ends the instance as failed, with the path in its error", async () => {
    const work = orchestration("work", async () => bad);
    const { client } = await virtualWorld([work]);
    const handle = await client.start(work);
    const error = await refusalOf(handle.result());
    expect(error).toMatchObject({ code: "ORCHESTRATION_FAILED", kind: "failed", cause: refused });
    expect(error.message).toContain("$.items[0].fn");
    expect(await handle.describe()).toMatchObject({ status: "failed", error: { cause: refused } });
  });

  test("can be caught and sent in another form", async () => {
    const work = orchestration("work", async (ctx) => {
      try {
        return await ctx.run(echo, bad);
      } catch (error) {
        if (!(error instanceof PerdureError)) throw error;
        return ctx.run(echo, { items: error.path });
      }
    });
    const { client } = await virtualWorld([work, echo]);
    expect(await (await client.start(work)).result()).toEqual({ items: "$.items[0].fn" });
  });
});

test("data that a schema refuses is refused at the call, with its path, and nothing is written", async () => {
  const approval = event("approval", positive("by"));
  const guarded = orchestration("guarded", async (ctx) => ctx.waitFor(approval), {
    input: positive("n"),
  });
  const { client } = await virtualStore();
  const error = await refusalOf(client.start(guarded, -1, { id: "a" }));
  expect(error.code).toBe("INVALID_ARGUMENT");
  expect(error.message).toBe('Invalid input of "guarded": n: must be positive.');
  expect(await client.get("a").exists()).toBe(false);

  const handle = await client.start(guarded, 1, { id: "a" });
  const refused = await refusalOf(handle.raise(approval, -1));
  expect(refused.message).toBe('Invalid event "approval": by: must be positive.');
});

test("keys named __proto__ and constructor are data and pollute nothing", async () => {
  const work = orchestration("work", async (ctx, input: unknown) => ctx.run(echo, input));
  const { client } = await virtualWorld([work, echo]);
  const input = JSON.parse(
    '{"__proto__":{"polluted":true},"constructor":{"prototype":1}}',
  ) as object;
  const output = (await (await client.start(work, input)).result()) as object;
  expect(Object.getOwnPropertyNames(output)).toEqual(["__proto__", "constructor"]);
  expect(Object.getPrototypeOf(output)).toBe(Object.prototype);
  expect("polluted" in {}).toBe(false);
});

test("an activity gets a copy of its input: no other code sees its changes", async () => {
  const spoil = activity("spoil", (list: number[]) => list.push(99));
  const work = orchestration("work", async (ctx, list: number[]) => {
    await ctx.run(spoil, list);
    return list;
  });
  const { client } = await virtualWorld([work, spoil]);
  expect(await (await client.start(work, [1])).result()).toEqual([1]);
});

test("a codec that cannot read stored values blocks the instance, and a working codec reads it unharmed", async () => {
  let broken = false;
  const codec: Codec = {
    encode: (value) => defaultCodec.encode(value),
    decode: (text) => {
      if (broken) throw new Error("the key is gone");
      return defaultCodec.decode(text);
    },
  };
  const work = orchestration("work", async (ctx) => {
    const first = await ctx.run(echo, "kept");
    await ctx.sleep("1h");
    return first;
  });
  const { client, environment, logs } = await virtualWorld([work, echo], { codec });
  const handle = await client.start(work, undefined, { id: "a" });
  await environment.settle();
  broken = true;
  await environment.advance(3_700_000);
  expect(await handle.describe()).toMatchObject({
    status: "running",
    blocked: { code: "HISTORY_CORRUPT", message: expect.stringContaining("the key is gone") },
  });
  expect(logs.about("the key is gone").length).toBeGreaterThan(0);
  expect((await handle.history()).map(({ kind }) => kind)).toEqual([
    "OrchestrationStarted",
    "ActivityScheduled",
    "ActivityCompleted",
    "TimerCreated",
  ]);
});

function positive(key: string) {
  return {
    "~standard": {
      version: 1 as const,
      vendor: "test",
      validate: (value: unknown) =>
        typeof value === "number" && value > 0
          ? { value }
          : { issues: [{ message: "must be positive", path: [key] }] },
      types: undefined as { input: number; output: number } | undefined,
    },
  };
}

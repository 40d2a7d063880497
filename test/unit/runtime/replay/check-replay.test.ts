// Whether changed code still replays a recorded history, as `perdure check` and `perdure/testing` report it.

import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  activity,
  event,
  orchestration,
  Perdure,
  type Orchestration,
} from "../../../../src/index.ts";
import { SqliteProvider } from "../../../../src/sqlite/index.ts";
import {
  formatRecorded,
  parseRecorded,
  recordHistory,
  replayHistory,
  VirtualEnvironment,
} from "../../../../src/testing/index.ts";

let environment: VirtualEnvironment;
let perdure: Perdure;
const logged: string[] = [];
beforeEach(async () => {
  environment = new VirtualEnvironment();
  const provider = await SqliteProvider.open(":memory:", { environment });
  const log = (_: string, message: string) => void logged.push(message);
  perdure = await Perdure.open(provider, { register: [pay, charge], runtime: { log } });
});
afterEach(async () => {
  await perdure.close({ graceMs: 0 });
  await perdure.provider.close();
  logged.length = 0;
});

const charge = activity("charge", async (cents: number) => `r-${cents}`);
const approval = event<string>("approval");
const pay = orchestration("pay", async (ctx, cents: number) => {
  const receipt = await ctx.run(charge, cents);
  const by = await ctx.waitFor(approval);
  return { receipt, by };
});

async function waiting(id: string) {
  const handle = await perdure.client.start(pay, 5, { id });
  await environment.settle();
  return handle;
}
const check = async (id: string, code: Orchestration<never, unknown>) =>
  replayHistory(await recordHistory(perdure.provider, id), code);

test("the code that wrote a history replays it, while the instance runs and after it ended", async () => {
  const handle = await waiting("a");
  expect(await check("a", pay)).toEqual({ kind: "ok", events: 4 });
  await handle.raise(approval, "ada");
  await environment.settle();
  expect(await check("a", pay)).toEqual({ kind: "ok", events: 6 });
});

test("an instance before its first turn always passes", async () => {
  await perdure.client.start("unregistered", 5, { id: "later", delay: "1h" });
  expect(await check("later", pay)).toEqual({ kind: "ok", events: 0 });
});

describe("a change that would block the instance", () => {
  test("a different activity: the report has both activities and the source line of the call", async () => {
    await waiting("a");
    const changed = orchestration("pay", async (ctx, cents: number) => ctx.run("bill", cents));
    expect(await check("a", changed)).toMatchObject({
      kind: "blocked",
      events: 4,
      reason: {
        code: "NONDETERMINISM",
        sequence: 2,
        recorded: { kind: "ActivityScheduled", name: "charge", input: "5" },
        requested: { kind: "ActivityScheduled", name: "bill", input: "5" },
        source: expect.stringMatching(/check-replay\.test\.ts:\d+:\d+/),
      },
    });
  });

  test("an extra call", async () => {
    await waiting("a");
    const changed = orchestration("pay", async (ctx, cents: number) => {
      await ctx.run(charge, cents);
      ctx.setStatus("waiting");
      await ctx.waitFor(approval);
    });
    const requested = { kind: "StatusSet" };
    const reason = { sequence: 4, recorded: { kind: "EventSubscribed" }, requested };
    expect(await check("a", changed)).toMatchObject({ kind: "blocked", reason });
  });

  test("a missing call", async () => {
    await waiting("a");
    const changed = orchestration("pay", async (ctx, cents: number) => ctx.run(charge, cents));
    const reason = { recorded: { kind: "EventSubscribed" } };
    expect(await check("a", changed)).toMatchObject({ kind: "blocked", reason });
  });

  test("an end that differs from the recorded end", async () => {
    const handle = await waiting("a");
    await handle.raise(approval, "ada");
    await environment.settle();
    const changed = orchestration("pay", async (ctx, cents: number) => {
      await ctx.run(charge, cents);
      await ctx.waitFor(approval);
      throw new Error("changed my mind");
    });
    const reason = {
      recorded: { kind: "OrchestrationCompleted" },
      requested: { kind: "OrchestrationFailed" },
    };
    expect(await check("a", changed)).toMatchObject({ kind: "blocked", reason });
  });

  test("waiting for a promise that is not durable", async () => {
    await waiting("a");
    const changed = orchestration("pay", async () => new Promise(() => undefined));
    expect(await check("a", changed)).toMatchObject({ kind: "blocked" });
  });
});

test("guards are on: Date.now() returns the recorded time, and setTimeout is refused (check-replay.2)", async () => {
  await waiting("a");
  const guarded = orchestration("pay", async (ctx, cents: number) => {
    if (Date.now() !== ctx.now().getTime()) throw new Error("Date.now() returned the real time");
    await ctx.run(charge, cents);
    await ctx.waitFor(approval);
  });
  expect(await check("a", guarded)).toMatchObject({ kind: "ok" });
  expect(Math.abs(Date.now() - performance.timeOrigin - performance.now())).toBeLessThan(60_000);
  const timed = orchestration("pay", async () => void setTimeout(() => undefined, 1));
  expect(await check("a", timed)).toMatchObject({
    kind: "blocked",
    reason: { requested: { kind: "OrchestrationFailed" } },
  });
});

test("a check runs no activity and logs nothing (check-replay.1)", async () => {
  await waiting("a");
  const logging = orchestration("pay", async (ctx, cents: number) => {
    ctx.log.info("hello");
    await ctx.run(charge, cents);
    await ctx.waitFor(approval);
  });
  const before = await perdure.client.get("a").describe();
  await check("a", logging);
  expect(await perdure.client.get("a").describe()).toEqual(before);
  expect(logged).toEqual([]);
});

test("an end by terminate or cancel does not count as a difference (check-replay.3)", async () => {
  await (await waiting("a")).terminate("enough");
  expect(await check("a", pay)).toEqual({ kind: "ok", events: 5 });
  await (await waiting("b")).cancel("enough");
  await environment.settle();
  expect(await check("b", pay)).toMatchObject({ kind: "ok" });
});

test("the copied part of a fork's history is compared loosely, as in the runtime", async () => {
  await waiting("a");
  await perdure.client.fork("a", { beforeSequence: 4, id: "copy" });
  const changed = orchestration("pay", async (ctx, cents: number) => {
    await ctx.run(charge, cents * 2);
    await ctx.waitFor(approval);
  });
  expect(await check("a", changed)).toMatchObject({ kind: "blocked" });
  expect(await check("copy", changed)).toMatchObject({ kind: "ok" });
});

describe("a recorded history as text", () => {
  test("is parsed to the same history and replays", async () => {
    await waiting("a");
    const recorded = await recordHistory(perdure.provider, "a");
    const restored = parseRecorded(formatRecorded(recorded));
    expect(restored).toEqual(recorded);
    expect(restored).toMatchObject({ id: "a", name: "pay", version: "1.0.0", execution: 1 });
    expect(await replayHistory(restored, pay)).toMatchObject({ kind: "ok" });
  });

  test("contains the requested execution; a missing execution or instance is refused", async () => {
    const handle = await waiting("a");
    await handle.terminate();
    await handle.restart();
    const first = await recordHistory(perdure.provider, "a", { execution: 1 });
    expect(first.execution).toBe(1);
    expect(await replayHistory(first, pay)).toMatchObject({ kind: "ok" });
    const missing = recordHistory(perdure.provider, "a", { execution: 9 });
    await expect(missing).rejects.toMatchObject({ code: "INSTANCE_NOT_FOUND" });
    const missingInstance = recordHistory(perdure.provider, "missing");
    await expect(missingInstance).rejects.toMatchObject({ code: "INSTANCE_NOT_FOUND" });
  });

  test.each([
    ["that is not JSON", "{"],
    ["in an unknown format", '{"format":"perdure.history/2"}'],
    ["without an id", '{"format":"perdure.history/1"}'],
    ["with invalid rows", `${formatted().slice(0, -3)},"rows":[1]}`],
  ])("%s is refused", (_, text) => {
    expect(() => parseRecorded(text)).toThrow(/not a recorded history/);
  });

  test("with an undecodable row or an incomplete event is reported as HISTORY_CORRUPT", async () => {
    await waiting("a");
    const recorded = await recordHistory(perdure.provider, "a");
    const [first, ...rest] = recorded.rows;
    if (first === undefined) throw new Error("the history must have a first row");
    const torn = { ...recorded, rows: [{ ...first, data: "{" }, ...rest] };
    const reason = { code: "HISTORY_CORRUPT" };
    expect(await replayHistory(torn, pay)).toMatchObject({ kind: "blocked", reason });
    const hollow = first.data.replace(/"input":"5"/, '"input":{}');
    const bad = { ...recorded, rows: [{ ...first, data: hollow }, ...rest] };
    expect(await replayHistory(bad, pay)).toMatchObject({ kind: "blocked", reason });
  });
});

function formatted(): string {
  const recorded = { id: "a", name: "pay", version: null, execution: 1, priority: 3 };
  return formatRecorded({ ...recorded, copiedUntil: 0, rows: [] }).replace('"rows":[]', '"x":1');
}

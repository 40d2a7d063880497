// The first turn: there is no history, and the code runs from its start to its first wait.

import { expect, test } from "vitest";
import { encode, RUN_ID, SEED } from "./bodies.ts";
import { begin, failureOf, outputOf } from "./support.ts";

test("a function that returns at once completes in its first turn", async () => {
  const play = await begin(async () => "done");
  expect(play.last.brief).toEqual(["OrchestrationStarted main", "OrchestrationCompleted"]);
  expect(outputOf(play.last)).toBe("done");
  expect(play.last.open).toEqual([]);
});

test("a function that throws at once fails in its first turn", async () => {
  const play = await begin(async () => {
    throw new TypeError("no");
  });
  expect(play.last.brief).toEqual(["OrchestrationStarted main", "OrchestrationFailed"]);
  expect(failureOf(play.last)).toMatchObject({
    outcome: "failed",
    failure: { name: "TypeError", message: "no", category: "application" },
  });
});

test("a function that throws synchronously fails like a function that rejects", async () => {
  const play = await begin(() => {
    throw new Error("synchronous");
  });
  expect(failureOf(play.last).failure.message).toBe("synchronous");
});

test("the input arrives and the output is stored unchanged", async () => {
  const input = { when: new Date(5), big: 2n ** 70n, none: undefined, list: [1, null] };
  const play = await begin(async (_ctx, given: typeof input) => ({ given }), { input });
  expect(outputOf(play.last)).toEqual({ given: input });
});

test("an activity is scheduled at the call and left open", async () => {
  const play = await begin(async (ctx) => ctx.run("charge", { cents: 5 }));
  expect(play.last.events[1]).toEqual({
    kind: "ActivityScheduled",
    name: "charge",
    input: encode({ cents: 5 }),
  });
  expect(play.last.open).toEqual(["2 activity charge"]);
  expect(play.last.ended).toBeNull();
  expect(play.last.blocked).toBeNull();
});

test("a timer, a wait, a child and a step are each left open", async () => {
  const timer = await begin(async (ctx) => ctx.sleep("5s"));
  const wait = await begin(async (ctx) => ctx.waitFor("go"));
  const child = await begin(async (ctx) => ctx.call("other", 1));
  const step = await begin(async (ctx) => ctx.step("look", () => 1));
  expect(timer.last.open).toEqual(["2 timer timer"]);
  expect(wait.last.open).toEqual(["2 event go"]);
  expect(child.last.open).toEqual(["2 child other"]);
  expect(step.last.open).toEqual(["2 step look"]);
});

test("calls without an await are scheduled in call order, and all of them are open", async () => {
  const play = await begin(async (ctx) => {
    const tasks = [ctx.run("a"), ctx.sleep(10), ctx.call("c"), ctx.waitFor("e")];
    return ctx.all(tasks);
  });
  expect(play.last.brief.slice(1)).toEqual([
    "ActivityScheduled a",
    "TimerCreated",
    "ChildScheduled c",
    "EventSubscribed e",
  ]);
  expect(play.last.open).toEqual(["2 activity a", "3 timer timer", "4 child c", "5 event e"]);
});

test("scheduling happens at the call and not at the await", async () => {
  const play = await begin(async (ctx) => {
    const later = ctx.run("first");
    await ctx.run("second");
    return later;
  });
  expect(play.last.brief.slice(1)).toEqual(["ActivityScheduled first", "ActivityScheduled second"]);
});

test("continueAsNew ends the first execution in its first turn", async () => {
  const play = await begin(async (ctx, n: number) => ctx.continueAsNew(n + 1), { input: 1 });
  expect(play.last.brief).toEqual(["OrchestrationStarted main", "OrchestrationContinuedAsNew"]);
  expect(play.last.item.change).toMatchObject({ kind: "continued", version: null, unread: [] });
  expect(play.last.ended).toMatchObject({ input: encode(2) });
});

test("a child called before continueAsNew is recorded, cancelled and never started", async () => {
  const play = await begin(async (ctx) => {
    void ctx.call("other", 1);
    return ctx.continueAsNew(undefined);
  });
  expect(play.last.brief.slice(1)).toEqual([
    "ChildScheduled other",
    "ChildCancelRequested #2",
    "OrchestrationContinuedAsNew",
  ]);
  expect(play.last.item.starts).toEqual([]);
  expect(play.last.item.sends).toEqual([]);
});

test("the start event carries the run id, the seed and the version that runs", async () => {
  const play = await begin(async (ctx) => ctx.info.version, {
    start: { orchestrationVersion: "" },
  });
  expect(play.last.events[0]).toMatchObject({
    runId: RUN_ID,
    seed: SEED,
    orchestrationVersion: "1.0.0",
  });
  expect(outputOf(play.last)).toBe("1.0.0");
});

test("ctx.info describes the running instance", async () => {
  const parent = { id: "p", runId: "r", execution: 2, sequence: 7 };
  const play = await begin(
    async ({ info }) => ({
      instanceId: info.instanceId,
      executionId: info.executionId,
      name: info.name,
      parent: info.parent,
      cancelRequested: info.cancelRequested,
      attributes: info.attributes,
    }),
    { id: "order-1", execution: 4, start: { parent, attributes: { customer: "42" } } },
  );
  expect(outputOf(play.last)).toEqual({
    instanceId: "order-1",
    executionId: 4,
    name: "main",
    parent: { id: "p", sequence: 7 },
    cancelRequested: false,
    attributes: { customer: "42" },
  });
});

test("the error for a function given to ctx.run suggests ctx.step", async () => {
  const play = await begin(async (ctx, _input, note) => {
    try {
      void ctx.run<string, unknown>("charge", () => 1);
    } catch (error) {
      note((error as Error).message);
    }
    return "end";
  });
  const message =
    'The input of activity "charge" is a function, which cannot be stored: did you mean ctx.step("charge", fn)?';
  expect(play.trace).toEqual([message]);
});

test("an invalid argument throws at the call and records nothing", async () => {
  const play = await begin(async (ctx, _input, note) => {
    for (const call of [
      () => ctx.run(""),
      () => ctx.run<string, unknown>("a", () => 1),
      () => ctx.sleep(-1),
      () => ctx.sleep(new Date(Number.NaN)),
      () => ctx.waitFor("perdure.own"),
      () => ctx.call("c", 1, { id: "a::b" }),
      () => ctx.startDetached("c", 1, { id: "" }),
      () => ctx.run("a", 1, { priority: 9 }),
      () => ctx.any([]),
      () => ctx.race([]),
    ]) {
      try {
        void call();
        note("accepted");
      } catch (error) {
        note((error as { code: string }).code);
      }
    }
    return "end";
  });
  expect(play.trace).toEqual([
    "INVALID_ARGUMENT",
    "VALUE_NOT_SERIALIZABLE",
    ...Array.from({ length: 8 }, () => "INVALID_ARGUMENT"),
  ]);
  expect(play.last.brief).toEqual(["OrchestrationStarted main", "OrchestrationCompleted"]);
});

// What a turn asks the store to do besides writing its events: starts, messages, timers and the next execution (I5).

import { expect, test } from "vitest";
import { DEFAULT_LIMITS } from "../../src/core/values/limits.ts";
import type { OrchestrationContext } from "../../src/core/context/types.ts";
import type { EventBody, OrchestrationStarted } from "../../src/core/history/events.ts";
import {
  cancel,
  completed,
  continued,
  encode,
  here,
  raised,
  ran,
  ranDone,
  returned,
  RUN_ID,
  stepAttemptFailed,
  stepDone,
  started,
  wake,
} from "./bodies.ts";
import { begin, failureOf, outputOf, replay, resume, type Handler } from "./support.ts";

test("a child starts with everything that its call gave", async () => {
  const play = await begin(
    async (ctx) =>
      ctx.call("child", 7, {
        ...{ id: "chosen", version: "2.0.0", priority: 1, delay: "5s" },
        ...{ onParentClose: "abandon", attributes: { city: "Bern" } },
      }),
    { priority: 4, execution: 3 },
  );
  const [start] = play.last.item.starts;
  const parent = { id: "i", runId: RUN_ID, execution: 3, sequence: 2 };
  expect(start).toMatchObject({
    ...{ id: "chosen", name: "child", version: "2.0.0", priority: 1, delayMs: 5_000 },
    ...{ parent, onParentClose: "abandon", attributes: { city: "Bern" } },
  });
  expect(JSON.parse(start?.started ?? "")).toMatchObject({
    ...{ kind: "OrchestrationStarted", name: "child", orchestrationVersion: "2.0.0", input: "7" },
    ...{ parent, attributes: { city: "Bern" }, runId: start?.runId, unchecked: true },
  });
});

test("a child without options inherits the priority, is cancelled with its parent and starts at once", async () => {
  const play = await begin(async (ctx) => ctx.call("child", undefined), { priority: 4 });
  const [start] = play.last.item.starts;
  expect(start).toMatchObject({ priority: 4, onParentClose: "cancel", version: null });
  expect(start?.attributes).toEqual({});
  expect(start).not.toHaveProperty("delayMs");
  const body = JSON.parse(start?.started ?? "") as OrchestrationStarted;
  expect(body.orchestrationVersion).toBe("");
  expect(body).not.toHaveProperty("attributes");
});

test("two calls in two turns or executions start different children, and a repeated turn the same ones", async () => {
  const code = async (ctx: OrchestrationContext<undefined>) =>
    ctx.all([ctx.call("child", 1), ctx.call("child", 1)]);
  const runsOf = async (execution: number) => {
    const { item } = (await begin(code, { execution })).last;
    return item.starts.map(({ runId, started: text }) => {
      return [runId, (JSON.parse(text) as OrchestrationStarted).seed];
    });
  };
  const [first, again, other] = [await runsOf(1), await runsOf(1), await runsOf(2)];
  expect(again).toEqual(first);
  expect(new Set([...first.flat(), ...other.flat()]).size).toBe(8);
});

test("a cancelled child gets one cancel message, and one that is called in the same turn is never started", async () => {
  const code = async (ctx: OrchestrationContext<undefined>) => {
    const child = ctx.call("child", 1, { id: "c" });
    const caught = child.catch(() => "cancelled");
    await ctx.run("a");
    child.cancel("enough");
    return caught;
  };
  const play = await begin(code);
  const { item } = await play.turn(completed(3));
  expect(item.sends).toEqual([
    {
      ...{ to: { id: "c" }, kind: "cancel", execution: null, sequence: null, key: "cancel" },
      data: JSON.stringify({
        kind: "OrchestrationCancelRequested",
        reason: "enough",
        by: "parent",
      }),
    },
  ]);
  const at = await begin(async (ctx) => {
    const child = ctx.call("child", 1, { id: "c" });
    child.catch(() => undefined);
    child.cancel("enough");
    await ctx.run("a");
  });
  expect([at.last.item.starts, at.last.item.sends]).toEqual([[], []]);
});

test("a timer and a task that are cancelled in their own turn are never written; later they are withdrawn", async () => {
  const play = await begin(async (ctx) => {
    const early = [ctx.sleep(5), ctx.run("never")];
    for (const task of early) {
      task.catch(() => undefined);
      task.cancel("enough");
    }
    const late = [ctx.sleep(6), ctx.run("late")];
    for (const task of late) task.catch(() => undefined);
    await ctx.run("a");
    for (const task of late) task.cancel("enough");
    await ctx.run("b");
  });
  const { item } = play.last;
  expect(item.timers).toEqual([{ kind: "timer", sequence: 6, delayMs: 6 }]);
  expect(item.tasks.map(({ name }) => name)).toEqual(["late", "a"]);
  expect([item.cancelledTimers, item.cancelledTasks]).toEqual([[], []]);
  const next = (await play.turn(completed(8))).item;
  expect(next.cancelledTimers).toEqual([{ kind: "timer", sequence: 6 }]);
  expect(next.cancelledTasks).toEqual([7]);
});

test("cancelling a step that waits for its next attempt withdraws the timer of that attempt", async () => {
  const play = await begin(
    async (ctx) => {
      const step = ctx.step("s", async () => 1);
      const caught = step.catch(() => "cancelled");
      await ctx.waitFor("stop");
      step.cancel("enough");
      return caught;
    },
    { checks: "end" },
  );
  const failed = await play.turn(here(stepAttemptFailed(2, 1, 5_000)));
  expect(failed.item.timers).toEqual([{ kind: "stepRetry", sequence: 2, dueAt: 5_000 }]);
  const turn = await play.turn(raised("stop"));
  expect(turn.item.cancelledTimers).toEqual([{ kind: "stepRetry", sequence: 2 }]);
  expect(outputOf(turn)).toBe("cancelled");
});

test("I15: the next execution starts with the state of the instance", async () => {
  const play = await begin(
    async (ctx) => {
      ctx.setStatus("busy");
      ctx.kv.set("b", 2);
      ctx.kv.set("a", 1);
      ctx.kv.set("c", 3);
      ctx.kv.set("a", 4);
      ctx.setAttributes({ city: "Bern", old: null });
      return ctx.continueAsNew("next" as never);
    },
    {
      start: {
        attributes: { old: "x" },
        context: encode({}),
        traceParent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
      },
    },
  );
  const { change } = play.last.item;
  if (change.kind !== "continued") throw new Error("the execution did not continue");
  const next = JSON.parse(change.started) as OrchestrationStarted;
  expect(next).toMatchObject({
    ...{ kind: "OrchestrationStarted", name: "main", runId: RUN_ID, unchecked: true },
    ...{ input: encode("next"), status: encode("busy"), attributes: { city: "Bern" } },
    traceParent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    orchestrationVersion: "",
  });
  expect(next.keyValues?.map(([key, value]) => [key, value])).toEqual([
    ["a", "4"],
    ["b", "2"],
    ["c", "3"],
  ]);
  expect(next.seed).not.toBe(play.run.started.seed);
});

test("I15: an instance without state hands none on, and tasks that are open are cancelled", async () => {
  const play = await begin(async (ctx) => {
    void ctx.run("a").catch(() => undefined);
    return ctx.continueAsNew(1 as never, { version: "3.0.0" });
  });
  const { change } = play.last.item;
  if (change.kind !== "continued") throw new Error("the execution did not continue");
  const next = JSON.parse(change.started) as OrchestrationStarted;
  for (const member of ["status", "keyValues", "attributes", "closedStreams", "state"]) {
    expect(next).not.toHaveProperty(member);
  }
  expect(next.orchestrationVersion).toBe("3.0.0");
  expect(play.last.events.at(-2)).toMatchObject({ reason: "continued as new" });
  expect(play.last.ended).toEqual({ ...continued(1), orchestrationVersion: "3.0.0" });
});

test("limits of the visible state name the value, its size and the limit", async () => {
  const { statusBytesMax, kvValueBytesMax, kvKeysMax } = DEFAULT_LIMITS;
  const messageOf = async (body: Handler<undefined>) =>
    failureOf((await begin(body, { checks: "end" })).last).failure.message;
  const long = (bytes: number) => "x".repeat(bytes - 1); // and two quotes
  expect(await messageOf(async (ctx) => ctx.setStatus(long(statusBytesMax)))).toBe(
    `The custom status has ${statusBytesMax + 1} bytes; the limit is ${statusBytesMax}.`,
  );
  expect(await messageOf(async (ctx) => ctx.kv.set("k", long(kvValueBytesMax)))).toBe(
    `The value of key "k" has ${kvValueBytesMax + 1} bytes; the limit is ${kvValueBytesMax}.`,
  );
  const many = await messageOf(async (ctx) => {
    for (let i = 0; i < kvKeysMax; i++) ctx.kv.set(`k${i}`, 1);
    ctx.kv.set("k0", 2);
    ctx.kv.set("one more", 1);
  });
  expect(many).toContain(`at most ${kvKeysMax} keys; "one more" would exceed the limit`);
});

test("keys are removed by age: those that were set before the given time, not at it", async () => {
  const play = await begin(async (ctx) => {
    ctx.kv.set("old", 1);
    await ctx.run("a");
    ctx.kv.set("newer", 1);
    await ctx.run("b");
    return [ctx.kv.pruneOlderThan(1_001), ctx.kv.pruneOlderThan(1_000), ctx.kv.pruneOlderThan(0)];
  });
  await play.turn(completed(3));
  const turn = await play.turn(completed(6));
  expect(outputOf(turn)).toEqual([1, 0, 1]);
});

test("a cancelled scope cancels its own tasks only, and a finished one cancels nothing", async () => {
  const play = await begin(async (ctx) => {
    const done = ctx.scope(async () => "done");
    const outer = ctx.run("outer");
    const scope = ctx.scope(async () => ctx.all([ctx.run("b"), ctx.run("a")]));
    const caught = scope.catch((error: Error) => error.message);
    await done;
    done.cancel("too late");
    await ctx.run("c");
    scope.cancel("enough");
    return [await caught, await outer];
  });
  const turn = await play.turn(completed(5));
  expect(turn.brief.slice(1)).toEqual(["ActivityCancelRequested #3", "ActivityCancelRequested #4"]);
  expect(outputOf(await play.turn(completed(2, "value")))).toEqual(["cancelled: enough", "value"]);
});

test("an output that its limit refuses fails the instance with a message about the output", async () => {
  const { payloadBytesMax } = DEFAULT_LIMITS;
  const play = await begin(async () => "x".repeat(payloadBytesMax), { checks: "end" });
  expect(failureOf(play.last).failure.message).toMatch(/^The output /);
});

test("a replay ends with the recorded result", async () => {
  const history = [started(), ran("a"), ranDone(2, 1), returned(1)];
  const { ended } = await replay(async (ctx) => ctx.run("a"), history);
  expect(ended).toEqual(returned(1));
});

test("a transaction is a step: it is open until its outcome, and a replay knows it", async () => {
  const play = await begin(async (ctx) => {
    const inside = ctx.tx("pay", async () => "never run here");
    return [await inside, await ctx.run("a")];
  });
  expect([play.last.brief, play.last.open]).toEqual([
    ["OrchestrationStarted main", "StepScheduled pay"],
    ["2 step pay"],
  ]);
  const [step] = [...play.run.openTasks.values()];
  expect(step).toMatchObject({ failures: 0, failedAt: 0, dueAt: 0, isRunning: false, name: "pay" });
  await play.turn(stepDone(2, "paid"));
  expect(outputOf(await play.turn(completed(4, "b")))).toEqual(["paid", "b"]);
});

test("an ended instance schedules no transaction", async () => {
  const play = await begin(async (ctx) => {
    const task = ctx.continueAsNew(undefined as never);
    void ctx.tx("late", async () => 1);
    return task;
  });
  expect(play.last.open).toEqual([]);
});

test("an input over the limit fails at the call, live and in every replay, and nothing is recorded", async () => {
  const { payloadBytesMax } = DEFAULT_LIMITS;
  const play = await begin(async (ctx) => {
    const codes: unknown[] = [];
    try {
      await ctx.run("a", "x".repeat(payloadBytesMax));
    } catch (error) {
      codes.push((error as { code: string }).code);
    }
    codes.push(await ctx.run("small"));
    try {
      await ctx.run("a", "x".repeat(payloadBytesMax));
    } catch (error) {
      codes.push((error as { code: string }).code);
    }
    codes.push(await ctx.run("last"));
    return codes;
  });
  expect(play.last.brief).toEqual(["OrchestrationStarted main", "ActivityScheduled small"]);
  await play.turn(completed(2, 1));
  const turn = await play.turn(completed(4, 2));
  expect(outputOf(turn)).toEqual(["LIMIT_EXCEEDED", 1, "LIMIT_EXCEEDED", 2]);
});

test("an invalid key and too many attributes fail at the call, and change nothing", async () => {
  const play = await begin(async (ctx) => {
    const codes: unknown[] = [];
    const many = Object.fromEntries(Array.from({ length: 1_000 }, (_, i) => [`a${i}`, 1]));
    for (const act of [
      () => ctx.kv.set("k".repeat(10_000), 1),
      () => ctx.kv.delete("k".repeat(10_000)),
      () => ctx.setAttributes(many),
    ]) {
      try {
        act();
      } catch (error) {
        codes.push((error as { code: string }).code);
      }
    }
    return codes;
  });
  expect(outputOf(play.last)).toEqual(["INVALID_ARGUMENT", "INVALID_ARGUMENT", "LIMIT_EXCEEDED"]);
  expect(play.last.brief).toEqual(["OrchestrationStarted main", "OrchestrationCompleted"]);
});

test("a deploy changes the names of the requests that the code receives, once, and replays follow", async () => {
  const code: Handler<undefined> = async (ctx) => {
    const next = ctx.requests("old", "new")[Symbol.asyncIterator]().next();
    await ctx.run("a");
    return next;
  };
  const served = { kind: "RequestsServed", names: ["old"] } as unknown as EventBody;
  const play = await resume(code, [started(), served, ran("a")]);
  const turn = await play.turn(wake);
  expect(turn.events).toEqual([{ kind: "RequestsChanged", served: 2, names: ["old", "new"] }]);
  expect((await play.turn(wake)).events).toEqual([]);
});

test("calls without a recorded end stay visible: an abandoned child and the cancel request", async () => {
  const play = await begin(async (ctx) => {
    const child = ctx.call("child", 1, { onParentClose: "abandon" });
    await child.catch(() => undefined);
    return ctx.shield(async () => ctx.run("cleanup"));
  });
  await play.turn(cancel("stop"));
  expect(play.run.stillVisible).toEqual([3, 2]);
});

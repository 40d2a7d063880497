// Tasks: native promises that can be cancelled durably, mapped and disposed.

import { expect, test } from "vitest";
import { asyncContext } from "../../src/core/context/async-context.ts";
import { CancelledError } from "../../src/core/errors/outcome-errors.ts";
import { completed, failed, fired, raised } from "./bodies.ts";
import { begin, outputOf } from "./support.ts";

test("a task is a native promise", async () => {
  const play = await begin(async (ctx, _input, note) => {
    const task = ctx.run("a");
    note([task instanceof Promise, Object.prototype.toString.call(task), task.constructor.name]);
    // A derived promise is a plain promise without cancel().
    note("cancel" in task.then((value) => value));
    await task;
  });
  await play.turn(completed(2));
  expect(play.trace).toEqual([[true, "[object Promise]", "Promise"], false]);
});

test("tasks work with Promise.all, allSettled, any and race", async () => {
  const play = await begin(async (ctx) => {
    const [a, b] = [ctx.run("a"), ctx.run("b")];
    return [
      await Promise.all([a, b]),
      (await Promise.allSettled([a, b])).map(({ status }) => status),
      await Promise.any([a, b]),
      await Promise.race([b, a]),
    ];
  });
  expect(outputOf(await play.turn(completed(2, 1), completed(3, 2)))).toEqual([
    [1, 2],
    ["fulfilled", "fulfilled"],
    1,
    2,
  ]);
});

test("then, catch and finally of a task run in the async context they were made in", async () => {
  const play = await begin(async (ctx, _input, note) => {
    const inScope = (): boolean => asyncContext.getStore()?.kind === "scope";
    await ctx
      .run("a")
      .then(() => note(inScope()))
      .finally(() => note(inScope()));
    await ctx.run("b").catch(() => note(inScope()));
  });
  await play.turn(completed(2));
  await play.turn(failed(4, new Error("x")));
  expect(play.trace).toEqual([true, true, true]);
});

test("map gives a task with the mapped value", async () => {
  const play = await begin(async (ctx) => ctx.run("a").map((value) => [value]));
  expect(outputOf(await play.turn(completed(2, 5)))).toEqual([5]);
});

test("cancelling a mapped task cancels its work and rejects the original task", async () => {
  const play = await begin(async (ctx, _input, note) => {
    const work = ctx.run("a");
    const mapped = work.map((value) => [value]).map((list) => list.length);
    await ctx.waitFor("stop");
    mapped.cancel("enough");
    await work.catch((error: unknown) => note(error instanceof CancelledError));
    await mapped.catch((error: Error) => note(error.message));
  });
  const turn = await play.turn(raised("stop"));
  expect(turn.brief).toContain("ActivityCancelRequested #2");
  expect(play.trace).toEqual([true, "cancelled: enough"]);
});

test("a mapped task can race, and its work is cancelled when it loses", async () => {
  const play = await begin(async (ctx) => {
    const { key } = await ctx.race({ work: ctx.run("a").map(String), late: ctx.sleep(1) });
    return key;
  });
  const turn = await play.turn(fired(3));
  expect(turn.brief).toContain("ActivityCancelRequested #2");
  expect(outputOf(turn)).toBe("late");
});

test("a mapped race, scope or all is still cancellable", async () => {
  const play = await begin(async (ctx) => {
    const tasks = [
      ctx.race([ctx.run("a"), ctx.run("b")]).map(({ index }) => index),
      ctx.scope(() => ctx.run("c")).map(String),
      ctx.all([ctx.run("d")]).map(([d]) => d),
    ];
    await ctx.waitFor("stop");
    for (const task of tasks) task.cancel();
    await ctx.sleep("1d");
  });
  expect((await play.turn(raised("stop"))).brief).toEqual([
    "EventReceived stop",
    "ActivityCancelRequested #2",
    "ActivityCancelRequested #3",
    "ActivityCancelRequested #4",
    "ActivityCancelRequested #5",
    "TimerCreated",
  ]);
});

test("a map that throws rejects the mapped task, not the original", async () => {
  const play = await begin(async (ctx) => {
    const work = ctx.run("a");
    const mapped = work.map(() => {
      throw new Error("in map");
    });
    return [await work, await mapped.catch((error: Error) => error.message)];
  });
  expect(outputOf(await play.turn(completed(2, "A")))).toEqual(["A", "in map"]);
});

test("a failed unawaited mapped task causes no unhandled rejection", async () => {
  const play = await begin(async (ctx) => {
    void ctx.run("a").map(() => {
      throw new Error("unseen");
    });
    await ctx.sleep(1);
  });
  expect((await play.turn(completed(2))).blocked).toBeNull();
});

test("a task may be awaited many times, from many places", async () => {
  const play = await begin(async (ctx) => {
    const task = ctx.run("a");
    const readers = [1, 2, 3].map(async (n) => [n, await task]);
    return [await Promise.all(readers), await task];
  });
  expect(outputOf(await play.turn(completed(2, "v")))).toEqual([
    [
      [1, "v"],
      [2, "v"],
      [3, "v"],
    ],
    "v",
  ]);
});

test("a disposed mapped task cancels its work", async () => {
  const play = await begin(async (ctx) => {
    {
      using _task = ctx.run("a").map(String);
      await ctx.waitFor("stop");
    }
    await ctx.sleep(1);
  });
  const turn = await play.turn(raised("stop"));
  expect(turn.events[1]).toMatchObject({ kind: "ActivityCancelRequested", reason: "disposed" });
});

test("a throw out of a block cancels the tasks declared with using", async () => {
  const play = await begin(async (ctx) => {
    try {
      using _work = ctx.run("work");
      await ctx.run("other");
    } catch {
      await ctx.sleep(1);
    }
  });
  expect((await play.turn(failed(3, new Error("x")))).brief).toEqual([
    "ActivityFailed #3",
    "ActivityCancelRequested #2",
    "TimerCreated",
  ]);
});

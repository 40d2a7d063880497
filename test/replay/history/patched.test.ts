// ctx.patched: the answer is fixed per execution by a mark whose position is not compared (semantics 9b).

import { expect, test } from "vitest";
import type { EventBody } from "../../../src/core/history/events.ts";
import { completed, ran, ranDone, slept, started } from "../bodies.ts";
import { begin, replay, resume, type Handler } from "../support.ts";

const marked = (change: string): EventBody => ({ kind: "PatchMarked", change });

const code: Handler<undefined> = async (ctx) => {
  await ctx.run(ctx.patched("faster") ? "new" : "old");
  await ctx.sleep(1);
};

test("a first call after the recorded history returns true, and the turn writes the mark", async () => {
  const play = await begin(code);
  expect(play.last.events.slice(1)).toMatchObject([
    { kind: "PatchMarked", change: "faster" },
    { name: "new" },
  ]);
  expect((await play.turn(completed(3))).blocked).toBeNull();
});

test("a first call during the replay of a history without the mark returns false, also later", async () => {
  const twice: Handler<undefined> = async (ctx, _input, note) => {
    note(ctx.patched("faster"));
    await ctx.run("a");
    note(ctx.patched("faster"));
    await ctx.sleep(1);
  };
  const play = await resume(twice, [started(), ran("a")]);
  const turn = await play.turn(completed(2));
  expect(play.trace).toEqual([false, false]);
  expect(turn.brief).toEqual(["ActivityCompleted #2", "TimerCreated"]);
});

test("an instance recorded with the old code continues with the old code", async () => {
  const found = await replay(code, [started(), ran("old"), ranDone(2), slept(1)]);
  expect(found.blocked).toBeNull();
});

test("an instance recorded with the new code continues with the new code", async () => {
  const found = await replay(code, [started(), marked("faster"), ran("new"), ranDone(3), slept(1)]);
  expect(found.blocked).toBeNull();
  expect(found.open).toEqual(["5 timer timer"]);
});

test("a mark is written once per execution, for any number of calls", async () => {
  const play = await begin(async (ctx) => {
    for (let i = 0; i < 3; i++) if (ctx.patched("x")) await ctx.run("a");
  });
  const later = await play.turn(completed(3));
  expect(later.brief).toEqual(["ActivityCompleted #3", "ActivityScheduled a"]);
});

test("a first call in a later turn writes the mark in that turn", async () => {
  const later: Handler<undefined> = async (ctx, _input, note) => {
    await ctx.run("a");
    note(ctx.patched("late"));
    await ctx.sleep(1);
  };
  const play = await resume(later, [started(), ran("a")]);
  const turn = await play.turn(completed(2));
  expect(turn.brief).toEqual(["ActivityCompleted #2", "PatchMarked", "TimerCreated"]);
  expect(play.trace).toEqual([true]);
});

test("the position of a mark is not compared, and code without the call skips the mark", async () => {
  const plain: Handler<undefined> = async (ctx) => {
    await ctx.run("new");
    await ctx.sleep(1);
  };
  const history = [started(), marked("faster"), ran("new"), ranDone(3), slept(1)];
  expect((await replay(plain, history)).blocked).toBeNull();
  const moved: Handler<undefined> = async (ctx) => {
    await ctx.run("new");
    if (ctx.patched("faster")) await ctx.sleep(1);
  };
  expect((await replay(moved, history)).blocked).toBeNull();
});

test("a retired change accepts a mark and writes none", async () => {
  const retired: Handler<undefined> = async (ctx) => {
    if (ctx.patched("faster", { retired: true })) await ctx.run("new");
    await ctx.sleep(1);
  };
  const play = await begin(retired);
  expect(play.last.brief).toEqual(["OrchestrationStarted main", "ActivityScheduled new"]);
  const history = [started(), marked("faster"), ran("new"), ranDone(3), slept(1)];
  expect((await replay(retired, history)).blocked).toBeNull();
});

test("each change gets its own mark", async () => {
  const play = await begin(async (ctx, _input, note) => {
    note([ctx.patched("a"), ctx.patched("b"), ctx.patched("a")]);
    await ctx.sleep(1);
  });
  expect(play.trace).toEqual([[true, true, true]]);
  expect(play.last.brief.slice(1)).toEqual(["PatchMarked", "PatchMarked", "TimerCreated"]);
});

test("a mark takes a sequence number", async () => {
  const play = await begin(async (ctx) => {
    ctx.patched("x");
    await ctx.call("c");
  });
  expect(play.last.item.starts[0]?.id).toBe("i::sub::3");
  expect(play.last.open).toEqual(["3 child c"]);
});

test("a mark at the end of a history is skipped", async () => {
  const calls: Handler<undefined> = async (ctx) => {
    const task = ctx.run("a");
    ctx.patched("x");
    await task;
    await ctx.sleep(1);
  };
  const play = await resume(calls, [started(), ran("a"), marked("x")]);
  const turn = await play.turn(completed(2));
  expect(turn.item.row).toMatchObject({ first: 4, last: 5 });
});

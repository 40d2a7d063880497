// ctx.patched: one answer an execution, kept by a mark that has no place of its own (semantics 9b).

import { expect, test } from "vitest";
import type { EventBody } from "../../src/core/history-events.ts";
import { completed, ran, ranDone, slept, started } from "./bodies.ts";
import { begin, replay, resume, type Handler } from "./support.ts";

const marked = (change: string): EventBody => ({ kind: "PatchMarked", change });

const code: Handler<undefined> = async (ctx) => {
  await ctx.run(ctx.patched("faster") ? "new" : "old");
  await ctx.sleep(1);
};

test("first asked beyond the recorded past it is true, and the mark is written with the turn", async () => {
  const play = await begin(code);
  expect(play.last.events.slice(1)).toMatchObject([
    { kind: "PatchMarked", change: "faster" },
    { name: "new" },
  ]);
  expect((await play.turn(completed(3))).blocked).toBeNull();
});

test("asked while replaying a past without its mark it is false, and stays so", async () => {
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

test("an instance that went the old way goes on the old way", async () => {
  const found = await replay(code, [started(), ran("old"), ranDone(2), slept(1)]);
  expect(found.blocked).toBeNull();
});

test("an instance that went the new way goes on the new way", async () => {
  const found = await replay(code, [started(), marked("faster"), ran("new"), ranDone(3), slept(1)]);
  expect(found.blocked).toBeNull();
  expect(found.open).toEqual(["5 timer timer"]);
});

test("a mark is written once an execution, however often it is asked for", async () => {
  const play = await begin(async (ctx) => {
    for (let i = 0; i < 3; i++) if (ctx.patched("x")) await ctx.run("a");
  });
  const later = await play.turn(completed(3));
  expect(later.brief).toEqual(["ActivityCompleted #3", "ActivityScheduled a"]);
});

test("a change that is first asked for in a later turn gets its mark there", async () => {
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

test("a mark's place is not compared, and code that no longer asks passes it by", async () => {
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

test("retired accepts a mark and writes none", async () => {
  const retired: Handler<undefined> = async (ctx) => {
    if (ctx.patched("faster", { retired: true })) await ctx.run("new");
    await ctx.sleep(1);
  };
  const play = await begin(retired);
  expect(play.last.brief).toEqual(["OrchestrationStarted main", "ActivityScheduled new"]);
  const history = [started(), marked("faster"), ran("new"), ranDone(3), slept(1)];
  expect((await replay(retired, history)).blocked).toBeNull();
});

test("two changes have two answers", async () => {
  const play = await begin(async (ctx, _input, note) => {
    note([ctx.patched("a"), ctx.patched("b"), ctx.patched("a")]);
    await ctx.sleep(1);
  });
  expect(play.trace).toEqual([[true, true, true]]);
  expect(play.last.brief.slice(1)).toEqual(["PatchMarked", "PatchMarked", "TimerCreated"]);
});

test("a mark takes a number, so that what follows it keeps its own", async () => {
  const play = await begin(async (ctx) => {
    ctx.patched("x");
    await ctx.call("c");
  });
  expect(play.last.item.starts[0]?.id).toBe("i::sub::3");
  expect(play.last.open).toEqual(["3 child c"]);
});

test("a mark at the very end of a history is passed by", async () => {
  const asks: Handler<undefined> = async (ctx) => {
    const task = ctx.run("a");
    ctx.patched("x");
    await task;
    await ctx.sleep(1);
  };
  const play = await resume(asks, [started(), ran("a"), marked("x")]);
  const turn = await play.turn(completed(2));
  expect(turn.item.row).toMatchObject({ first: 4, last: 5 });
});

// Sequential code: each outcome advances the code by one step, in a live run and in a replay.

import { expect, test } from "vitest";
import {
  completed,
  fired,
  raised,
  ran,
  ranDone,
  started,
  here,
  ranDone as done,
} from "./bodies.ts";
import { begin, outputOf, resume, type Handler } from "./support.ts";

test("each result leads to the next call, one turn per result", async () => {
  const play = await begin(async (ctx) => {
    const a = (await ctx.run("a")) as number;
    const b = (await ctx.run("b", a + 1)) as number;
    return b + 1;
  });
  expect((await play.turn(completed(2, 1))).brief).toEqual([
    "ActivityCompleted #2",
    "ActivityScheduled b",
  ]);
  expect(outputOf(await play.turn(completed(4, 10)))).toBe(11);
});

test("an activity, a timer and an event follow each other", async () => {
  const play = await begin(async (ctx, _input, note) => {
    note(await ctx.run("a"));
    await ctx.sleep("1s");
    note(await ctx.waitFor("go"));
    return "end";
  });
  await play.turn(completed(2, "A"));
  await play.turn(fired(4));
  const turn = await play.turn(raised("go", "E"));
  expect(play.trace).toEqual(["A", "E"]);
  expect(outputOf(turn)).toBe("end");
});

test("identical activities are distinguished by their position", async () => {
  const play = await begin(async (ctx) => {
    const tasks = [ctx.run("same", 1), ctx.run("same", 1), ctx.run("same", 1)];
    return ctx.all(tasks);
  });
  await play.turn(completed(3, "second"));
  await play.turn(completed(4, "third"));
  expect(outputOf(await play.turn(completed(2, "first")))).toEqual(["first", "second", "third"]);
});

test("identical activities are distinguished by their position after a restart", async () => {
  const code: Handler<undefined> = async (ctx) => {
    const first = await ctx.run("same", 1);
    const second = await ctx.run("same", 1);
    return [first, second];
  };
  const play = await resume(code, [started(), ran("same", 1), ranDone(2, "one"), ran("same", 1)]);
  expect(outputOf(await play.turn(completed(4, "two")))).toEqual(["one", "two"]);
});

test("a hundred activities in a row replay at every length", async () => {
  const play = await begin(async (ctx) => {
    let sum = 0;
    for (let i = 0; i < 100; i++) sum += (await ctx.run("add", i)) as number;
    return sum;
  });
  for (let i = 0; i < 99; i++) await play.turn(completed(2 + 2 * i, i));
  expect(outputOf(await play.turn(completed(200, 99)))).toBe(4_950);
  expect(play.history).toHaveLength(202);
});

test("several outcomes in one turn are delivered one at a time, each with the calls that it leads to", async () => {
  const play = await begin(async (ctx) => {
    const lane = async (name: string): Promise<unknown> => ctx.run(`${name}2`, await ctx.run(name));
    return Promise.all([lane("a"), lane("b")]);
  });
  const turn = await play.turn(completed(3, "B"), completed(2, "A"));
  expect(turn.brief).toEqual([
    "ActivityCompleted #3",
    "ActivityScheduled b2",
    "ActivityCompleted #2",
    "ActivityScheduled a2",
  ]);
});

test("local outcomes are delivered after the due messages of the inbox", async () => {
  const play = await begin(async (ctx, _input, note) => {
    const noted = async (task: Promise<unknown>): Promise<void> => note(await task);
    await Promise.all([noted(ctx.run("a")), noted(ctx.waitFor("go"))]);
  });
  await play.turn(here(done(2, "local")), raised("go", "inbox"));
  expect(play.trace).toEqual(["inbox", "local"]);
});

test("code that uses many microtasks after an outcome finishes before the next delivery", async () => {
  const play = await begin(async (ctx, _input, note) => {
    const slow = async (name: string): Promise<void> => {
      await ctx.run(name);
      for (let i = 0; i < 50; i++) await Promise.resolve();
      note(name);
    };
    await Promise.all([slow("a"), slow("b")]);
  });
  await play.turn(completed(3), completed(2));
  expect(play.trace).toEqual(["b", "a"]);
});

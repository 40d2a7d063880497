// Sequence numbers: consecutive from 1, in the order of the deliveries and of the calls that they cause.

import { expect, test } from "vitest";
import { decodeHistory } from "../../src/core/history/rows.ts";
import { cancel, completed, fired, here, raised, ran, ranDone, slept, started } from "./bodies.ts";
import { begin, resume, type Handler } from "./support.ts";

const busy: Handler<undefined> = async (ctx) => {
  const lane = async (name: string): Promise<void> => {
    await ctx.run(name);
    await ctx.sleep(1);
    await ctx.waitFor(name);
  };
  await Promise.all([lane("a"), lane("b"), ctx.call("c")]);
};

test("events are numbered consecutively from 1 across turns", async () => {
  const play = await begin(busy);
  await play.turn(completed(3), completed(2));
  await play.turn(fired(6), fired(8));
  await play.turn(raised("b"), raised("x"), raised("a"));
  const events = decodeHistory(play.rows);
  expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, index) => index + 1));
  expect(play.rows.map(({ first, last }) => [first, last])).toEqual([
    [1, 4],
    [5, 8],
    [9, 12],
    [13, 15],
  ]);
});

test("a completion and the calls that it causes are recorded before the next completion", async () => {
  const play = await begin(busy);
  const turn = await play.turn(completed(3), completed(2));
  expect(turn.brief).toEqual([
    "ActivityCompleted #3",
    "TimerCreated",
    "ActivityCompleted #2",
    "TimerCreated",
  ]);
});

test("after a replay the numbering continues at the end of the history", async () => {
  const play = await resume(
    async (ctx) => {
      await ctx.run("a");
      await ctx.sleep(1);
      await ctx.run("b");
    },
    [started(), ran("a"), ranDone(2), slept(1)],
  );
  const turn = await play.turn(fired(4));
  expect(turn.item).toMatchObject({ lastEvent: 4, row: { first: 5, last: 6 } });
});

test("a message consumed without an event takes no number", async () => {
  const play = await begin(busy);
  const turn = await play.turn(completed(99), completed(2), completed(2), fired(77));
  expect(turn.item.row).toMatchObject({ first: 5, last: 6 });
});

test("tasks, timers and starts carry the sequence number of their event", async () => {
  const play = await begin(async (ctx) =>
    ctx.all([ctx.run("a"), ctx.sleep(5), ctx.run("b"), ctx.call("c"), ctx.sleep(6)]),
  );
  const { item } = play.last;
  expect(item.tasks.map(({ sequence, name }) => [sequence, name])).toEqual([
    [2, "a"],
    [4, "b"],
  ]);
  expect(item.timers.map(({ sequence }) => sequence)).toEqual([3, 6]);
  expect(item.starts.map(({ parent }) => parent?.sequence)).toEqual([5]);
});

test("cancel events take numbers, and the terminal event is the last", async () => {
  const play = await begin(busy);
  const turn = await play.turn(cancel("stop"));
  expect(turn.brief).toEqual([
    "OrchestrationCancelRequested",
    "ActivityCancelRequested #2",
    "ActivityCancelRequested #3",
    "ChildCancelRequested #4",
    "OrchestrationFailed",
  ]);
  expect(turn.item.row).toMatchObject({ first: 5, last: 9 });
});

test("all events of a turn carry the same time, and time never goes back", async () => {
  const play = await begin(busy);
  play.clock = 500;
  await play.turn(completed(2), completed(3));
  const times = decodeHistory(play.rows).map(({ at }) => at);
  expect(new Set(times)).toEqual(new Set([1_000_000]));
});

test("a refused call takes no number", async () => {
  const play = await begin(async (ctx) => {
    await ctx.sleep(1).catch(() => undefined);
    await ctx.run("a").catch(() => undefined);
    await ctx.shield(() => ctx.run("b"));
  });
  const turn = await play.turn(cancel("stop"));
  expect(turn.brief).toEqual([
    "OrchestrationCancelRequested",
    "TimerCancelled #2",
    "ActivityScheduled b",
  ]);
  expect(turn.open).toEqual(["5 activity b"]);
});

test("a local outcome is numbered like an outcome from the inbox", async () => {
  const play = await begin(busy);
  const turn = await play.turn(here(ranDone(2)), completed(3));
  expect(turn.brief).toEqual([
    "ActivityCompleted #3",
    "TimerCreated",
    "ActivityCompleted #2",
    "TimerCreated",
  ]);
});

// The deadline alarm: one message for the deadlines of all open activities (core/replay/deadline-alarm.ts). The driver
// also runs each turn cold, and compares what both write (test-replay.support.1).

import { expect, test } from "vitest";
import { ActivityError } from "../../src/core/errors/task-errors.ts";
import type { OrchestrationContext } from "../../src/core/context/types.ts";
import { completed, deadline, type Draft } from "./bodies.ts";
import { begin, resume, START_AT, type Turn } from "./support.ts";

/** The alarm as the store delivers it: visible from the time for which it was set. */
const alarm = (visibleAt: number): Draft => ({ ...deadline(0), visibleAt });
const alarmFor = (dueAt: number) => [{ kind: "deadline", sequence: 0, dueAt }];
const WITHDRAWN = [{ kind: "deadline", sequence: 0 }];

function writes({ item }: Turn): unknown {
  return { timers: item.timers, cancelled: item.cancelledTimers, tasks: item.cancelledTasks };
}
const NOTHING = { timers: [], cancelled: [], tasks: [] };

async function chain(ctx: OrchestrationContext<undefined>): Promise<void> {
  for (let i = 0; i < 3; i++) await ctx.run("a", i, { scheduleToClose: "1m" });
  await ctx.sleep("1d");
}

test("a chain of activities with deadlines keeps its first alarm, and withdraws it after the last activity", async () => {
  const play = await begin(chain);
  expect(play.last.item.timers).toEqual(alarmFor(START_AT + 60_000));
  expect(writes(await play.turn(completed(2)))).toEqual(NOTHING);
  expect(writes(await play.turn(completed(4)))).toEqual(NOTHING);
  expect((await play.turn(completed(6))).item.cancelledTimers).toEqual(WITHDRAWN);
});

test("an early alarm fails no activity, and the turn that consumes it sets the next alarm", async () => {
  const play = await begin(chain);
  await play.turn(completed(2)); // at START_AT + 1 s: schedules event 4, due at START_AT + 61 s
  const turn = await play.turn(alarm(START_AT + 60_000));
  expect(turn.events).toEqual([]);
  expect(turn.consumed).toHaveLength(1);
  expect(writes(turn)).toEqual({ ...NOTHING, timers: alarmFor(START_AT + 61_000) });
});

test("a replay sets an early alarm to the same time", async () => {
  const play = await begin(chain);
  await play.turn(completed(2));
  const again = await resume(chain, play.history);
  const turn = await again.turn(alarm(START_AT + 60_000));
  expect(writes(turn)).toEqual({ ...NOTHING, timers: alarmFor(START_AT + 61_000) });
});

test("the alarm fails the activity whose deadline is over, and its task is deleted", async () => {
  const seen: unknown[] = [];
  const play = await begin(async (ctx) => {
    await ctx.run("a", 1, { scheduleToClose: "1m" }).catch((error: unknown) => seen.push(error));
    await ctx.sleep(1);
  });
  const turn = await play.turn(alarm(START_AT + 60_000));
  expect(turn.brief).toEqual(["ActivityFailed #2", "TimerCreated"]);
  expect(turn.item.cancelledTasks).toEqual([2]);
  expect(turn.item.cancelledTimers).toEqual([]); // the turn consumed the alarm
  expect(seen[0]).toBeInstanceOf(ActivityError);
  expect(seen[0]).toMatchObject({ kind: "timeout" });
});

test("of several deadlines the earliest sets the alarm, and each miss sets the alarm for the next", async () => {
  const play = await begin(async (ctx) =>
    ctx.allSettled([
      ctx.run("a", 1, { scheduleToClose: "3m" }),
      ctx.run("b", 1, { scheduleToClose: "1m" }),
      ctx.run("c", 1, { scheduleToClose: "2m" }),
      ctx.run("d", 1),
    ]),
  );
  expect(play.last.item.timers).toEqual(alarmFor(START_AT + 60_000));
  const first = await play.turn(alarm(START_AT + 60_000));
  expect(first.brief).toEqual(["ActivityFailed #3"]);
  expect(first.item.timers).toEqual(alarmFor(START_AT + 120_000));
  const second = await play.turn(alarm(START_AT + 120_000));
  expect(second.brief).toEqual(["ActivityFailed #4"]);
  expect(second.item.timers).toEqual(alarmFor(START_AT + 180_000));
});

test("an activity with an earlier deadline than the open ones sets an earlier alarm", async () => {
  const play = await begin(async (ctx) => {
    const slow = ctx.run("slow", 1, { scheduleToClose: "1h" });
    await ctx.run("a", 1);
    await ctx.all([slow, ctx.run("quick", 1, { scheduleToClose: "1s" })]);
  });
  expect(play.last.item.timers).toEqual(alarmFor(START_AT + 3_600_000));
  expect((await play.turn(completed(3))).item.timers).toEqual(alarmFor(START_AT + 1_000 + 1_000));
});

test("two alarms for the same time fail one activity once", async () => {
  const play = await begin(async (ctx) => {
    await ctx.run("a", 1, { scheduleToClose: "1m" }).catch(() => undefined);
    await ctx.sleep("1d");
  });
  const turn = await play.turn(alarm(START_AT + 60_000), alarm(START_AT + 60_000));
  expect(turn.brief).toEqual(["ActivityFailed #2", "TimerCreated"]);
  expect(turn.consumed).toHaveLength(2);
});

test("a deadline message that an earlier version wrote for one activity fails that activity", async () => {
  const play = await begin(async (ctx) =>
    ctx.allSettled([
      ctx.run("a", 1, { scheduleToClose: "1m" }),
      ctx.run("b", 1, { scheduleToClose: "2m" }),
    ]),
  );
  const turn = await play.turn({ ...deadline(2), visibleAt: START_AT + 60_500 });
  expect(turn.brief).toEqual(["ActivityFailed #2"]);
  expect(turn.item.timers).toEqual(alarmFor(START_AT + 120_000));
});

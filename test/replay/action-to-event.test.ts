// Each call creates one event. The commit of the turn lists the tasks, timers and starts that the store must create.

import { expect, test } from "vitest";
import { activity, event, orchestration } from "../../src/core/define/definitions.ts";
import type { EventBody } from "../../src/core/history/events.ts";
import { completed, encode, fired, RUN_ID } from "./bodies.ts";
import { begin, resume, START_AT, type Handler } from "./support.ts";

async function commandOf(code: Handler<undefined>): Promise<EventBody | undefined> {
  const play = await begin(code);
  return play.last.events[1];
}

test("ctx.run makes ActivityScheduled with name and encoded input", async () => {
  expect(await commandOf(async (ctx) => ctx.run("a", { x: [1] }))).toEqual({
    kind: "ActivityScheduled",
    name: "a",
    input: '{"x":[1]}',
  });
});

test("ctx.run records the options of its call", async () => {
  const options = { attempts: 3, timeout: "5s", scheduleToClose: "1m", priority: 1 } as const;
  expect(await commandOf(async (ctx) => ctx.run("a", 1, options))).toMatchObject({
    retry: { maxAttempts: 3 },
    timeoutMs: 5_000,
    scheduleToCloseMs: 60_000,
    priority: 1,
  });
});

test("an activity's defaults are recorded, and options of the call override them", async () => {
  const charge = activity("charge", (cents: number) => cents, { timeout: "1s", priority: 2 });
  const play = await begin(async (ctx) => ctx.run(charge, 5, { timeout: "9s" }));
  expect(play.last.events[1]).toEqual({
    kind: "ActivityScheduled",
    name: "charge",
    input: "5",
    timeoutMs: 9_000,
    priority: 2,
  });
});

test("an activity becomes a task with the same sequence number, its options and the instance's priority", async () => {
  const play = await begin(async (ctx) => ctx.run("a", 1, { attempts: 2 }), { priority: 4 });
  expect(play.last.item.tasks).toMatchObject([
    { sequence: 2, name: "a", input: "1", priority: 4, options: { retry: { maxAttempts: 2 } } },
  ]);
});

test("scheduleToClose also creates a deadline alarm, which is cancelled when the activity ends", async () => {
  const play = await begin(async (ctx) => {
    await ctx.run("a", 1, { scheduleToClose: "1m" });
    await ctx.sleep(1);
  });
  const dueAt = START_AT + 60_000;
  expect(play.last.item.timers).toEqual([{ kind: "deadline", sequence: 0, dueAt }]);
  const turn = await play.turn(completed(2));
  expect(turn.item.cancelledTimers).toEqual([{ kind: "deadline", sequence: 0 }]);
});

test("ctx.sleep with a duration makes TimerCreated, and a timer whose due time the store computes", async () => {
  const play = await begin(async (ctx) => ctx.sleep("90s"));
  expect(play.last.events[1]).toEqual({
    kind: "TimerCreated",
    due: START_AT + 90_000,
    delayMs: 90_000,
  });
  expect(play.last.item.timers).toEqual([{ kind: "timer", sequence: 2, delayMs: 90_000 }]);
});

test("ctx.sleep with a Date makes TimerCreated with that due time", async () => {
  const play = await begin(async (ctx) => ctx.sleep(new Date(9_999_999)));
  expect(play.last.events[1]).toEqual({ kind: "TimerCreated", due: 9_999_999 });
  expect(play.last.item.timers).toEqual([{ kind: "timer", sequence: 2, dueAt: 9_999_999 }]);
});

test("a duration counts from the event that led to the call", async () => {
  const play = await begin(async (ctx) => {
    await ctx.sleep(10);
    await ctx.sleep(10);
  });
  play.clock = START_AT + 5_000;
  const turn = await play.turn(fired(2));
  expect(turn.events[1]).toMatchObject({ due: START_AT + 5_010 });
});

test("ctx.waitFor makes EventSubscribed with the name, since and details", async () => {
  const approval = event<string>("approval");
  expect(await commandOf(async (ctx) => ctx.waitFor(approval))).toEqual({
    kind: "EventSubscribed",
    name: "approval",
  });
  expect(
    await commandOf(async (ctx) => ctx.waitFor("e", { since: "now", details: { by: "ada" } })),
  ).toEqual({ kind: "EventSubscribed", name: "e", since: "now", details: encode({ by: "ada" }) });
});

test("ctx.call makes ChildScheduled and a start that links to the parent", async () => {
  const play = await begin(async (ctx) => ctx.call("c", 1), { id: "p", execution: 3 });
  expect(play.last.events[1]).toEqual({
    kind: "ChildScheduled",
    name: "c",
    id: "p::sub::3_2",
    input: "1",
    unchecked: true,
  });
  const parent = { id: "p", runId: RUN_ID, execution: 3, sequence: 2 };
  const [start] = play.last.item.starts;
  expect(start).toMatchObject({ id: "p::sub::3_2", name: "c", version: null, parent });
  expect(JSON.parse(start?.started ?? "")).toMatchObject({ name: "c", input: "1", parent });
});

test("ctx.call of an orchestration pins its version", async () => {
  const child = orchestration("c", async (_ctx, n: number) => n, { version: "2.1.0" });
  const play = await begin(async (ctx) => ctx.call(child, 1));
  expect(play.last.events[1]).toMatchObject({ name: "c", orchestrationVersion: "2.1.0" });
  expect(play.last.item.starts[0]).toMatchObject({ version: "2.1.0" });
});

test("ctx.startDetached makes DetachedStarted and a start without a parent", async () => {
  const play = await begin(async (ctx) => {
    void ctx.startDetached("d", { n: 1 }, { id: "d-1", version: "1.2.3" });
    await ctx.sleep(1);
  });
  expect(play.last.events[1]).toEqual({
    kind: "DetachedStarted",
    name: "d",
    orchestrationVersion: "1.2.3",
    id: "d-1",
    input: '{"n":1}',
    unchecked: true,
    onConflict: "fail",
    quiet: true,
  });
  expect(play.last.item.dispatched).toMatchObject([
    { sequence: 2, item: { kind: "start", id: "d-1", parent: null, version: "1.2.3" } },
  ]);
});

test("a detached start followed by an activity replays", async () => {
  const code: Handler<undefined> = async (ctx) => {
    void ctx.startDetached("d", 1, { id: "d-1" });
    await ctx.run("a");
    await ctx.sleep(1);
  };
  const play = await begin(code);
  const again = await resume(code, play.history);
  const turn = await again.turn(completed(3));
  expect(turn.brief).toEqual(["ActivityCompleted #3", "TimerCreated"]);
  expect(turn.item.starts).toEqual([]);
});

test("ctx.step makes StepScheduled and no task", async () => {
  const play = await begin(async (ctx) => ctx.step("s", () => 1, { attempts: 2, timeout: "1s" }));
  expect(play.last.events[1]).toMatchObject({
    kind: "StepScheduled",
    name: "s",
    retry: { maxAttempts: 2 },
    timeoutMs: 1_000,
  });
  expect(play.last.item.tasks).toEqual([]);
  expect(play.last.item.stepsOpen).toBe(true);
});

test("two children called in the same turn get starts that differ in id, run id and seed", async () => {
  const play = await begin(async (ctx) => ctx.all([ctx.call("c"), ctx.call("c")]));
  const [one, two] = play.last.item.starts;
  expect(one?.id).not.toBe(two?.id);
  expect(one?.runId).not.toBe(two?.runId);
  const seeds = [one, two].map(
    (start) => (JSON.parse(start?.started ?? "") as { seed: string }).seed,
  );
  expect(seeds[0]).not.toBe(seeds[1]);
  for (const seed of seeds) expect(seed).toMatch(/^[0-9a-f]{32}$/);
});

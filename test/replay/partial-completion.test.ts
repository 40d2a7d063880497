// Histories that end in the middle: a task without an outcome is open again after a replay.

import { expect, test } from "vitest";
import {
  called,
  completed,
  fired,
  ran,
  ranDone,
  raised,
  childCompleted,
  slept,
  started,
  stepAttemptFailed,
  stepDone,
  stepped,
  waited,
} from "./bodies.ts";
import { outputOf, replay, resume } from "./support.ts";

test("an activity without an outcome is open after a replay, and its result ends the wait", async () => {
  const play = await resume(async (ctx) => ctx.run("a"), [started(), ran("a")]);
  const turn = await play.turn(completed(2, "late"));
  expect(outputOf(turn)).toBe("late");
});

test("a timer that has not fired is open after a replay with its recorded due time", async () => {
  const found = await replay(async (ctx) => ctx.sleep("1h"), [started(), slept(3_600_000, 77)]);
  expect(found.open).toEqual(["2 timer timer"]);
  expect(found.run.openTasks.get(2)).toMatchObject({ kind: "timer", due: 77 });
});

test("a timer that has not fired can fire after a replay", async () => {
  const play = await resume(async (ctx) => ctx.sleep("1h"), [started(), slept(3_600_000)]);
  const turn = await play.turn(fired(2));
  expect(turn.brief).toEqual(["TimerFired #2", "OrchestrationCompleted"]);
});

test("a wait without a message is open after a replay and takes the next message", async () => {
  const play = await resume(async (ctx) => ctx.waitFor("go"), [started(), waited("go")]);
  expect(outputOf(await play.turn(raised("go", 3)))).toBe(3);
});

test("a child without an outcome is open after a replay", async () => {
  const play = await resume(async (ctx) => ctx.call("c"), [started(), called("c", "i::sub::2")]);
  expect(outputOf(await play.turn(childCompleted(2, "c")))).toBe("c");
});

test("a step without an outcome is open after a replay and not running", async () => {
  const found = await replay(async (ctx) => ctx.step("s", () => 1), [started(), stepped("s")]);
  expect(found.run.openTasks.get(2)).toMatchObject({ kind: "step", isRunning: false, failures: 0 });
});

test("a step's failed attempts are counted after a replay, and the next attempt keeps its due time", async () => {
  const found = await replay(
    async (ctx) => ctx.step("s", () => 1, { attempts: 5 }),
    [started(), stepped("s"), stepAttemptFailed(2, 1, 50), stepAttemptFailed(2, 2, 90)],
  );
  expect(found.run.openTasks.get(2)).toMatchObject({ failures: 2, dueAt: 90, isRunning: false });
});

test("a step that was retried before the replay completes after it", async () => {
  const play = await resume(
    async (ctx) => ctx.step("s", () => 1, { attempts: 5 }),
    [started(), stepped("s"), stepAttemptFailed(2, 1, 50)],
  );
  expect(outputOf(await play.turn(stepDone(2, "second try")))).toBe("second try");
});

test("of several tasks only those without an outcome stay open", async () => {
  const history = [started(), ran("a"), ran("b"), ran("c"), ranDone(3, "B")];
  const play = await resume(
    async (ctx) => ctx.all([ctx.run("a"), ctx.run("b"), ctx.run("c")]),
    history,
  );
  const turn = await play.turn(completed(4, "C"));
  expect(turn.open).toEqual(["2 activity a"]);
  expect(outputOf(await play.turn(completed(2, "A")))).toEqual(["A", "B", "C"]);
});

// From inbox to history: the event that each message becomes, and the messages that are dropped.

import { expect, test } from "vitest";
import { inInboxOrder } from "../../src/core/replay/inbox-delivery.ts";
import type { DeliveryBody } from "../../src/core/history/events.ts";
import type { Message } from "../../src/core/provider/messages.ts";
import { ActivityError } from "../../src/core/errors/task-errors.ts";
import {
  childCompleted,
  childFailed,
  completed,
  deadline,
  encode,
  failed,
  fired,
  here,
  raised,
  ranDone,
  stepAttemptFailed,
  stepDone,
  stepFailed,
  steppedDone,
  stepRetryDue,
  wake,
  type Draft,
} from "./bodies.ts";
import { begin, failureOf, outputOf, type Handler } from "./support.ts";

const twoActivities: Handler<undefined> = async (ctx) => ctx.all([ctx.run("a"), ctx.run("b")]);

test("an activity's result becomes ActivityCompleted", async () => {
  const play = await begin(async (ctx) => ctx.run("a"));
  const turn = await play.turn(completed(2, "v"));
  expect(turn.events[0]).toEqual({
    kind: "ActivityCompleted",
    scheduled: 2,
    output: '"v"',
    attempts: 1,
  });
  expect(turn.consumed).toEqual([2]);
});

test("an activity's failure becomes ActivityFailed", async () => {
  const play = await begin(async (ctx) => ctx.run("a"));
  const turn = await play.turn(failed(2, new Error("no"), 4));
  expect(turn.brief).toEqual(["ActivityFailed #2", "OrchestrationFailed"]);
  expect(turn.events[0]).toMatchObject({ attempts: 4, failure: { message: "no" } });
});

test("a due timer becomes TimerFired", async () => {
  const play = await begin(async (ctx) => ctx.sleep(1));
  expect((await play.turn(fired(2))).brief[0]).toBe("TimerFired #2");
});

test("a child's outcome becomes ChildCompleted or ChildFailed", async () => {
  const code: Handler<undefined> = async (ctx) => ctx.call("c");
  const good = await begin(code);
  expect((await good.turn(childCompleted(2, 1))).brief[0]).toBe("ChildCompleted #2");
  const bad = await begin(code);
  expect((await bad.turn(childFailed(2, new Error("x")))).brief[0]).toBe("ChildFailed #2");
});

test("an event becomes EventReceived with its name, payload and key", async () => {
  const play = await begin(async (ctx) => ctx.waitFor("go"));
  const turn = await play.turn(raised("go", { n: 1 }, "key-1"));
  expect(turn.events[0]).toEqual({
    kind: "EventReceived",
    name: "go",
    data: '{"n":1}',
    key: "key-1",
  });
});

test("an event without a wait is recorded and stays unread", async () => {
  const play = await begin(async (ctx) => ctx.sleep("1d"));
  const turn = await play.turn(raised("other", 1));
  expect(turn.brief).toEqual(["EventReceived other"]);
  expect(turn.unread).toEqual([1]);
  expect(turn.open).toEqual(["2 timer timer"]);
});

test("two equal events are recorded as two events", async () => {
  const play = await begin(async (ctx) => ctx.sleep("1d"));
  const turn = await play.turn(raised("e", 1), raised("e", 1));
  expect(turn.brief).toEqual(["EventReceived e", "EventReceived e"]);
});

test("a second result in the same batch is consumed without an event", async () => {
  const play = await begin(twoActivities);
  const turn = await play.turn(completed(2, "first"), completed(2, "second"), completed(3, "b"));
  expect(turn.brief).toEqual([
    "ActivityCompleted #2",
    "ActivityCompleted #3",
    "OrchestrationCompleted",
  ]);
  expect(turn.consumed).toEqual([2, 3, 4]);
  expect(outputOf(turn)).toEqual(["first", "b"]);
});

test("a result that is already in history is consumed without an event", async () => {
  const play = await begin(twoActivities);
  await play.turn(completed(2, "first"));
  const turn = await play.turn(completed(2, "again"));
  expect(turn.brief).toEqual([]);
  expect(turn.consumed).toHaveLength(1);
  expect(turn.item.row).toBeNull();
  expect(outputOf(await play.turn(completed(3, "b")))).toEqual(["first", "b"]);
});

test("a failure after a result, and a result after a failure, change nothing", async () => {
  const code: Handler<undefined> = async (ctx) =>
    ctx.allSettled([ctx.run("a"), ctx.run("b"), ctx.sleep("1d")]);
  const play = await begin(code);
  await play.turn(completed(2, "a"), failed(3, new Error("b")));
  const turn = await play.turn(failed(2, new Error("late")), completed(3, "late"));
  expect(turn.brief).toEqual([]);
  expect(turn.open).toEqual(["4 timer timer"]);
});

test("a second firing of a timer and a second outcome of a child change nothing", async () => {
  const play = await begin(async (ctx) => {
    await ctx.all([ctx.sleep(1), ctx.call("c")]);
    await ctx.sleep("1d");
  });
  await play.turn(fired(2), childCompleted(3));
  const turn = await play.turn(fired(2), childCompleted(3), childFailed(3, new Error("late")));
  expect(turn.brief).toEqual([]);
  expect(turn.consumed).toHaveLength(3);
});

test("a message for another execution is consumed without an event", async () => {
  const play = await begin(twoActivities, { execution: 2 });
  const turn = await play.turn(
    { ...completed(2, "old"), execution: 1 },
    { ...completed(2, "from the future"), execution: 3 },
    completed(2, "right"),
  );
  expect(turn.brief).toEqual(["ActivityCompleted #2"]);
  expect(turn.consumed).toHaveLength(3);
});

test("a completion of an unknown task is consumed without an event", async () => {
  const play = await begin(twoActivities);
  const turn = await play.turn(completed(99, "unknown"), fired(98), childCompleted(97));
  expect(turn.brief).toEqual([]);
  expect(turn.blocked).toBeNull();
  expect(turn.consumed).toHaveLength(3);
});

test("a completion of the wrong kind is consumed without an event", async () => {
  const play = await begin(async (ctx) => ctx.all([ctx.run("a"), ctx.sleep(1), ctx.call("c")]));
  const turn = await play.turn(fired(2), completed(3), completed(4), childCompleted(2));
  expect(turn.brief).toEqual([]);
  expect(turn.open).toEqual(["2 activity a", "3 timer timer", "4 child c"]);
});

test("a second start is consumed without an event", async () => {
  const play = await begin(async (ctx) => ctx.sleep(1));
  const turn = await play.turn({ kind: "start", data: "{}" });
  expect(turn.brief).toEqual([]);
  expect(turn.consumed).toHaveLength(1);
});

test("a wake-up is consumed without an event", async () => {
  const play = await begin(async (ctx) => ctx.sleep(1));
  const turn = await play.turn(wake);
  expect(turn.brief).toEqual([]);
  expect(turn.consumed).toHaveLength(1);
});

test("a deadline becomes a timeout of the activity and cancels its task", async () => {
  const seen: unknown[] = [];
  const play = await begin(async (ctx) => {
    await ctx.run("a", 1, { scheduleToClose: "1s" }).catch((error: unknown) => seen.push(error));
    await ctx.sleep(1);
  });
  const turn = await play.turn(deadline(2));
  expect(turn.brief).toEqual(["ActivityFailed #2", "TimerCreated"]);
  expect(turn.item.cancelledTasks).toEqual([2]);
  expect(seen[0]).toBeInstanceOf(ActivityError);
  expect(seen[0]).toMatchObject({ kind: "timeout" });
  expect((seen[0] as Error).message).toContain("timeout: activity timed out");
});

test("a deadline after the result changes nothing", async () => {
  const play = await begin(async (ctx) => {
    await ctx.run("a", 1, { scheduleToClose: "1s" });
    await ctx.sleep(1);
  });
  const turn = await play.turn(completed(2), deadline(2));
  expect(turn.brief).toEqual(["ActivityCompleted #2", "TimerCreated"]);
  expect(turn.item.cancelledTasks).toEqual([]);
});

test("a step's outcomes become StepCompleted and StepFailed, in any order", async () => {
  const play = await begin(async (ctx) =>
    ctx.allSettled([ctx.step("s", () => 1), ctx.step("t", () => 2)]),
  );
  const turn = await play.turn(stepFailed(3, new Error("t")), stepDone(2, "s"));
  expect(turn.brief).toEqual(["StepFailed #3", "StepCompleted #2", "OrchestrationCompleted"]);
});

test("a step outcome from the inbox counts like a step outcome of the same process", async () => {
  const play = await begin(async (ctx) =>
    ctx.allSettled([ctx.step("s", () => 1), ctx.step("t", () => 2), ctx.run("a")]),
  );
  const stepMessage = (body: DeliveryBody): Draft => ({
    kind: "step",
    sequence: "scheduled" in body ? body.scheduled : null,
    data: JSON.stringify(body),
  });
  const turn = await play.turn(
    stepMessage(steppedDone(2, "s")),
    stepMessage(steppedDone(2, "again")),
    stepMessage(steppedDone(4, "of no step")),
    stepMessage(stepAttemptFailed(3, 1, 9)),
  );
  expect(turn.brief).toEqual(["StepCompleted #2", "StepAttemptFailed #3"]);
  expect(turn.consumed).toHaveLength(4);
});

test("a failed attempt of a step is recorded, with a message for the next attempt", async () => {
  const play = await begin(async (ctx) => ctx.step("s", () => 1, { attempts: 3 }));
  const turn = await play.turn(here(stepAttemptFailed(2, 1, 5_000)));
  expect(turn.brief).toEqual(["StepAttemptFailed #2"]);
  expect(turn.item.timers).toEqual([{ kind: "stepRetry", sequence: 2, dueAt: 5_000 }]);
  expect(turn.open).toEqual(["2 step s"]);
  const due = await play.turn(stepRetryDue(2));
  expect(due.brief).toEqual([]);
  expect(play.run.openTasks.get(2)).toMatchObject({ dueAt: 0, failures: 1 });
});

test("a local outcome of a task that was cancelled in the meantime is dropped without an event", async () => {
  const play = await begin(async (ctx) => {
    await ctx.race([ctx.run("slow"), ctx.sleep(1)]);
    await ctx.sleep("1d");
  });
  const turn = await play.turn(here(ranDone(2, "late")), fired(3));
  // The timer message from the inbox comes first, so the activity has already lost the race.
  expect(turn.brief).toEqual(["TimerFired #3", "ActivityCancelRequested #2", "TimerCreated"]);
});

test("messages are delivered in the order of the inbox", async () => {
  const play = await begin(async (ctx, _input, note) => {
    const log = async (task: Promise<unknown>): Promise<void> => note(await task);
    await Promise.all([log(ctx.run("a")), log(ctx.waitFor("e")), log(ctx.call("c"))]);
  });
  await play.turn(childCompleted(4, "c"), raised("e", "e"), completed(2, "a"));
  expect(play.trace).toEqual(["c", "e", "a"]);
});

test("messages after the end of the code are not consumed", async () => {
  const play = await begin(async (ctx) => ctx.run("a"));
  const turn = await play.turn(completed(2, 1), raised("e", 1));
  expect(turn.brief).toEqual(["ActivityCompleted #2", "OrchestrationCompleted"]);
  expect(turn.consumed).toEqual([2]);
});

test("a start is delivered before events of the same batch", async () => {
  const play = await begin(async (ctx) => ctx.waitFor("e"), {}, raised("e", "early"));
  expect(play.last.brief).toEqual([
    "OrchestrationStarted main",
    "EventSubscribed e",
    "EventReceived e",
    "OrchestrationCompleted",
  ]);
  expect(outputOf(play.last)).toBe("early");
});

test("an unreadable message blocks the instance, and the turn consumes no message", async () => {
  const bad: Draft[] = [
    { ...completed(2), data: "not json" },
    { ...completed(2), data: '{"kind":"Nonsense"}' },
    { ...completed(2), data: '{"kind":"TimerFired","scheduled":2}' },
    { kind: "cancel", data: "null" },
  ];
  for (const message of bad) {
    const play = await begin(twoActivities);
    const turn = await play.turn(message, completed(3));
    expect(turn.blocked).toMatchObject({ code: "HISTORY_CORRUPT" });
    expect(turn.blocked?.message).toContain("Message 2");
    expect(turn.consumed).toEqual([]);
  }
});

test("a result whose value cannot be decoded blocks the instance", async () => {
  const play = await begin(async (ctx) => ctx.run("a"));
  const data = JSON.stringify({ ...ranDone(2), output: "~nonsense" });
  const turn = await play.turn({ ...completed(2), data });
  expect(turn.blocked).toMatchObject({ code: "HISTORY_CORRUPT" });
});

test("an orchestration that fails because of a task has the message of the task's failure", async () => {
  const play = await begin(twoActivities);
  const turn = await play.turn(failed(3, new Error("declined")));
  expect(failureOf(turn).failure.message).toBe("declined");
});

test("the inbox is ordered by (visible at, id), within one event name by id only, and the start comes first", () => {
  const message = (id: number, visibleAt: number, more: Partial<Message>): Message => ({
    id,
    kind: "event",
    execution: null,
    sequence: null,
    name: null,
    data: encode(id),
    key: null,
    visibleAt,
    ...more,
  });
  const ordered = inInboxOrder([
    message(5, 10, { name: "e" }),
    message(3, 20, { name: "e" }),
    message(4, 15, { kind: "timer" }),
    message(9, 99, { kind: "start" }),
    message(2, 15, { name: "f" }),
  ]);
  expect(ordered.map(({ id }) => id)).toEqual([9, 3, 2, 4, 5]);
});

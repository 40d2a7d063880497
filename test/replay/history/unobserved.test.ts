// Tasks that the code no longer awaits: losers of races, cancelled and disposed tasks, unawaited tasks at the end.

import { expect, test } from "vitest";
import type { Task } from "../../../src/core/context/types.ts";
import { CancelledError } from "../../../src/core/errors/outcome-errors.ts";
import {
  childCompleted,
  completed,
  failed,
  fired,
  here,
  raised,
  ran,
  ranCancelled,
  ranDone,
  returned,
  slept,
  sleptDone,
  started,
} from "../bodies.ts";
import { begin, outputOf, replay, resume, type Handler } from "../support.ts";

const timed: Handler<undefined> = async (ctx) => {
  const { key } = await ctx.race({ work: ctx.run("work"), late: ctx.sleep(5) });
  await ctx.run("next", key);
};

test("the loser of a race is cancelled in the delivery in which it lost", async () => {
  const play = await begin(timed);
  const turn = await play.turn(fired(3));
  expect(turn.brief).toEqual([
    "TimerFired #3",
    "ActivityCancelRequested #2",
    "ActivityScheduled next",
  ]);
  expect(turn.events[1]).toEqual({
    kind: "ActivityCancelRequested",
    scheduled: 2,
    reason: "lost a race",
  });
  expect(turn.item.cancelledTasks).toEqual([2]);
});

test("a timer that lost is removed from the inbox", async () => {
  const play = await begin(timed);
  const turn = await play.turn(completed(2));
  expect(turn.brief).toEqual([
    "ActivityCompleted #2",
    "TimerCancelled #3",
    "ActivityScheduled next",
  ]);
  expect(turn.item.cancelledTimers).toEqual([{ kind: "timer", sequence: 3 }]);
});

test("the cancel of a wait that lost is recorded and causes no other write", async () => {
  const play = await begin(async (ctx) => {
    await ctx.race([ctx.waitFor("e"), ctx.sleep(5)]);
    await ctx.sleep("1d");
  });
  const turn = await play.turn(fired(3));
  expect(turn.brief).toContain("EventSubscriptionCancelled #2");
  expect(turn.item).toMatchObject({ cancelledTasks: [], cancelledTimers: [], sends: [] });
});

test("a child that lost gets one cancel message", async () => {
  const code: Handler<undefined> = async (ctx) => {
    await ctx.race([ctx.call("c"), ctx.sleep(5)]);
    await ctx.sleep("1d");
    await ctx.sleep("1d");
  };
  const play = await begin(code);
  const turn = await play.turn(fired(3));
  expect(turn.item.sends).toEqual([
    {
      to: { id: "i::sub::2" },
      kind: "cancel",
      execution: null,
      sequence: null,
      data: expect.stringContaining('"reason":"lost a race"') as string,
      key: "cancel",
    },
  ]);
  expect((await play.turn(fired(6))).item.sends).toEqual([]);
});

test("a step that lost is aborted", async () => {
  const play = await begin(async (ctx) => {
    await ctx.race([ctx.step("s", () => 1), ctx.sleep(5)]);
    await ctx.sleep("1d");
  });
  const turn = await play.turn(fired(3));
  expect(turn.brief).toContain("StepCancelRequested #2");
  expect(turn.events.filter((event) => event.kind === "StepCancelRequested")).toHaveLength(1);
});

test("losers are cancelled in the order of their scheduling, not of the arguments", async () => {
  const play = await begin(async (ctx) => {
    const [a, b, c] = [ctx.run("a"), ctx.run("b"), ctx.run("c")];
    const stop = ctx.sleep(5);
    await ctx.race([c, stop, () => ctx.run("d"), b, a]);
    await ctx.sleep("1d");
  });
  const turn = await play.turn(fired(5));
  expect(turn.brief).toEqual([
    "TimerFired #5",
    "ActivityCancelRequested #2",
    "ActivityCancelRequested #3",
    "ActivityCancelRequested #4",
    "ActivityCancelRequested #6",
    "TimerCreated",
  ]);
});

test("losers of a nested combinator are also cancelled in schedule order", async () => {
  const play = await begin(async (ctx) => {
    const early = ctx.run("early");
    const inner = ctx.all([ctx.run("x"), ctx.run("y")]);
    await ctx.race([inner, early, ctx.sleep(5)]);
    await ctx.sleep("1d");
  });
  expect((await play.turn(fired(5))).brief).toEqual([
    "TimerFired #5",
    "ActivityCancelRequested #2",
    "ActivityCancelRequested #3",
    "ActivityCancelRequested #4",
    "TimerCreated",
  ]);
});

test("a replay makes the same decision from the same history", async () => {
  const history = [
    started(),
    ran("work"),
    slept(5),
    sleptDone(3),
    ranCancelled(2, "lost a race"),
    ran("next", "late"),
  ];
  const found = await replay(timed, history);
  expect(found.blocked).toBeNull();
  expect(found.open).toEqual(["6 activity next"]);
});

test("the reason of a recorded cancel is not compared", async () => {
  const history = [
    started(),
    ran("work"),
    slept(5),
    sleptDone(3),
    ranCancelled(2, "the wording of an older version"),
    ran("next", "late"),
  ];
  expect((await replay(timed, history)).blocked).toBeNull();
});

test("a late result of a loser is dropped without an event", async () => {
  const play = await begin(timed);
  await play.turn(fired(3));
  const turn = await play.turn(completed(2, "late"));
  expect(turn.brief).toEqual([]);
  expect(turn.consumed).toHaveLength(1);
});

test("a loser that finished before the race was decided is not cancelled", async () => {
  const play = await begin(async (ctx) => {
    const work = ctx.run("work");
    await work;
    await ctx.race([work, ctx.sleep(5)]);
    await ctx.sleep("1d");
  });
  const turn = await play.turn(completed(2));
  expect(turn.brief).toEqual([
    "ActivityCompleted #2",
    "TimerCreated",
    "TimerCancelled #4",
    "TimerCreated",
  ]);
});

test("tasks scheduled and cancelled in one turn are recorded and never executed", async () => {
  const play = await begin(async (ctx) => {
    const tasks = [ctx.run("a", 1, { scheduleToClose: "1m" }), ctx.sleep(5), ctx.call("c")];
    for (const task of tasks) task.cancel();
    await ctx.sleep("1d");
  });
  expect(play.last.brief.slice(1)).toEqual([
    "ActivityScheduled a",
    "TimerCreated",
    "ChildScheduled c",
    "ActivityCancelRequested #2",
    "TimerCancelled #3",
    "ChildCancelRequested #4",
    "TimerCreated",
  ]);
  expect(play.last.item).toMatchObject({
    tasks: [],
    starts: [],
    sends: [],
    cancelledTasks: [],
    cancelledTimers: [],
    timers: [{ kind: "timer", sequence: 8 }],
  });
});

test(".cancel() rejects the task's await with its reason", async () => {
  const seen: unknown[] = [];
  const play = await begin(async (ctx) => {
    const task = ctx.run("a");
    await ctx.waitFor("stop");
    task.cancel("changed my mind");
    await task.catch((error: unknown) => seen.push(error));
    await ctx.sleep("1d");
  });
  const turn = await play.turn(raised("stop"));
  expect(turn.events[1]).toMatchObject({ scheduled: 2, reason: "changed my mind" });
  expect(seen[0]).toBeInstanceOf(CancelledError);
  expect(seen[0]).toMatchObject({ code: "CANCELLED", reason: "changed my mind" });
});

test(".cancel() twice, or of a settled task, does nothing", async () => {
  const play = await begin(async (ctx) => {
    const [a, b] = [ctx.run("a"), ctx.run("b")];
    await a;
    a.cancel();
    b.cancel("first");
    b.cancel("second");
    await ctx.sleep("1d");
  });
  expect((await play.turn(completed(2))).brief).toEqual([
    "ActivityCompleted #2",
    "ActivityCancelRequested #3",
    "TimerCreated",
  ]);
});

test("cancelling an unawaited task causes no unhandled rejection", async () => {
  const play = await begin(async (ctx) => {
    ctx.run("a").cancel();
    await ctx.sleep("1d");
  });
  expect(play.last.blocked).toBeNull();
});

test("a failed unawaited task causes no unhandled rejection", async () => {
  const play = await begin(async (ctx) => {
    void ctx.run("a");
    await ctx.sleep("1d");
  });
  expect((await play.turn(failed(2, new Error("unseen")))).brief).toEqual(["ActivityFailed #2"]);
});

test("using cancels unfinished tasks at the end of their block", async () => {
  const play = await begin(async (ctx) => {
    {
      using _work = ctx.run("work");
      using _more = ctx.sleep("1h");
      await ctx.waitFor("stop");
    }
    await ctx.run("after");
  });
  const turn = await play.turn(raised("stop"));
  // The task declared last is disposed first.
  expect(turn.brief).toEqual([
    "EventReceived stop",
    "TimerCancelled #3",
    "ActivityCancelRequested #2",
    "ActivityScheduled after",
  ]);
  expect(turn.events[2]).toMatchObject({ reason: "disposed" });
});

test("using does not cancel finished tasks", async () => {
  const play = await begin(async (ctx) => {
    {
      using work = ctx.run("work");
      await work;
    }
    await ctx.run("after");
  });
  expect((await play.turn(completed(2))).brief).toEqual([
    "ActivityCompleted #2",
    "ActivityScheduled after",
  ]);
});

test("unawaited tasks are cancelled at the return, in schedule order, in the same commit", async () => {
  const play = await begin(async (ctx) => {
    void ctx.waitFor("e");
    void ctx.run("a");
    void ctx.sleep("1d");
    void ctx.call("c");
    void ctx.step("s", () => 1);
    await ctx.run("b");
    return "end";
  });
  const turn = await play.turn(completed(7));
  expect(turn.brief).toEqual([
    "ActivityCompleted #7",
    "EventSubscriptionCancelled #2",
    "ActivityCancelRequested #3",
    "TimerCancelled #4",
    "ChildCancelRequested #5",
    "StepCancelRequested #6",
    "OrchestrationCompleted",
  ]);
  expect(turn.open).toEqual([]);
  expect(turn.item.sends.map(({ to }) => to.id)).toEqual(["i::sub::5"]);
});

test("unawaited activities and children cause one warning with their names, timers and waits none", async () => {
  const play = await begin(async (ctx) => {
    void ctx.waitFor("e");
    void ctx.sleep("1d");
    void ctx.run("a");
    void ctx.call("c");
    void ctx.call("kept", 1, { onParentClose: "abandon" });
  });
  expect(play.last.logs).toEqual([
    "warn The orchestration ended without awaiting these tasks, which are cancelled: " +
      'activity "a" (event 4), child "c" (event 5).',
  ]);
  const quiet = await begin(async (ctx) => {
    void ctx.waitFor("e");
    void ctx.sleep("1d");
  });
  expect(quiet.last.logs).toEqual([]);
});

test("unawaited tasks are cancelled at a throw", async () => {
  const play = await begin(async (ctx) => {
    void ctx.run("a");
    throw new Error("x");
  });
  expect(play.last.brief.slice(1)).toEqual([
    "ActivityScheduled a",
    "ActivityCancelRequested #2",
    "OrchestrationFailed",
  ]);
  expect(play.last.item.tasks).toEqual([]);
});

test("a child with onParentClose abandon survives the end of its parent", async () => {
  const play = await begin(async (ctx) => {
    void ctx.call("kept", 1, { onParentClose: "abandon" });
    await ctx.sleep(1);
    return "end";
  });
  expect(play.last.item.starts).toMatchObject([{ id: "i::sub::2", onParentClose: "abandon" }]);
  const turn = await play.turn(fired(3));
  expect(turn.brief).toEqual(["TimerFired #3", "OrchestrationCompleted"]);
  expect(turn.item.sends).toEqual([]);
});

test("an abandoned child of the last turn is started", async () => {
  const play = await begin(async (ctx) => {
    void ctx.call("kept", 1, { onParentClose: "abandon" });
  });
  expect(play.last.item.starts).toHaveLength(1);
  expect(play.last.brief).toEqual([
    "OrchestrationStarted main",
    "ChildScheduled kept",
    "OrchestrationCompleted",
  ]);
});

test("detached starts of the last turn are executed", async () => {
  const play = await begin(async (ctx) => {
    void ctx.startDetached("d", 1, { id: "d-1" });
    return "end";
  });
  expect(play.last.item.dispatched).toMatchObject([
    { item: { kind: "start", id: "d-1", parent: null } },
  ]);
});

test("an unawaited race cancels nothing until the function ends", async () => {
  const play = await begin(async (ctx) => {
    const race: Task<unknown> = ctx.race([ctx.run("a"), ctx.run("b")]);
    void race;
    await ctx.sleep(1);
    await ctx.sleep(1);
  });
  const turn = await play.turn(fired(4));
  expect(turn.open).toEqual(["2 activity a", "3 activity b", "6 timer timer"]);
});

test("cancelling a race cancels every open branch", async () => {
  const play = await begin(async (ctx) => {
    const race = ctx.race([ctx.run("a"), ctx.run("b")]);
    await ctx.waitFor("stop");
    race.cancel("not needed");
    await ctx.sleep("1d");
  });
  expect((await play.turn(raised("stop"))).brief).toEqual([
    "EventReceived stop",
    "ActivityCancelRequested #2",
    "ActivityCancelRequested #3",
    "TimerCreated",
  ]);
});

test("cancelling an all, an allSettled and an any cancels their open tasks", async () => {
  const play = await begin(async (ctx) => {
    const joins = [
      ctx.all([ctx.run("a")]),
      ctx.allSettled([ctx.run("b")]),
      ctx.any([ctx.run("c")]),
    ];
    for (const join of joins) join.cancel();
    await ctx.sleep("1d");
  });
  expect(play.last.brief.slice(4)).toEqual([
    "ActivityCancelRequested #2",
    "ActivityCancelRequested #3",
    "ActivityCancelRequested #4",
    "TimerCreated",
  ]);
});

test("a race decided in a later turn cancels tasks scheduled in earlier turns", async () => {
  const play = await begin(async (ctx) => {
    const slow = ctx.call("slow");
    await ctx.run("one");
    await ctx.run("two");
    await ctx.race([slow, ctx.sleep(1)]);
    await ctx.sleep("1d");
  });
  await play.turn(completed(3));
  await play.turn(completed(5));
  const turn = await play.turn(fired(7));
  expect(turn.brief).toEqual(["TimerFired #7", "ChildCancelRequested #2", "TimerCreated"]);
});

test("a local outcome of a cancelled activity is dropped, and the turn does not finish its task", async () => {
  const play = await begin(timed);
  const late = { task: { key: 1, execution: 1, sequence: 2, token: 9 }, body: ranDone(2, "x") };
  const turn = await play.turn(fired(3), late);
  expect(turn.brief[1]).toBe("ActivityCancelRequested #2");
  expect(turn.item.finished).toEqual([]);
});

test("the turn that records a local outcome finishes its task", async () => {
  const play = await begin(timed);
  const task = { key: 1, execution: 1, sequence: 2, token: 9 };
  const turn = await play.turn({ task, body: ranDone(2, "x") });
  expect(turn.item.finished).toEqual([task]);
  expect(turn.brief[0]).toBe("ActivityCompleted #2");
});

test("a second race over a loser rejects at once with CancelledError", async () => {
  const play = await begin(async (ctx) => {
    const slow = ctx.run("slow");
    await ctx.race([slow, ctx.sleep(1)]);
    return ctx.race([slow, ctx.sleep(1)]).catch((error: Error) => error.message);
  });
  const turn = await play.turn(fired(3));
  expect(outputOf(turn)).toBe("cancelled: lost a race");
});

test("a history without the cancel of the loser blocks code that cancels it", async () => {
  const history = [started(), ran("work"), slept(5), sleptDone(3), ran("next", "late")];
  const found = await replay(timed, history);
  expect(found.blocked).toMatchObject({
    code: "NONDETERMINISM",
    sequence: 5,
    recorded: { kind: "ActivityScheduled", name: "next" },
    requested: { kind: "ActivityCancelRequested", scheduled: 2 },
  });
});

test("a history with a cancel that the code does not make blocks", async () => {
  const keeps: Handler<undefined> = async (ctx) => {
    await Promise.race([ctx.run("work"), ctx.sleep(5)]);
    await ctx.run("next", "late");
  };
  const history = [
    started(),
    ran("work"),
    slept(5),
    sleptDone(3),
    ranCancelled(2),
    ran("next", "late"),
  ];
  expect((await replay(keeps, history)).blocked).toMatchObject({
    recorded: { kind: "ActivityCancelRequested", scheduled: 2 },
    requested: { kind: "ActivityScheduled", name: "next" },
  });
});

test("a cancel of a different task than the recorded one blocks", async () => {
  const code: Handler<undefined> = async (ctx) => {
    const [_a, b] = [ctx.run("a"), ctx.run("b")];
    b.cancel();
    await ctx.sleep(1);
  };
  const history = [started(), ran("a"), ran("b"), ranCancelled(2), slept(1)];
  expect((await replay(code, history)).blocked).toMatchObject({
    recorded: { scheduled: 2 },
    requested: { scheduled: 3 },
  });
});

test("the recorded cancels of unawaited tasks at the end are compared", async () => {
  const code: Handler<undefined> = async (ctx) => {
    void ctx.run("a");
    return 1;
  };
  const good = [started(), ran("a"), ranCancelled(2), returned(1)];
  expect((await replay(code, good)).ended).not.toBeNull();
  const bad = [started(), ran("a"), returned(1)];
  expect((await replay(code, bad)).blocked).toMatchObject({ code: "NONDETERMINISM" });
});

test("each child that lost gets its own cancel message", async () => {
  const play = await begin(async (ctx) => {
    await ctx.race([ctx.call("x"), ctx.call("y"), ctx.call("z"), ctx.sleep(1)]);
    await ctx.sleep("1d");
  });
  const turn = await play.turn(fired(5));
  expect(turn.item.sends.map(({ to }) => to.id)).toEqual(["i::sub::2", "i::sub::3", "i::sub::4"]);
});

test("an outcome that arrives for a cancelled child changes nothing", async () => {
  const play = await begin(async (ctx) => {
    await ctx.race([ctx.call("x"), ctx.sleep(1)]);
    await ctx.sleep("1d");
  });
  await play.turn(fired(3));
  expect((await play.turn(childCompleted(2, "late"))).brief).toEqual([]);
});

test("cancelling a step between two attempts cancels the message for its next attempt", async () => {
  const code: Handler<undefined> = async (ctx) => {
    await ctx.race([ctx.step("s", () => 1, { attempts: 5 }), ctx.sleep(5)]);
    await ctx.sleep("1d");
  };
  const play = await begin(code);
  await play.turn(
    here({
      kind: "StepAttemptFailed",
      scheduled: 2,
      attempt: 1,
      due: 99,
      failure: { category: "application", name: "Error", message: "x", retryable: true },
    }),
  );
  const turn = await play.turn(fired(3));
  expect(turn.item.cancelledTimers).toEqual([{ kind: "stepRetry", sequence: 2 }]);
});

test("the deadline alarm of a loser is cancelled once, and not again after a replay", async () => {
  const code: Handler<undefined> = async (ctx) => {
    await ctx.race([ctx.run("a", 1, { scheduleToClose: "1m" }), ctx.sleep(5)]);
    await ctx.sleep(7);
    await ctx.sleep(7);
  };
  const play = await begin(code);
  const turn = await play.turn(fired(3));
  expect(turn.item.cancelledTimers).toContainEqual({ kind: "deadline", sequence: 0 });
  const again = await resume(code, play.history);
  expect((await again.turn(fired(6))).item.cancelledTimers).toEqual([]);
});

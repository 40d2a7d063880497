// Cancelling an instance: the errors that its code sees, the recorded events, and the status cancelled at the end.

import { expect, test } from "vitest";
import { CancelledError } from "../../src/core/errors/outcome-errors.ts";
import {
  cancel,
  cancelRequested,
  cancelTimedOut,
  childCompleted,
  completed,
  failed,
  fired,
  ran,
  ranCancelled,
  raised,
  started,
  stepDone,
} from "./bodies.ts";
import { begin, failureOf, resume, type Handler } from "./support.ts";

test("a cancel rejects the open await, and the instance ends cancelled with its reason", async () => {
  const play = await begin(async (ctx) => ctx.run("a"));
  const turn = await play.turn(cancel("user asked"));
  expect(turn.brief).toEqual([
    "OrchestrationCancelRequested",
    "ActivityCancelRequested #2",
    "OrchestrationFailed",
  ]);
  expect(turn.events[1]).toMatchObject({ reason: "user asked" });
  expect(failureOf(turn)).toMatchObject({
    outcome: "cancelled",
    failure: { name: "CancelledError", kind: "cancelled", message: "cancelled: user asked" },
  });
  expect(turn.item.cancelledTasks).toEqual([2]);
  expect(turn.item.change).toMatchObject({ kind: "ended", status: "cancelled" });
});

test("every open await rejects in schedule order, in one drain", async () => {
  const play = await begin(async (ctx, _input, note) => {
    const watch = async (name: string, task: Promise<unknown>): Promise<void> => {
      await task.catch((error: unknown) => note([name, error instanceof CancelledError]));
    };
    const tasks = [
      ctx.run("a"),
      ctx.sleep(9),
      ctx.waitFor("e"),
      ctx.call("c"),
      ctx.step("s", () => 1),
    ];
    await Promise.all(tasks.map((task, index) => watch(String(index), task)));
  });
  const turn = await play.turn(cancel("stop"));
  expect(turn.brief).toEqual([
    "OrchestrationCancelRequested",
    "ActivityCancelRequested #2",
    "TimerCancelled #3",
    "EventSubscriptionCancelled #4",
    "ChildCancelRequested #5",
    "StepCancelRequested #6",
    "OrchestrationFailed",
  ]);
  expect(play.trace).toEqual(["0", "1", "2", "3", "4"].map((name) => [name, true]));
  expect(turn.events.filter((event) => event.kind === "StepCancelRequested")).toHaveLength(1);
  expect(turn.item.sends).toMatchObject([{ to: { id: "i::sub::5" }, kind: "cancel" }]);
  expect(turn.item.cancelledTimers).toEqual([{ kind: "timer", sequence: 3 }]);
});

test("a recorded cancel is delivered again in replay", async () => {
  const code: Handler<undefined> = async (ctx, _input, note) => {
    await ctx.run("a").catch(() => note(ctx.info.cancelRequested));
    await ctx.shield(() => ctx.run("undo"));
  };
  const history = [
    started(),
    ran("a"),
    cancelRequested("stop"),
    ranCancelled(2, "stop"),
    ran("undo"),
  ];
  const play = await resume(code, history);
  const turn = await play.turn(completed(5));
  expect(play.trace).toEqual([true]);
  expect(failureOf(turn).outcome).toBe("cancelled");
});

test("an instance ends cancelled even if its code catches the cancel and returns", async () => {
  const play = await begin(async (ctx) => {
    await ctx.run("a").catch(() => undefined);
    return "a value";
  });
  expect(failureOf(await play.turn(cancel("stop"))).outcome).toBe("cancelled");
});

test("an instance ends cancelled even if its code throws another error after the cancel", async () => {
  const play = await begin(async (ctx) => {
    await ctx.run("a").catch(() => {
      throw new Error("other");
    });
  });
  const turn = await play.turn(cancel("stop"));
  expect(failureOf(turn)).toMatchObject({
    outcome: "cancelled",
    failure: { message: "cancelled: stop" },
  });
});

test("a cancel is delivered before a result of the same batch, in any order within the batch (4b)", async () => {
  const code: Handler<undefined> = async (ctx, _input, note) => {
    note(await ctx.run("a").catch((error: Error) => error.message));
    await ctx.run("b");
  };
  for (const batch of [
    [completed(2, "A"), cancel("stop")],
    [cancel("stop"), completed(2, "A")],
  ]) {
    const play = await begin(code);
    const turn = await play.turn(...batch);
    expect(play.trace).toEqual(["cancelled: stop"]);
    expect(turn.brief).toEqual([
      "OrchestrationCancelRequested",
      "ActivityCancelRequested #2",
      "OrchestrationFailed",
    ]);
    expect(turn.item.tasks).toEqual([]);
  }
});

test("an instance ends cancelled even if its last result is in the same batch (4b)", async () => {
  const play = await begin(async (ctx) => ctx.run("a"));
  const turn = await play.turn(completed(2, "A"), cancel("in time"));
  expect(failureOf(turn).failure.message).toBe("cancelled: in time");
  expect(turn.consumed).toHaveLength(1);
});

test("with a start and its cancel in one batch, the first call already rejects (4b)", async () => {
  const play = await begin(async (ctx) => ctx.run("a"), {}, cancel("at once"));
  expect(play.last.brief).toEqual([
    "OrchestrationStarted main",
    "OrchestrationCancelRequested",
    "OrchestrationFailed",
  ]);
  expect(play.last.item.tasks).toEqual([]);
});

test("only the first cancel counts; later cancels are consumed without an event", async () => {
  const play = await begin(async (ctx) => {
    await ctx.run("a").catch(() => undefined);
    await ctx.shield(() => ctx.run("undo"));
  });
  await play.turn(cancel("first"), cancel("second"));
  const turn = await play.turn(cancel("third"));
  expect(turn.brief).toEqual([]);
  expect(turn.consumed).toHaveLength(1);
  expect(failureOf(await play.turn(completed(5))).failure.message).toBe("cancelled: first");
});

test("calls inside a shield are not cancelled, made before or after the cancel", async () => {
  const play = await begin(async (ctx, _input, note) => {
    await ctx.shield(async () => {
      note(await ctx.run("one"));
      note(await ctx.run("two"));
    });
    return "end";
  });
  const turn = await play.turn(cancel("stop"));
  expect(turn.brief).toEqual(["OrchestrationCancelRequested"]);
  expect(turn.open).toEqual(["2 activity one"]);
  await play.turn(completed(2, 1));
  expect(failureOf(await play.turn(completed(5, 2))).outcome).toBe("cancelled");
  expect(play.trace).toEqual([1, 2]);
});

test("a shield protects everything inside it: scopes, races, children, steps, waits", async () => {
  const play = await begin(async (ctx) => {
    await ctx.shield(() =>
      ctx.all([
        () => ctx.call("c"),
        () => ctx.step("s", () => 1),
        () => ctx.race([ctx.waitFor("e"), ctx.sleep(5)]),
      ]),
    );
  });
  expect((await play.turn(cancel("stop"))).brief).toEqual(["OrchestrationCancelRequested"]);
  const turn = await play.turn(raised("e"), childCompleted(2), stepDone(3));
  expect(turn.brief).toEqual([
    "EventReceived e",
    "TimerCancelled #5",
    "ChildCompleted #2",
    "StepCompleted #3",
    "OrchestrationFailed",
  ]);
});

test("a scope inside a shield can still be cancelled from within", async () => {
  const play = await begin(async (ctx) => {
    await ctx.shield(async () => {
      const scope = ctx.scope(() => ctx.run("inner"));
      await ctx.waitFor("stop");
      scope.cancel("from within");
      await ctx.run("next");
    });
  });
  await play.turn(cancel("stop"));
  const turn = await play.turn(raised("stop"));
  expect(turn.brief).toEqual([
    "EventReceived stop",
    "ActivityCancelRequested #2",
    "ActivityScheduled next",
  ]);
});

test("a shield around one branch does not protect the other branches", async () => {
  const play = await begin(async (ctx) => {
    await Promise.allSettled([ctx.run("open"), ctx.shield(() => ctx.run("kept"))]);
  });
  const turn = await play.turn(cancel("stop"));
  expect(turn.brief).toEqual(["OrchestrationCancelRequested", "ActivityCancelRequested #2"]);
  expect(turn.open).toEqual(["3 activity kept"]);
});

test("a task made outside a shield and awaited inside it is cancelled", async () => {
  const play = await begin(async (ctx, _input, note) => {
    const outside = ctx.run("outside");
    await ctx.shield(async () => {
      await outside.catch((error: Error) => note(error.message));
    });
  });
  await play.turn(cancel("stop"));
  expect(play.trace).toEqual(["cancelled: stop"]);
});

test("a later call outside a shield records nothing and rejects only after all microtasks have run", async () => {
  const play = await begin(async (ctx, _input, note) => {
    await ctx.run("a").catch(() => undefined);
    const order: string[] = [];
    const later = ctx.run("b").catch((error: Error) => order.push(error.message));
    // All pending microtasks run first.
    for (let i = 0; i < 20; i++) await Promise.resolve();
    order.push("microtasks are over");
    await later;
    note(order);
  });
  const turn = await play.turn(cancel("stop"));
  expect(turn.brief).toEqual([
    "OrchestrationCancelRequested",
    "ActivityCancelRequested #2",
    "OrchestrationFailed",
  ]);
  expect(play.trace).toEqual([["microtasks are over", "cancelled: stop"]]);
});

test("every kind of later call rejects with CancelledError", async () => {
  const play = await begin(async (ctx, _input, note) => {
    await ctx.sleep("1d").catch(() => undefined);
    for (const call of [
      () => ctx.run("a"),
      () => ctx.step("s", () => 1),
      () => ctx.sleep(1),
      () => ctx.waitFor("e"),
      () => ctx.call("c"),
      () => ctx.continueAsNew(undefined),
    ]) {
      note(await call().catch((error: unknown) => error instanceof CancelledError));
    }
    void ctx.startDetached("d", 1, { id: "d" });
  });
  const turn = await play.turn(cancel("stop"));
  expect(play.trace).toEqual([true, true, true, true, true, true]);
  expect(turn.brief).toEqual([
    "OrchestrationCancelRequested",
    "TimerCancelled #2",
    "OrchestrationFailed",
  ]);
  expect(turn.item.starts).toEqual([]);
});

test("several later calls reject one at a time, each after the code is idle", async () => {
  const play = await begin(async (ctx, _input, note) => {
    await ctx.sleep("1d").catch(() => undefined);
    const refused = async (name: string): Promise<void> => {
      await ctx.run(name).catch(() => note(`${name} is refused`));
      for (let i = 0; i < 5; i++) await Promise.resolve();
      note(`${name} is idle`);
    };
    await Promise.all([refused("a"), refused("b")]);
  });
  await play.turn(cancel("stop"));
  expect(play.trace).toEqual(["a is refused", "a is idle", "b is refused", "b is idle"]);
});

test("after 1,000 ignored cancels the instance is terminated", async () => {
  const play = await begin(async (ctx) => {
    for (;;) {
      try {
        await ctx.run("again");
      } catch {
        // ignored
      }
    }
  });
  const turn = await play.turn(cancel("stop"));
  expect(failureOf(turn)).toMatchObject({ outcome: "terminated" });
  expect(failureOf(turn).failure.message).toContain("ignored its cancellation");
  expect(turn.brief).toEqual([
    "OrchestrationCancelRequested",
    "ActivityCancelRequested #2",
    "OrchestrationFailed",
  ]);
});

test("open calls inside a shield are cancelled when the instance is terminated for ignoring its cancel", async () => {
  const play = await begin(async (ctx) => {
    void ctx.shield(() => ctx.call("child"));
    for (;;) await ctx.sleep("1d").catch(() => undefined);
  });
  const turn = await play.turn(cancel("stop"));
  expect(failureOf(turn).outcome).toBe("terminated");
  expect(turn.brief).toContain("ChildCancelRequested #2");
  expect(turn.open).toEqual([]);
});

test("an instance may ignore up to 1,000 cancels", async () => {
  const play = await begin(async (ctx) => {
    await ctx.sleep("1d").catch(() => undefined);
    for (let i = 0; i < 1_000; i++) await ctx.sleep(1).catch(() => undefined);
  });
  expect(failureOf(await play.turn(cancel("stop"))).outcome).toBe("cancelled");
});

test("continueAsNew rejects after a cancel, also inside a shield", async () => {
  const play = await begin(async (ctx, _input, note) => {
    await ctx.sleep("1d").catch(() => undefined);
    await ctx.shield(async () => {
      await ctx.continueAsNew(undefined).catch((error: Error) => note(error.message));
    });
  });
  const turn = await play.turn(cancel("stop"));
  expect(failureOf(turn).outcome).toBe("cancelled");
  expect(play.trace).toEqual(["cancelled: stop"]);
});

test("log and info still work after a cancel", async () => {
  const play = await begin(async (ctx, _input, note) => {
    await ctx.sleep("1d").catch(() => undefined);
    ctx.log.info("cleaning up");
    note([ctx.info.cancelRequested, ctx.now().getTime(), typeof ctx.uuid()]);
  });
  const turn = await play.turn(cancel("stop"));
  expect(turn.logs).toEqual(["info cleaning up"]);
  expect(play.trace).toEqual([[true, 1_001_000, "string"]]);
});

test("an unread message does not satisfy a wait made after the cancel", async () => {
  const play = await begin(async (ctx, _input, note) => {
    await ctx.sleep("1d").catch(() => undefined);
    note(await ctx.waitFor("e").catch((error: Error) => error.message));
  });
  await play.turn(raised("e", 1));
  const turn = await play.turn(cancel("stop"));
  expect(play.trace).toEqual(["cancelled: stop"]);
  expect(turn.unread).toEqual([1]);
});

test("the turn that takes a cancel writes the cancel timeout if the code has not ended", async () => {
  const play = await begin(async (ctx) => {
    await ctx.sleep("1d").catch(() => undefined);
    await ctx.shield(() => ctx.run("undo"));
  });
  const turn = await play.turn(cancel("stop"));
  expect(turn.item.timers).toEqual([{ kind: "cancelTimeout", sequence: 3, delayMs: 3_600_000 }]);
  expect(JSON.parse(turn.item.cancelRequested ?? "")).toMatchObject({ reason: "stop" });
});

test("an instance whose cleanup exceeds the cancel timeout is terminated", async () => {
  const play = await begin(
    async (ctx) => {
      await ctx.sleep("1d").catch(() => undefined);
      await ctx.shield(() => ctx.run("undo"));
    },
    { checks: "end" }, // the engine ends it, not the code, so a replay does not reach this end
  );
  await play.turn(cancel("stop"));
  const turn = await play.turn(cancelTimedOut(3), raised("e"));
  expect(failureOf(turn).outcome).toBe("terminated");
  expect(turn.brief).toEqual(["ActivityCancelRequested #5", "OrchestrationFailed"]);
  expect(turn.item.cancelledTasks).toEqual([5]);
  expect(turn.consumed).toHaveLength(1);
});

test("a cancel timeout without a cancel changes nothing", async () => {
  const play = await begin(async (ctx) => ctx.sleep("1d"));
  const turn = await play.turn(cancelTimedOut(3));
  expect(turn.brief).toEqual([]);
  expect(turn.consumed).toHaveLength(1);
});

test("a child with onParentClose abandon is not cancelled with its parent", async () => {
  const play = await begin(async (ctx) => {
    await ctx.allSettled([ctx.call("kept", 1, { onParentClose: "abandon" }), ctx.call("gone")]);
  });
  const turn = await play.turn(cancel("stop"));
  expect(turn.brief).toEqual([
    "OrchestrationCancelRequested",
    "ChildCancelRequested #3",
    "OrchestrationFailed",
  ]);
  expect(turn.item.sends.map(({ to }) => to.id)).toEqual(["i::sub::3"]);
});

test("a child with onParentClose abandon is cancelled by task.cancel(), but not by losing a race", async () => {
  const play = await begin(async (ctx) => {
    const named = ctx.call("named", 1, { onParentClose: "abandon" });
    const raced = ctx.call("raced", 1, { onParentClose: "abandon" });
    await ctx.race({ raced, now: ctx.sleep(5) });
    named.cancel("enough");
    await ctx.waitFor("go");
  });
  const turn = await play.turn(fired(4));
  expect(turn.brief).toEqual(["TimerFired #4", "ChildCancelRequested #2", "EventSubscribed go"]);
  expect(turn.item.sends.map(({ to }) => to.id)).toEqual(["i::sub::2"]);
});

test("late outcomes of cancelled tasks are dropped while the cleanup runs", async () => {
  const play = await begin(async (ctx) => {
    await ctx.allSettled([ctx.run("a"), ctx.sleep(5), ctx.call("c")]);
    await ctx.shield(() => ctx.run("undo"));
  });
  await play.turn(cancel("stop"));
  const turn = await play.turn(completed(2, "late"), fired(3), childCompleted(4));
  expect(turn.brief).toEqual([]);
  expect(turn.consumed).toHaveLength(3);
});

test("a failing cleanup does not change the outcome of a cancelled instance", async () => {
  const play = await begin(async (ctx) => {
    try {
      await ctx.sleep("1d");
    } finally {
      await ctx.shield(() => ctx.run("undo"));
    }
  });
  await play.turn(cancel("stop"));
  const turn = await play.turn(failed(5, new Error("undo broke")));
  expect(failureOf(turn)).toMatchObject({
    outcome: "cancelled",
    failure: { message: "cancelled: stop" },
  });
});

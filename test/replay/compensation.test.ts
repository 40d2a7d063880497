// ctx.compensate: when an orchestration fails or is cancelled, its compensations run in reverse order, each inside a shield.

import { expect, test } from "vitest";
import { cancel, completed, failed, fired, raised } from "./bodies.ts";
import { begin, failureOf, outputOf, type Handler } from "./support.ts";

const booking: Handler<undefined> = async (ctx) => {
  await ctx.run("flight");
  ctx.compensate(() => ctx.run("cancel flight"));
  await ctx.run("hotel");
  ctx.compensate(() => ctx.run("cancel hotel"));
  await ctx.run("car");
  return "booked";
};

test("a failure runs the compensations in reverse order, one at a time", async () => {
  const play = await begin(booking);
  await play.turn(completed(2));
  await play.turn(completed(4));
  expect((await play.turn(failed(6, new Error("no car")))).brief).toEqual([
    "ActivityFailed #6",
    "ActivityScheduled cancel hotel",
  ]);
  expect((await play.turn(completed(8))).brief).toEqual([
    "ActivityCompleted #8",
    "ActivityScheduled cancel flight",
  ]);
  const turn = await play.turn(completed(10));
  expect(failureOf(turn)).toMatchObject({ outcome: "failed", failure: { message: "no car" } });
  expect(failureOf(turn).compensationFailures).toBeUndefined();
});

test("success runs no compensation", async () => {
  const play = await begin(booking);
  await play.turn(completed(2), completed(4));
  const turn = await play.turn(completed(6));
  expect(outputOf(turn)).toBe("booked");
  expect(turn.brief).toEqual(["ActivityCompleted #6", "OrchestrationCompleted"]);
});

test("a cancel runs the compensations inside a shield, and the instance ends cancelled", async () => {
  const play = await begin(booking);
  await play.turn(completed(2));
  const turn = await play.turn(cancel("stop"));
  expect(turn.brief).toEqual([
    "OrchestrationCancelRequested",
    "ActivityCancelRequested #4",
    "ActivityScheduled cancel flight",
  ]);
  expect(failureOf(await play.turn(completed(7))).outcome).toBe("cancelled");
});

test("a cancel during the compensations does not stop them", async () => {
  const play = await begin(booking);
  await play.turn(completed(2));
  await play.turn(failed(4, new Error("no hotel")));
  const turn = await play.turn(cancel("hurry"));
  expect(turn.brief).toEqual(["OrchestrationCancelRequested"]);
  expect(turn.open).toEqual(["6 activity cancel flight"]);
  expect(failureOf(await play.turn(completed(6))).outcome).toBe("cancelled");
});

test("a failing compensation does not stop the others and is listed in the error", async () => {
  const play = await begin(async (ctx, _input, note) => {
    ctx.compensate(() => note("first registered"));
    ctx.compensate(() => {
      throw new Error("synchronous");
    });
    ctx.compensate(async () => {
      await ctx.run("undo");
    });
    throw new Error("the cause");
  });
  const turn = await play.turn(failed(2, new Error("asynchronous")));
  expect(play.trace).toEqual(["first registered"]);
  const ended = failureOf(turn);
  expect(ended.failure.message).toBe("the cause");
  expect(ended.compensationFailures?.map(({ message }) => message)).toEqual([
    "asynchronous",
    "synchronous",
  ]);
});

test("unawaited tasks are cancelled before the first compensation runs", async () => {
  const play = await begin(async (ctx) => {
    ctx.compensate(() => ctx.run("undo"));
    void ctx.run("forgotten");
    await ctx.sleep(1);
    throw new Error("x");
  });
  const turn = await play.turn(fired(3));
  expect(turn.brief).toEqual([
    "TimerFired #3",
    "ActivityCancelRequested #2",
    "ActivityScheduled undo",
  ]);
  expect(turn.logs).toEqual([
    'warn The orchestration ended without awaiting these tasks, which are cancelled: activity "forgotten" (event 2).',
  ]);
  // The warning is logged once: the replay of this turn by the driver logs nothing.
  expect((await play.turn(completed(6))).logs).toEqual([]);
});

test("tasks that a compensation leaves open are cancelled before the next compensation runs", async () => {
  const play = await begin(async (ctx) => {
    ctx.compensate(() => ctx.run("second"));
    ctx.compensate(() => {
      void ctx.run("dropped");
    });
    throw new Error("x");
  });
  expect(play.last.brief).toEqual([
    "OrchestrationStarted main",
    "ActivityScheduled dropped",
    "ActivityCancelRequested #2",
    "ActivityScheduled second",
  ]);
});

test("a compensation may register another compensation, which runs next", async () => {
  const play = await begin(async (ctx, _input, note) => {
    ctx.compensate(() => note("outer"));
    ctx.compensate(() => {
      note("inner");
      ctx.compensate(() => note("added"));
    });
    throw new Error("x");
  });
  expect(play.trace).toEqual(["inner", "added", "outer"]);
});

test("a compensation may sleep, wait and race like any other code", async () => {
  const play = await begin(async (ctx) => {
    ctx.compensate(async () => {
      await ctx.race([ctx.waitFor("confirmed"), ctx.sleep("1h")]);
      await ctx.run("undo");
    });
    throw new Error("x");
  });
  expect((await play.turn(raised("confirmed"))).brief).toEqual([
    "EventReceived confirmed",
    "TimerCancelled #3",
    "ActivityScheduled undo",
  ]);
});

test("continueAsNew runs no compensation and logs a warning", async () => {
  const play = await begin(async (ctx) => {
    ctx.compensate(() => ctx.run("undo"));
    return ctx.continueAsNew(undefined);
  });
  expect(play.last.brief).toEqual(["OrchestrationStarted main", "OrchestrationContinuedAsNew"]);
  expect(play.last.logs).toEqual([expect.stringMatching(/^warn .*compensation.*continueAsNew/)]);
});

test("compensations registered in a scope also run at the end of the orchestration", async () => {
  const play = await begin(async (ctx, _input, note) => {
    await ctx
      .scope(() => {
        ctx.compensate(() => note("scoped"));
        throw new Error("inner");
      })
      .catch(() => note("caught"));
    await ctx.sleep(1);
    throw new Error("outer");
  });
  await play.turn(fired(2));
  expect(play.trace).toEqual(["caught", "scoped"]);
});

test("a compensation that registers itself again stops at the limit, and the others still run", async () => {
  const play = await begin(async (ctx) => {
    ctx.compensate(() => ctx.run("undo the first"));
    const again = (): void => ctx.compensate(again);
    ctx.compensate(again);
    await ctx.sleep("1d");
  });
  const turn = await play.turn(cancel("stop"));
  expect(turn.brief.at(-1)).toBe("ActivityScheduled undo the first");
  const end = failureOf(await play.turn(completed(5)));
  expect(end.outcome).toBe("cancelled");
  expect(end.compensationFailures).toMatchObject([
    { code: "LIMIT_EXCEEDED", message: expect.stringContaining("must not register itself again") },
  ]);
});

test("the limit also applies to a compensation that waits before it registers itself again", async () => {
  const play = await begin(async (ctx) => {
    const again = async (): Promise<void> => {
      for (let i = 0; i < 400; i++) ctx.compensate(() => undefined);
      await ctx.run("undo");
      ctx.compensate(again);
    };
    ctx.compensate(again);
    throw new Error("no");
  });
  await play.turn(completed(2));
  await play.turn(completed(4));
  const end = failureOf(await play.turn(completed(6)));
  expect(end).toMatchObject({ outcome: "failed", failure: { message: "no" } });
  expect(end.compensationFailures).toMatchObject([{ code: "LIMIT_EXCEEDED" }]);
});

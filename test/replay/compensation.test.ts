// ctx.defer: compensations in reverse order, each behind a shield, when an orchestration fails or is cancelled.

import { expect, test } from "vitest";
import { cancel, completed, failed, fired, raised } from "./bodies.ts";
import { begin, failureOf, outputOf, type Handler } from "./support.ts";

const booking: Handler<undefined> = async (ctx) => {
  await ctx.run("flight");
  ctx.defer(() => ctx.run("cancel flight"));
  await ctx.run("hotel");
  ctx.defer(() => ctx.run("cancel hotel"));
  await ctx.run("car");
  return "booked";
};

test("a failure runs the compensations in reverse order, the next after the one before has ended", async () => {
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

test("success runs none of them", async () => {
  const play = await begin(booking);
  await play.turn(completed(2), completed(4));
  const turn = await play.turn(completed(6));
  expect(outputOf(turn)).toBe("booked");
  expect(turn.brief).toEqual(["ActivityCompleted #6", "OrchestrationCompleted"]);
});

test("a cancel runs them behind a shield, and the instance ends cancelled", async () => {
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

test("a cancel that comes while they run does not stop them", async () => {
  const play = await begin(booking);
  await play.turn(completed(2));
  await play.turn(failed(4, new Error("no hotel")));
  const turn = await play.turn(cancel("hurry"));
  expect(turn.brief).toEqual(["OrchestrationCancelRequested"]);
  expect(turn.open).toEqual(["6 activity cancel flight"]);
  expect(failureOf(await play.turn(completed(6))).outcome).toBe("cancelled");
});

test("one that throws does not stop the others and is listed in the error", async () => {
  const play = await begin(async (ctx, _input, note) => {
    ctx.defer(() => note("first registered"));
    ctx.defer(() => {
      throw new Error("synchronous");
    });
    ctx.defer(async () => {
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

test("leftovers are cancelled before the first of them runs", async () => {
  const play = await begin(async (ctx) => {
    ctx.defer(() => ctx.run("undo"));
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
    'warn Cancelled at the end because nobody waited for it: activity "forgotten" (event 2).',
  ]);
  // The warning is told once, hot or cold: the driver's cold turn of this one logs nothing.
  expect((await play.turn(completed(6))).logs).toEqual([]);
});

test("what a compensation leaves open is cancelled before the next one runs", async () => {
  const play = await begin(async (ctx) => {
    ctx.defer(() => ctx.run("second"));
    ctx.defer(() => {
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

test("a compensation may register another, which runs next", async () => {
  const play = await begin(async (ctx, _input, note) => {
    ctx.defer(() => note("outer"));
    ctx.defer(() => {
      note("inner");
      ctx.defer(() => note("added"));
    });
    throw new Error("x");
  });
  expect(play.trace).toEqual(["inner", "added", "outer"]);
});

test("they may sleep, wait and race like any other code", async () => {
  const play = await begin(async (ctx) => {
    ctx.defer(async () => {
      await ctx.race([ctx.event("confirmed"), ctx.sleep("1h")]);
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

test("continueAsNew runs none of them, and warns of it", async () => {
  const play = await begin(async (ctx) => {
    ctx.defer(() => ctx.run("undo"));
    return ctx.continueAsNew(undefined);
  });
  expect(play.last.brief).toEqual(["OrchestrationStarted main", "OrchestrationContinuedAsNew"]);
  expect(play.last.logs).toEqual([expect.stringMatching(/^warn .*deferred.*continueAsNew/)]);
});

test("those registered in a scope run as well, at the end of the orchestration", async () => {
  const play = await begin(async (ctx, _input, note) => {
    await ctx
      .scope(() => {
        ctx.defer(() => note("scoped"));
        throw new Error("inner");
      })
      .catch(() => note("caught"));
    await ctx.sleep(1);
    throw new Error("outer");
  });
  await play.turn(fired(2));
  expect(play.trace).toEqual(["caught", "scoped"]);
});

test("a compensation that defers itself ends at the bound, and the others still run", async () => {
  const play = await begin(async (ctx) => {
    ctx.defer(() => ctx.run("undo the first"));
    const again = (): void => ctx.defer(again);
    ctx.defer(again);
    await ctx.sleep("1d");
  });
  const turn = await play.turn(cancel("stop"));
  expect(turn.brief.at(-1)).toBe("ActivityScheduled undo the first");
  const end = failureOf(await play.turn(completed(5)));
  expect(end.outcome).toBe("cancelled");
  expect(end.compensationFailures).toMatchObject([
    { code: "LIMIT_EXCEEDED", message: expect.stringContaining("must not defer itself") },
  ]);
});

test("one compensation that waits and defers itself is bounded as well", async () => {
  const play = await begin(async (ctx) => {
    const again = async (): Promise<void> => {
      for (let i = 0; i < 400; i++) ctx.defer(() => undefined);
      await ctx.run("undo");
      ctx.defer(again);
    };
    ctx.defer(again);
    throw new Error("no");
  });
  await play.turn(completed(2));
  await play.turn(completed(4));
  const end = failureOf(await play.turn(completed(6)));
  expect(end).toMatchObject({ outcome: "failed", failure: { message: "no" } });
  expect(end.compensationFailures).toMatchObject([{ code: "LIMIT_EXCEEDED" }]);
});

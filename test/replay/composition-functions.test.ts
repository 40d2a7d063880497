// Functions given to combinators run as scopes: a scope is cancelled as a whole, and its later calls reject.

import { expect, test } from "vitest";
import { CancelledError } from "../../src/core/errors/outcome-errors.ts";
import { cancel, completed, failed, fired, raised } from "./bodies.ts";
import { begin, outputOf, type Handler } from "./support.ts";

test("functions run at once, in argument order", async () => {
  const play = await begin(async (ctx) =>
    ctx.all([async () => ctx.run("a"), async () => ctx.run("b"), () => 3]),
  );
  expect(play.last.brief.slice(1)).toEqual(["ActivityScheduled a", "ActivityScheduled b"]);
  await play.turn(completed(3, "B"));
  expect(outputOf(await play.turn(completed(2, "A")))).toEqual(["A", "B", 3]);
});

test("an invalid branch is refused before any branch runs", async () => {
  const play = await begin(async (ctx, _input, note) => {
    const loose = ctx as unknown as { race(branches: unknown): Promise<unknown> };
    try {
      await loose.race([() => note("ran"), 7]);
    } catch (error) {
      note((error as { code: string }).code);
    }
  });
  expect(play.trace).toEqual(["INVALID_ARGUMENT"]);
});

test("the open call of a losing branch is cancelled, and the code of the branch sees the error", async () => {
  const play = await begin(async (ctx, _input, note) => {
    const winner = await ctx.race({
      work: async () => {
        try {
          await ctx.run("one");
          await ctx.run("two");
        } catch (error) {
          note((error as Error).message);
          throw error;
        }
      },
      late: ctx.sleep(1),
    });
    return winner.key;
  });
  await play.turn(completed(3));
  const turn = await play.turn(fired(2));
  expect(turn.brief).toEqual([
    "TimerFired #2",
    "ActivityCancelRequested #5",
    "OrchestrationCompleted",
  ]);
  expect(outputOf(turn)).toBe("late");
  expect(play.trace).toEqual(["cancelled: lost a race"]);
});

test("a later call in a branch that has lost records nothing and rejects", async () => {
  const play = await begin(async (ctx, _input, note) => {
    await ctx.race([
      async () => {
        await ctx.run("one").catch(() => undefined);
        await ctx.run("ignored").catch((error: unknown) => {
          note(error instanceof CancelledError);
        });
      },
      ctx.sleep(1),
    ]);
    await ctx.sleep("1d");
  });
  const turn = await play.turn(fired(2));
  expect(turn.brief).toEqual(["TimerFired #2", "ActivityCancelRequested #3", "TimerCreated"]);
  expect(play.trace).toEqual([true]);
});

test("calls of a losing branch inside a shield still run", async () => {
  const play = await begin(async (ctx) => {
    await ctx.race([
      async () => {
        try {
          await ctx.run("work");
        } finally {
          await ctx.shield(() => ctx.run("undo"));
        }
      },
      ctx.sleep(1),
    ]);
    return ctx.waitFor("end");
  });
  const turn = await play.turn(fired(2));
  expect(turn.brief).toEqual([
    "TimerFired #2",
    "ActivityCancelRequested #3",
    "ActivityScheduled undo",
    "EventSubscribed end",
  ]);
  expect((await play.turn(completed(6))).brief).toEqual(["ActivityCompleted #6"]);
});

test("a function that throws at once rejects the race and cancels the others", async () => {
  const play = await begin(async (ctx) => {
    const outcome = await ctx
      .race([
        ctx.run("a"),
        () => {
          throw new Error("at once");
        },
      ])
      .catch((error: Error) => error.message);
    await ctx.sleep(1);
    return outcome;
  });
  expect(play.last.brief.slice(1)).toEqual([
    "ActivityScheduled a",
    "ActivityCancelRequested #2",
    "TimerCreated",
  ]);
});

test("nested functions: cancelling the outer function cancels the inner functions, not a sibling", async () => {
  const code: Handler<undefined> = async (ctx) => {
    const sibling = ctx.run("sibling");
    await ctx.race([
      () => ctx.all([() => ctx.run("x"), () => ctx.all([() => ctx.run("y")])]),
      ctx.waitFor("stop"),
    ]);
    return sibling;
  };
  const play = await begin(code);
  const turn = await play.turn(raised("stop"));
  expect(turn.brief).toEqual([
    "EventReceived stop",
    "ActivityCancelRequested #4",
    "ActivityCancelRequested #5",
  ]);
  expect(turn.open).toEqual(["2 activity sibling"]);
});

test("cancelling a scope cancels all its open calls with one reason", async () => {
  const play = await begin(async (ctx, _input, note) => {
    const scope = ctx.scope(async () => {
      const tasks = [ctx.run("a"), ctx.run("b")];
      await ctx.all(tasks);
    });
    await ctx.waitFor("stop");
    scope.cancel("enough");
    await scope.catch((error: Error) => note(error.message));
    await ctx.run("after");
  });
  const turn = await play.turn(raised("stop"));
  expect(turn.brief).toEqual([
    "EventReceived stop",
    "ActivityCancelRequested #2",
    "ActivityCancelRequested #3",
    "ActivityScheduled after",
  ]);
  expect(turn.events[1]).toMatchObject({ reason: "enough" });
  expect(play.trace).toEqual(["cancelled: enough"]);
});

test("a call belongs to its scope after any number of awaits", async () => {
  const play = await begin(async (ctx) => {
    const helper = async (): Promise<unknown> => {
      await ctx.run("a");
      await Promise.resolve();
      return ctx.run("deep");
    };
    const scope = ctx.scope(async () => [await helper()]);
    await ctx.waitFor("stop");
    scope.cancel();
    return "stopped";
  });
  await play.turn(completed(2));
  const turn = await play.turn(raised("stop"));
  expect(turn.brief).toEqual([
    "EventReceived stop",
    "ActivityCancelRequested #5",
    "OrchestrationCompleted",
  ]);
});

test("all over functions: a failing branch cancels the open calls of the others", async () => {
  const play = await begin(async (ctx) => {
    await ctx.all([
      async () => {
        await ctx.run("a");
        await ctx.run("a2");
      },
      async () => ctx.run("b"),
    ]);
  });
  await play.turn(completed(2));
  const turn = await play.turn(failed(3, new Error("b")));
  expect(turn.brief).toEqual([
    "ActivityFailed #3",
    "ActivityCancelRequested #5",
    "OrchestrationFailed",
  ]);
});

test("any over functions: failures of branches are collected, the first success ends it", async () => {
  const play = await begin(async (ctx) =>
    ctx.any([
      async () => {
        await ctx.run("a");
        throw new Error("always");
      },
      async () => ctx.run("b"),
    ]),
  );
  await play.turn(completed(2));
  expect(outputOf(await play.turn(completed(3, "B")))).toBe("B");
});

test("cancelling an instance cancels every branch of every combinator", async () => {
  const play = await begin(async (ctx) =>
    ctx.all([() => ctx.run("a"), () => ctx.race([() => ctx.run("b"), ctx.sleep(5)])]),
  );
  const turn = await play.turn(cancel("stop"));
  expect(turn.brief).toEqual([
    "OrchestrationCancelRequested",
    "ActivityCancelRequested #2",
    "TimerCancelled #3",
    "ActivityCancelRequested #4",
    "OrchestrationFailed",
  ]);
});

test("two branches that wait for the same event name get messages in the order of their waits", async () => {
  const play = await begin(async (ctx) =>
    ctx.all([async () => ctx.waitFor("e"), async () => ctx.waitFor("e")]),
  );
  expect(outputOf(await play.turn(raised("e", 1), raised("e", 2)))).toEqual([1, 2]);
});

// all, allSettled, any and race over tasks: the winner, the cancelled tasks, and the order of the recorded events.

import { expect, test } from "vitest";
import { ActivityError } from "../../src/core/errors/task-errors.ts";
import { completed, failed, fired, raised } from "./bodies.ts";
import { begin, failureOf, outputOf, type Handler } from "./support.ts";

test("race: the first outcome wins, by index", async () => {
  const code: Handler<undefined> = async (ctx) => ctx.race([ctx.run("a"), ctx.run("b")]);
  const first = await begin(code);
  expect(outputOf(await first.turn(completed(2, "A")))).toEqual({ index: 0, value: "A" });
  const second = await begin(code);
  expect(outputOf(await second.turn(completed(3, "B")))).toEqual({ index: 1, value: "B" });
});

test("race: the first outcome wins, by key", async () => {
  const play = await begin(async (ctx) =>
    ctx.race({ approval: ctx.waitFor("approval"), late: ctx.sleep("2d") }),
  );
  expect(outputOf(await play.turn(fired(3)))).toEqual({ key: "late", value: undefined });
});

test("race: with no outcome yet it stays open", async () => {
  const play = await begin(async (ctx) => ctx.race([ctx.run("a"), ctx.sleep(1)]));
  expect(play.last.open).toEqual(["2 activity a", "3 timer timer"]);
});

test("race: of two outcomes in one batch, the outcome recorded first wins", async () => {
  const code: Handler<undefined> = async (ctx) => ctx.race([ctx.run("a"), ctx.run("b")]);
  const play = await begin(code);
  const turn = await play.turn(completed(3, "B"), completed(2, "A"));
  expect(outputOf(turn)).toEqual({ index: 1, value: "B" });
  // The loser's result stays in the inbox.
  expect(turn.brief).toEqual([
    "ActivityCompleted #3",
    "ActivityCancelRequested #2",
    "OrchestrationCompleted",
  ]);
});

test("race: a failure that comes first rejects and cancels the others", async () => {
  const play = await begin(async (ctx) => ctx.race([ctx.run("a"), ctx.sleep("1d")]));
  const turn = await play.turn(failed(2, new Error("no")));
  expect(turn.brief).toEqual(["ActivityFailed #2", "TimerCancelled #3", "OrchestrationFailed"]);
});

test("race: of already settled tasks, the first in argument order wins", async () => {
  const play = await begin(async (ctx) => {
    const [a, b] = [ctx.run("a"), ctx.run("b")];
    await ctx.all([a, b]);
    return [await ctx.race([b, a]), await ctx.race([a, b]), await ctx.race({ b, a })];
  });
  await play.turn(completed(2, "A"));
  expect(outputOf(await play.turn(completed(3, "B")))).toEqual([
    { index: 0, value: "B" },
    { index: 0, value: "A" },
    { key: "b", value: "B" },
  ]);
});

test("race: a settled task wins over an open task, at any position", async () => {
  const play = await begin(async (ctx) => {
    const a = ctx.run("a");
    await a;
    return ctx.race([ctx.sleep("1d"), a]);
  });
  const turn = await play.turn(completed(2, "A"));
  expect(outputOf(turn)).toEqual({ index: 1, value: "A" });
  expect(turn.brief).toContain("TimerCancelled #4");
});

test("race: of two waits for the same event name, the first wait gets the message", async () => {
  const play = await begin(async (ctx) => ctx.race([ctx.waitFor("e"), ctx.waitFor("e")]));
  const turn = await play.turn(raised("e", 1));
  expect(outputOf(turn)).toEqual({ index: 0, value: 1 });
  expect(turn.brief).toContain("EventSubscriptionCancelled #3");
});

test("race: a plain promise and an argument that is not a list or record of tasks are refused", async () => {
  const play = await begin(async (ctx, _input, note) => {
    const refused = (call: () => unknown): void => {
      try {
        void call();
      } catch (error) {
        note((error as Error).message);
      }
    };
    // Untyped callers get at run time the message that typed callers get from the compiler.
    const loose = ctx as unknown as Record<"race" | "any", (branches: unknown) => unknown>;
    refused(() => loose.race([Promise.resolve(1)]));
    refused(() => loose.any([Promise.resolve(1)]));
    refused(() => loose.race(5));
    refused(() => loose.race({ a: 1 }));
  });
  expect(play.trace).toHaveLength(4);
  expect(play.trace[0]).toContain("cannot be cancelled");
});

test("all: values are in argument order, independent of the order of arrival", async () => {
  const play = await begin(async (ctx) => ctx.all([ctx.run("a"), ctx.run("b"), ctx.sleep(1)]));
  await play.turn(fired(4), completed(3, "B"));
  expect(outputOf(await play.turn(completed(2, "A")))).toEqual(["A", "B", undefined]);
});

test("all: with one outcome missing it stays open", async () => {
  const play = await begin(async (ctx) => ctx.all([ctx.run("a"), ctx.run("b")]));
  expect((await play.turn(completed(2))).open).toEqual(["3 activity b"]);
});

test("all: the first failure rejects and cancels the rest in schedule order", async () => {
  const play = await begin(async (ctx) =>
    ctx.all([ctx.run("a"), ctx.run("b"), ctx.waitFor("e"), ctx.call("c")]),
  );
  const turn = await play.turn(failed(3, new Error("b broke")));
  expect(turn.brief).toEqual([
    "ActivityFailed #3",
    "ActivityCancelRequested #2",
    "EventSubscriptionCancelled #4",
    "ChildCancelRequested #5",
    "OrchestrationFailed",
  ]);
  expect(turn.events[1]).toMatchObject({ reason: "a sibling failed" });
  expect(failureOf(turn).failure).toMatchObject({ name: "ActivityError", message: "b broke" });
});

test("all: the rest is cancelled before the code sees the failure", async () => {
  const play = await begin(async (ctx) => {
    try {
      await ctx.all([ctx.run("a"), ctx.run("b")]);
    } catch {
      await ctx.run("clean up");
    }
  });
  const turn = await play.turn(failed(2, new Error("x")));
  expect(turn.brief).toEqual([
    "ActivityFailed #2",
    "ActivityCancelRequested #3",
    "ActivityScheduled clean up",
  ]);
});

test("all: an empty list settles at once with an empty list", async () => {
  const play = await begin(async (ctx) => [await ctx.all([]), await ctx.allSettled([])]);
  expect(outputOf(play.last)).toEqual([[], []]);
});

test("all: accepts plain promises", async () => {
  const play = await begin(async (ctx) => {
    const plain = (async () => `${(await ctx.run("a")) as string}!`)();
    return ctx.all([plain, ctx.run("b")]);
  });
  await play.turn(completed(2, "A"));
  expect(outputOf(await play.turn(completed(3, "B")))).toEqual(["A!", "B"]);
});

test("allSettled: waits for every outcome and cancels nothing", async () => {
  const play = await begin(async (ctx) => {
    const [one, two] = await ctx.allSettled([ctx.run("a"), ctx.run("b")]);
    return [one.status, two.status, two.status === "fulfilled" && two.value];
  });
  const turn = await play.turn(failed(2, new Error("a")));
  expect(turn.brief).toEqual(["ActivityFailed #2"]);
  expect(outputOf(await play.turn(completed(3, 5)))).toEqual(["rejected", "fulfilled", 5]);
});

test("any: the first success wins and cancels the rest in the same turn", async () => {
  const play = await begin(async (ctx) => {
    const won = await ctx.any([ctx.run("a"), ctx.run("b"), ctx.run("c")]);
    return ctx.run("next", won);
  });
  expect((await play.turn(failed(2, new Error("a")))).brief).toEqual(["ActivityFailed #2"]);
  const turn = await play.turn(completed(4, "C"));
  expect(turn.brief).toEqual([
    "ActivityCompleted #4",
    "ActivityCancelRequested #3",
    "ActivityScheduled next",
  ]);
  expect(turn.events[1]).toMatchObject({ reason: "lost to another branch" });
});

test("any: when all fail it rejects with all of their errors, in argument order", async () => {
  const seen: AggregateError[] = [];
  const play = await begin(async (ctx) => {
    await ctx.any([ctx.run("a"), ctx.run("b")]).catch((error: AggregateError) => seen.push(error));
  });
  await play.turn(failed(3, new Error("b")));
  await play.turn(failed(2, new Error("a")));
  expect(seen[0]).toBeInstanceOf(AggregateError);
  const errors = (seen[0]?.errors ?? []) as Error[];
  expect(errors.map(({ message }) => message)).toEqual(["a", "b"]);
  expect(errors[0]).toBeInstanceOf(ActivityError);
});

test("any: of settled tasks, the first in argument order wins", async () => {
  const play = await begin(async (ctx) => {
    const [a, b] = [ctx.run("a"), ctx.run("b")];
    await ctx.all([a, b]);
    return ctx.any([b, a]);
  });
  expect(outputOf(await play.turn(completed(2, "A"), completed(3, "B")))).toBe("B");
});

test("nested: a race inside an all, and an all inside a race", async () => {
  const play = await begin(async (ctx) =>
    ctx.race({
      both: ctx.all([ctx.run("a"), ctx.race([ctx.run("b"), ctx.run("c")])]),
      late: ctx.sleep("1d"),
    }),
  );
  const first = await play.turn(completed(4, "C"));
  expect(first.brief).toEqual(["ActivityCompleted #4", "ActivityCancelRequested #3"]);
  const turn = await play.turn(completed(2, "A"));
  expect(outputOf(turn)).toEqual({ key: "both", value: ["A", { index: 1, value: "C" }] });
  expect(turn.brief).toContain("TimerCancelled #5");
});

test("nested: a losing combinator cancels all of its tasks", async () => {
  const play = await begin(async (ctx) =>
    ctx.race({
      work: ctx.all([ctx.run("a"), ctx.any([ctx.run("b"), ctx.call("c")])]),
      late: ctx.sleep(1),
    }),
  );
  const turn = await play.turn(fired(5));
  expect(turn.brief).toEqual([
    "TimerFired #5",
    "ActivityCancelRequested #2",
    "ActivityCancelRequested #3",
    "ChildCancelRequested #4",
    "OrchestrationCompleted",
  ]);
});

test("nested: a failure of an inner combinator fails the outer one and cancels everything else", async () => {
  const play = await begin(async (ctx) =>
    ctx.all([ctx.run("a"), ctx.all([ctx.run("b"), ctx.run("c")]), ctx.sleep("1d")]),
  );
  const turn = await play.turn(failed(4, new Error("c broke")));
  expect(turn.brief).toEqual([
    "ActivityFailed #4",
    "ActivityCancelRequested #3",
    "ActivityCancelRequested #2",
    "TimerCancelled #5",
    "OrchestrationFailed",
  ]);
});

test("a task may be in two combinators; cancelling it rejects it in both", async () => {
  const play = await begin(async (ctx) => {
    const shared = ctx.run("shared");
    const both = ctx.allSettled([shared, ctx.run("b")]);
    await ctx.race([shared, ctx.sleep(1)]);
    const [one, two] = await both;
    return [one.status, two.status];
  });
  const turn = await play.turn(fired(4));
  expect(turn.brief).toEqual(["TimerFired #4", "ActivityCancelRequested #2"]);
  expect(outputOf(await play.turn(completed(3)))).toEqual(["rejected", "fulfilled"]);
});

test("native Promise.race decides the same way and cancels no task until the end", async () => {
  const play = await begin(async (ctx) => {
    await Promise.race([ctx.run("a"), ctx.run("b")]);
    await ctx.sleep(1);
  });
  expect((await play.turn(completed(3))).open).toEqual(["2 activity a", "5 timer timer"]);
  expect((await play.turn(fired(5))).brief).toEqual([
    "TimerFired #5",
    "ActivityCancelRequested #2",
    "OrchestrationCompleted",
  ]);
});

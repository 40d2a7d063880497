// Histories with outcomes: a replay delivers the recorded outcomes to the code.

import { expect, test } from "vitest";
import { ActivityError, ChildError, StepError } from "../../../src/core/errors/task-errors.ts";
import {
  called,
  calledDone,
  calledFailed,
  completed,
  ran,
  ranDone,
  ranFailed,
  received,
  returned,
  slept,
  sleptDone,
  started,
  stepped,
  steppedDone,
  steppedFailed,
  waited,
} from "../bodies.ts";
import { replay, resume, type Handler } from "../support.ts";

const then =
  (first: (ctx: Parameters<Handler<undefined>>[0]) => Promise<unknown>): Handler<undefined> =>
  async (ctx, _input, note) => {
    note(await first(ctx));
    await ctx.sleep("1d");
  };

test("a completed activity gives its recorded result", async () => {
  const code = then((ctx) => ctx.run("a", 1));
  const history = [started(), ran("a", 1), ranDone(2, { ok: 5n }), slept(86_400_000)];
  const found = await replay(code, history);
  expect(found.blocked).toBeNull();
  expect(found.trace).toEqual([{ ok: 5n }]);
  expect(found.open).toEqual(["4 timer timer"]);
});

test("a fired timer continues the code", async () => {
  const code = then((ctx) => ctx.sleep(50));
  const found = await replay(code, [started(), slept(50), sleptDone(2), slept(86_400_000)]);
  expect(found.trace).toEqual([undefined]);
  expect(found.open).toEqual(["4 timer timer"]);
});

test("a received event gives its recorded payload", async () => {
  const code = then((ctx) => ctx.waitFor("go"));
  const history = [started(), waited("go"), received("go", ["x"]), slept(86_400_000)];
  const found = await replay(code, history);
  expect(found.trace).toEqual([["x"]]);
});

test("a completed child gives its recorded output", async () => {
  const code = then((ctx) => ctx.call("c", "in"));
  const history = [started(), called("c", "i::sub::2", "in"), calledDone(2, "out")];
  const found = await replay(code, [...history, slept(86_400_000)]);
  expect(found.trace).toEqual(["out"]);
});

test("a completed step gives its recorded result and its function is not called", async () => {
  const code = then((ctx) =>
    ctx.step("s", () => {
      throw new Error("the step function was called");
    }),
  );
  const history = [started(), stepped("s"), steppedDone(2, 7), slept(86_400_000)];
  const found = await replay(code, history);
  expect(found.trace).toEqual([7]);
});

test("recorded failures are thrown again, each as its own kind", async () => {
  const seen: unknown[] = [];
  const attempt = async (task: Promise<unknown>): Promise<void> => {
    await task.catch((error: unknown) => seen.push(error));
  };
  const code: Handler<undefined> = async (ctx) => {
    await attempt(ctx.run("a"));
    await attempt(ctx.step("s", () => 1));
    await attempt(ctx.call("c"));
    await ctx.sleep(1);
  };
  const found = await replay(code, [
    started(),
    ran("a"),
    ranFailed(2, new RangeError("far"), 3),
    stepped("s"),
    steppedFailed(4, new Error("step")),
    called("c", "i::sub::6"),
    calledFailed(6, new Error("child")),
    slept(1),
  ]);
  expect(found.blocked).toBeNull();
  const [activity, step, child] = seen;
  expect(activity).toBeInstanceOf(ActivityError);
  expect(activity).toMatchObject({ activity: "a", attempts: 3, message: "far" });
  expect((activity as Error).cause).toBeInstanceOf(RangeError);
  expect(step).toBeInstanceOf(StepError);
  expect(child).toBeInstanceOf(ChildError);
});

test("an ended history replays to the same end", async () => {
  const code: Handler<undefined> = async (ctx) => ctx.run("a");
  const found = await replay(code, [started(), ran("a"), ranDone(2, "v"), returned("v")]);
  expect(found.ended).toMatchObject({ kind: "OrchestrationCompleted" });
  expect(found.open).toEqual([]);
});

test("events after a replay are appended to the history", async () => {
  const code: Handler<undefined> = async (ctx) => {
    const one = await ctx.run("a");
    const two = await ctx.run("b", one);
    return [one, two];
  };
  const play = await resume(code, [started(), ran("a"), ranDone(2, 1), ran("b", 1)]);
  const turn = await play.turn(completed(4, 2));
  expect(turn.brief).toEqual(["ActivityCompleted #4", "OrchestrationCompleted"]);
  expect(turn.item.row).toMatchObject({ first: 5, last: 6 });
});

test("a replay does not repeat the effects of recorded commands", async () => {
  const code: Handler<undefined> = async (ctx) => {
    void ctx.startDetached("d", 1, { id: "d1" });
    await ctx.all([ctx.run("a"), ctx.sleep(5), ctx.call("c")]);
  };
  const history = [
    started(),
    { kind: "DetachedStarted", name: "d", id: "d1", input: "1" } as const,
    ran("a"),
    slept(5),
    called("c", "i::sub::5"),
  ];
  const play = await resume(code, history);
  const turn = await play.turn(completed(3));
  expect(turn.item.tasks).toEqual([]);
  expect(turn.item.timers).toEqual([]);
  expect(turn.item.starts).toEqual([]);
  expect(turn.item.dispatched).toBeUndefined();
});

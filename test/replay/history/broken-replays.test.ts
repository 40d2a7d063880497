// Replays that must stop with a reason: what the reason says, and that nothing is written (semantics 5, 6).

import { expect, test } from "vitest";
import { DEFAULT_LIMITS } from "../../../src/core/values/limits.ts";
import type { EventBody } from "../../../src/core/history/events.ts";
import {
  called,
  cancel,
  completed,
  encode,
  ran,
  ranCancelled,
  ranDone,
  received,
  slept,
  started,
  waited,
} from "../bodies.ts";
import { begin, failureOf, outputOf, replay, resume } from "../support.ts";

test("an outcome of a call that is not open names both events", async () => {
  const { blocked } = await replay(async (ctx) => ctx.run("a"), [started(), ran("a"), ranDone(9)]);
  expect(blocked).toEqual({
    code: "HISTORY_CORRUPT",
    message: "Event 3 of the history refers to event 9, which is not an open activity.",
  });
});

test("a second start names its event", async () => {
  const history = [started(), ran("a"), started()];
  const { blocked } = await replay(async (ctx) => ctx.run("a"), history);
  expect(blocked?.code).toBe("HISTORY_CORRUPT");
  expect(blocked?.message).toContain("Event 3 of the history is OrchestrationStarted");
});

test("an unreadable value is named with the reason", async () => {
  const output: EventBody = { ...ranDone(2), output: "~nothing" } as EventBody;
  const { blocked } = await replay(async (ctx) => ctx.run("a"), [started(), ran("a"), output]);
  expect(blocked?.code).toBe("HISTORY_CORRUPT");
  expect(blocked?.message).toMatch(/^A value in the history cannot be read: ./);
});

test("an unreadable context blocks before the code runs", async () => {
  let ran = 0;
  const { blocked } = await replay(
    async () => ran++,
    [started(undefined, { context: "~nothing" })],
  );
  expect([blocked?.code, ran]).toEqual(["HISTORY_CORRUPT", 0]);
});

test("a wait outside of the engine is named with the last durable call before it", async () => {
  const outside = new Promise(() => undefined);
  const play = await begin(
    async (ctx) => {
      await ctx.run("a");
      await outside;
    },
    { checks: "end" },
  );
  const { blocked } = await play.turn(completed(2));
  expect(blocked?.code).toBe("FOREIGN_AWAIT");
  expect(blocked?.message).toContain('Its last durable call was event 2, ActivityScheduled "a".');
});

test("the source line of a divergence is captured only if the runtime wants it", async () => {
  const diverging = (captureSources?: boolean) =>
    replay(async (ctx) => ctx.run("b"), [started(), ran("a")], {
      ...(captureSources === undefined ? {} : { captureSources }),
    });
  expect((await diverging(true)).blocked?.source).toContain("broken-replays.test.ts");
  expect((await diverging(false)).blocked).not.toHaveProperty("source");
  expect((await diverging()).blocked).not.toHaveProperty("source");
});

test("code that makes too many calls without an await is stopped with their number", async () => {
  const { historyEventsMax } = DEFAULT_LIMITS;
  const play = await begin(
    async (ctx) => {
      for (let i = 0; i <= historyEventsMax; i++) ctx.setStatus("busy");
      await ctx.run("a");
    },
    { checks: "end" },
  );
  expect(play.last.blocked).toMatchObject({
    code: "LIMIT_EXCEEDED",
    message: `The code made more than ${historyEventsMax} calls without awaiting any.`,
  });
});

test("a cancelled scope that keeps making calls is stopped", async () => {
  const play = await begin(
    async (ctx) => {
      const scope = ctx.scope(async () => {
        for (;;) await ctx.run("a").catch(() => undefined);
      });
      const rest = ctx.run("b");
      scope.cancel("enough");
      await rest;
    },
    { checks: "end" },
  );
  expect(play.last.blocked).toMatchObject({ code: "LIMIT_EXCEEDED" });
  expect(play.last.blocked?.message).toContain("more than 1000 calls after it was cancelled");
});

test("an instance that ignores its cancel ends as terminated, and the reason says so", async () => {
  const play = await begin(
    async (ctx) => {
      for (;;) await ctx.run("a").catch(() => undefined);
    },
    { checks: "end" },
  );
  const { outcome, failure } = failureOf(await play.turn(cancel("stop")));
  expect(outcome).toBe("terminated");
  expect(failure.message).toContain("more than 1000 calls");
});

test("a cleanup that takes too long after a cancel ends the instance as terminated", async () => {
  const play = await begin(async (ctx) => ctx.shield(async () => ctx.run("cleanup")), {
    checks: "end", // the code did not end, so a replay of the end would not match
  });
  await play.turn(cancel("stop"));
  const turn = await play.turn({ kind: "cancelTimeout", sequence: null, data: "" });
  expect(failureOf(turn)).toMatchObject({
    outcome: "terminated",
    failure: { message: expect.stringContaining("the cleanup after the cancel request (stop)") },
  });
  expect(turn.events).toContainEqual(ranCancelled(2, "cancel timed out"));
});

test("a failure of the cleanup is listed with the failure of the instance, and the throw keeps its place", async () => {
  const play = await begin(async (ctx) => {
    ctx.compensate(async () => {
      await ctx.run("undo");
      throw new Error("undo failed");
    });
    await ctx.run("a");
    throw new Error("bug");
  });
  await play.turn(completed(2));
  const { failure, compensationFailures, thrownAfter } = failureOf(await play.turn(completed(4)));
  expect(failure.message).toBe("bug");
  expect(compensationFailures?.map(({ message }) => message)).toEqual(["undo failed"]);
  expect(thrownAfter).toBe(3);
});

test("a throw without a later cleanup does not record its place a second time", async () => {
  const play = await begin(async (ctx) => {
    ctx.compensate(() => undefined);
    await ctx.run("a");
    throw new Error("bug");
  });
  const end = failureOf(await play.turn(completed(2)));
  expect(end).not.toHaveProperty("thrownAfter");
  expect(end).not.toHaveProperty("compensationFailures");
});

test("tasks that the code did not await are cancelled and named in one warning", async () => {
  const play = await begin(async (ctx) => {
    void ctx.run("a");
    void ctx.step("s", async () => 1);
    void ctx.call("c", 1);
    void ctx.sleep(5);
    void ctx.waitFor("e");
    await ctx.run("last");
  });
  const turn = await play.turn(completed(7));
  expect(turn.logs).toEqual([
    'warn The orchestration ended without awaiting these tasks, which are cancelled: activity "a" (event 2), step "s" (event 3), child "c" (event 4).',
  ]);
  expect(turn.brief.slice(1)).toEqual([
    "ActivityCancelRequested #2",
    "StepCancelRequested #3",
    "ChildCancelRequested #4",
    "TimerCancelled #5",
    "EventSubscriptionCancelled #6",
    "OrchestrationCompleted",
  ]);
  expect(turn.events[1]).toMatchObject({ reason: "orchestration ended" });
});

test("continueAsNew names the compensations that it drops", async () => {
  for (const [count, text] of [
    [1, "1 compensation dropped"],
    [2, "2 compensations dropped"],
  ] as const) {
    const play = await begin(async (ctx) => {
      for (let i = 0; i < count; i++) ctx.compensate(() => undefined);
      return ctx.continueAsNew(undefined);
    });
    expect(play.last.logs).toEqual([`warn ${text}: continueAsNew does not run them.`]);
  }
  const plain = await begin(async (ctx) => ctx.continueAsNew(undefined));
  expect(plain.last.logs).toEqual([]);
});

test("a start that its schema refused ends the instance without running its code", async () => {
  let calls = 0;
  const refused = { name: "ValidationError", message: "bad input" } as never;
  const { ended } = await replay(
    async () => calls++,
    [
      started(undefined, { refused }),
      { kind: "OrchestrationFailed", outcome: "failed", failure: refused },
    ],
  );
  expect([ended, calls]).toEqual([
    { kind: "OrchestrationFailed", outcome: "failed", failure: refused },
    0,
  ]);
});

test("combinators refuse what is not a list, and lists that would never settle", async () => {
  const messageOf = async (body: (ctx: never) => unknown): Promise<string> => {
    const play = await begin(async (ctx) => body(ctx as never));
    return failureOf(play.last).failure.message;
  };
  type Any = Record<"all" | "any" | "race" | "allSettled", (branches: unknown) => unknown>;
  for (const name of ["all", "allSettled", "any", "race"] as const) {
    const message = await messageOf((ctx: Any) => ctx[name]("text"));
    expect(message).toContain("a list of tasks or functions; got");
  }
  for (const name of ["any", "race"] as const) {
    expect(await messageOf((ctx: Any) => ctx[name]([]))).toContain(
      `ctx.${name} must be given at least one branch`,
    );
    const plain = await messageOf((ctx: Any) => ctx[name]([Promise.resolve(1)]));
    expect(plain).toContain(`The branches of ctx.${name} must be tasks or functions`);
    expect(plain).toContain("Pass () => … instead");
  }
  expect(encode(outputOf((await begin(async (ctx) => ctx.all([Promise.resolve(1)]))).last))).toBe(
    encode([1]),
  );
});

test("a join that is cancelled cancels its members, in the order of their calls", async () => {
  for (const name of ["all", "allSettled", "any", "race"] as const) {
    const play = await begin(async (ctx) => {
      const [a, b] = [ctx.run("a"), ctx.run("b")];
      const joined = (
        ctx[name] as (branches: unknown) => { cancel(reason: string): void } & Promise<unknown>
      )([b, a]);
      const ended = joined.catch(() => "cancelled");
      await ctx.run("c");
      joined.cancel("enough");
      return ended;
    });
    const turn = await play.turn(completed(4));
    expect([name, turn.events.slice(1, 3)]).toEqual([
      name,
      [ranCancelled(2, "enough"), ranCancelled(3, "enough")],
    ]);
  }
});

test("a recorded wait is not answered by an event of another name", async () => {
  const code = async (ctx: { waitFor(name: string): Promise<unknown> }) => ctx.waitFor("e");
  const play = await resume(code as never, [started(), waited("e"), received("other", 1)]);
  expect(await play.cold()).toMatchObject({ open: ["2 event e"], unread: [1] });
});

test("a recorded command that the code no longer makes is named", async () => {
  const history = [started(), slept(5), called("c", "i"), ran("a")];
  const { blocked } = await replay(async (ctx) => {
    await ctx.sleep(5);
  }, history);
  expect(blocked).toMatchObject({ code: "NONDETERMINISM", sequence: 3, requested: null });
});

// Failures: the errors that the code catches, and how an orchestration ends without a catch.

import { expect, test } from "vitest";
import { fromFailure, toFailure } from "../../src/core/errors/failure.ts";
import type { StepError, TaskError } from "../../src/core/errors/task-errors.ts";
import { ActivityError, ChildError } from "../../src/core/errors/task-errors.ts";
import {
  childFailed,
  completed,
  encode,
  failed,
  fired,
  ranFailed,
  stepFailed,
  type Draft,
} from "./bodies.ts";
import { begin, failureOf, outputOf, type Handler } from "./support.ts";

async function caught(
  code: Handler<undefined>,
  ...given: Parameters<typeof failed>
): Promise<unknown> {
  const seen: unknown[] = [];
  const play = await begin(async (ctx, input: undefined, note) => {
    try {
      await code(ctx, input, note);
    } catch (error) {
      seen.push(error);
    }
  });
  await play.turn(failed(...given));
  return seen[0];
}

test("an activity's failure is an ActivityError with the restored original as its cause", async () => {
  const original = Object.assign(new RangeError("too far", { cause: new Error("inner") }), {
    details: { km: 5 },
  });
  const error = await caught(async (ctx) => ctx.run("drive"), 2, original, 3);
  expect(error).toBeInstanceOf(ActivityError);
  expect(error).toMatchObject({
    code: "ACTIVITY_FAILED",
    kind: "application",
    activity: "drive",
    attempts: 3,
    message: "too far",
  });
  const { cause } = error as { cause: RangeError & { details: unknown } };
  expect(cause).toBeInstanceOf(RangeError);
  expect(cause).toMatchObject({ message: "too far", details: { km: 5 } });
  expect(cause.stack).toBe(original.stack);
  expect((cause.cause as Error).message).toBe("inner");
});

test("a thrown value that is not an Error is also restored as a cause", async () => {
  for (const thrown of ["a string", 5, null, { code: 7 }, undefined]) {
    const error = (await caught(async (ctx) => ctx.run("a"), 2, thrown)) as ActivityError;
    expect(error).toBeInstanceOf(ActivityError);
    expect(fromFailure(error.failure)).toBeInstanceOf(Error);
    expect(error.failure.thrown).toBe(encode(thrown));
  }
});

test("a timeout and a poisoned task have different kinds", async () => {
  const given = (more: object): Draft => {
    const body = ranFailed(2, new Error("x"));
    const failure = { ...toFailure(new Error("x")), ...more };
    return { kind: "activity", sequence: 2, data: JSON.stringify({ ...body, failure }) };
  };
  const kinds: unknown[] = [];
  for (const more of [{ kind: "timeout" }, { category: "poison" }, {}]) {
    const play = await begin(async (ctx) => ctx.run("a").catch((error: TaskError) => error.kind));
    kinds.push(outputOf(await play.turn(given(more))));
  }
  expect(kinds).toEqual(["timeout", "poison", "application"]);
});

test("a step's failure is a StepError", async () => {
  const play = await begin(async (ctx) =>
    ctx.step("s", () => 1).catch((error: StepError) => [error.code, error.step, error.attempts]),
  );
  const turn = await play.turn(stepFailed(2, new Error("no"), 2));
  expect(outputOf(turn)).toEqual(["STEP_FAILED", "s", 2]);
});

test("a child's failure is a ChildError with the child's failure inside", async () => {
  const seen: unknown[] = [];
  const play = await begin(async (ctx) => {
    await ctx.call("c").catch((error: unknown) => seen.push(error));
  });
  await play.turn(childFailed(2, new TypeError("child broke")));
  expect(seen[0]).toBeInstanceOf(ChildError);
  expect(seen[0]).toMatchObject({ code: "CHILD_FAILED", child: "c", message: "child broke" });
  expect((seen[0] as Error).cause).toBeInstanceOf(TypeError);
});

test("a cancelled child's message is its cancellation", async () => {
  const play = await begin(async (ctx) => ctx.call("c").catch((error: Error) => error.message));
  const turn = await play.turn(childFailed(2, new Error("cancelled: by hand"), "cancelled"));
  expect(outputOf(turn)).toBe("cancelled: by hand");
});

test("code continues after it catches a failure", async () => {
  const play = await begin(async (ctx) => {
    try {
      await ctx.run("a");
    } catch {
      return ctx.run("fallback");
    }
    return "never";
  });
  await play.turn(failed(2, new Error("x")));
  expect(outputOf(await play.turn(completed(4, "plan b")))).toBe("plan b");
});

test("an uncaught failure fails the instance, with the task's failure as its cause", async () => {
  const play = await begin(async (ctx) => ctx.run("a"));
  const turn = await play.turn(failed(2, new RangeError("far")));
  const { outcome, failure } = failureOf(turn);
  expect(outcome).toBe("failed");
  expect(failure).toMatchObject({
    name: "ActivityError",
    message: "far",
    code: "ACTIVITY_FAILED",
    cause: { name: "RangeError", message: "far" },
  });
  const restored = fromFailure(failure);
  expect(restored).toBeInstanceOf(ActivityError);
  expect(restored.cause).toBeInstanceOf(RangeError);
});

test("a thrown value that is not an Error fails the instance and is recorded", async () => {
  for (const thrown of ["text", 42, null, undefined, { a: 1 }]) {
    const play = await begin(async () => {
      throw thrown;
    });
    expect(failureOf(play.last).failure.thrown).toBe(encode(thrown));
  }
});

test("a thrown value that cannot be stored still fails the instance", async () => {
  const hostile = new Proxy(
    {},
    {
      get: () => {
        throw new Error("no");
      },
      getPrototypeOf: () => {
        throw new Error("no");
      },
    },
  );
  const play = await begin(async () => {
    throw hostile;
  });
  expect(failureOf(play.last).outcome).toBe("failed");
});

test("an output that cannot be stored fails the instance, with its path", async () => {
  const play = await begin(async () => ({ items: [1, { handler: () => 1 }] }));
  const { failure } = failureOf(play.last);
  expect(failure).toMatchObject({ code: "VALUE_NOT_SERIALIZABLE", retryable: false });
  expect(failure.message).toContain("items[1].handler");
  expect((fromFailure(failure) as { path?: string }).path).toContain("items[1].handler");
});

test("a cyclic output fails the instance", async () => {
  const play = await begin(async () => {
    const ring: Record<string, unknown> = {};
    ring["self"] = ring;
    return ring;
  });
  expect(failureOf(play.last).failure.code).toBe("VALUE_NOT_SERIALIZABLE");
});

test("an error after a later await also fails the instance", async () => {
  const play = await begin(async (ctx) => {
    await ctx.sleep(1);
    const nothing = undefined as unknown as { deep: string };
    return nothing.deep;
  });
  const turn = await play.turn(fired(2));
  expect(failureOf(turn).failure).toMatchObject({ name: "TypeError", type: "TypeError" });
});

test("an error of a user's class keeps its name and its data", async () => {
  class Declined extends Error {
    override name = "Declined";
    readonly card = "visa";
  }
  const play = await begin(async () => {
    throw new Declined("no credit");
  });
  const { failure } = failureOf(play.last);
  expect(failure).toMatchObject({ name: "Declined", message: "no credit" });
  expect(failure.data).toContain("visa");
});

test("a failed child sends its failure to the execution of its parent", async () => {
  const parent = { id: "p", runId: "r", execution: 4, sequence: 9 };
  const play = await begin(
    async () => {
      throw new Error("child broke");
    },
    { start: { parent } },
  );
  const [message] = play.last.item.sends;
  expect(message).toMatchObject({
    to: { id: "p", runId: "r" },
    kind: "child",
    execution: 4,
    sequence: 9,
  });
  expect(JSON.parse(message?.data ?? "")).toMatchObject({
    kind: "ChildFailed",
    scheduled: 9,
    outcome: "failed",
    failure: { message: "child broke" },
  });
});

test("the code sees the same error in every replay, including its stack", async () => {
  const play = await begin(async (ctx, _input, note) => {
    const seen = (error: Error): void =>
      note([error.name, error.stack, (error.cause as Error)?.stack]);
    await ctx.run("a").catch(seen);
    await ctx.step("s", () => 1).catch(seen);
    await ctx.call("c").catch(seen);
    const task = ctx.run("b");
    task.cancel("enough");
    await task.catch(seen);
    await ctx.sleep(1);
  });
  await play.turn(failed(2, new Error("x")));
  await play.turn(stepFailed(4, new Error("y")));
  await play.turn(childFailed(6, new Error("z")));
  expect(play.trace).toMatchObject([
    ["ActivityError", "ActivityError: x", expect.stringContaining("failure-handling.test.ts")],
    ["StepError", "StepError: y", expect.stringContaining("failure-handling.test.ts")],
    ["ChildError", "ChildError: z", expect.stringContaining("failure-handling.test.ts")],
    ["CancelledError", "CancelledError: cancelled: enough", undefined],
  ]);
});

test("a caught error used as an input replays", async () => {
  const play = await begin(async (ctx) => {
    try {
      await ctx.run("a");
    } catch (error) {
      await ctx.run("report", error);
    }
    await ctx.sleep(1);
  });
  await play.turn(failed(2, new RangeError("far")));
  const turn = await play.turn(completed(4));
  expect(turn.brief).toEqual(["ActivityCompleted #4", "TimerCreated"]);
});

test("an error created by the code may be an input", async () => {
  const play = await begin(async (ctx) => {
    await ctx.run("report", new Error("first drain"));
    await ctx.run("report", { error: new TypeError("later drain") });
  });
  expect((await play.turn(completed(2))).blocked).toBeNull();
});

test("settled outcomes of allSettled may be an input, including their errors", async () => {
  const play = await begin(async (ctx) => {
    const settled = await ctx.allSettled([ctx.run("a"), ctx.sleep(1)]);
    await ctx.run("report", settled);
    await ctx.sleep(1);
  });
  await play.turn(failed(2, new Error("x")), fired(3));
  expect((await play.turn(completed(6))).brief).toEqual(["ActivityCompleted #6", "TimerCreated"]);
});

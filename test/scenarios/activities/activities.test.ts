// Activities: their inputs, their context, and how results and errors reach the right call.

import { expect } from "vitest";
import { activity, ActivityError, orchestration } from "../../../src/index.ts";
import { scenario } from "../support/scenario.ts";

scenario("an orchestration receives the result of its activity", () => {
  const greet = activity("greet", (name: string) => `Hello, ${name}!`);
  const hello = orchestration("hello", (ctx, name: string) => ctx.run(greet, name));
  return {
    register: [greet, hello],
    run: async (t) => {
      const handle = await t.client.start(hello, "Ada", { id: "h" });
      expect(await t.result(handle)).toBe("Hello, Ada!");
      expect(await t.story(handle)).toEqual([
        "OrchestrationStarted",
        "ActivityScheduled greet",
        "ActivityCompleted 2",
        "OrchestrationCompleted",
      ]);
    },
  };
});

scenario("two calls with equal name and input get separate results, also after a restart", (t) => {
  const roll = t.gate<string, number>("roll");
  const twice = orchestration("twice", (ctx) =>
    ctx.all([ctx.run(roll.activity, "die"), ctx.run(roll.activity, "die")]),
  );
  return {
    register: [roll.activity, twice],
    run: async () => {
      const handle = await t.client.start(twice, undefined, { id: "i" });
      await roll.finishVisit(1, 2);
      await t.deploy();
      await roll.finish("die", 1);
      expect(roll.inputs).toEqual(["die", "die", "die"]); // the first call was aborted and ran again
      expect(await t.result(handle)).toEqual([1, 2]);
    },
  };
});

scenario("an activity can be called by name and without an input", () => {
  const count = activity("count", (input: undefined) => [typeof input]);
  const main = orchestration("main", async (ctx) => [
    await ctx.run("count"),
    await ctx.run(count),
    await ctx.run(count, undefined, { priority: 1 }),
  ]);
  return {
    register: [count, main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      expect(await t.result(handle)).toEqual([["undefined"], ["undefined"], ["undefined"]]);
    },
  };
});

scenario("an activity's context has its attempt, idempotency key and sequence", (t) => {
  const work = t.gate<number>("work");
  const main = orchestration(
    "main",
    async (ctx) => {
      await ctx.run(work.activity, 1, { attempts: 2 });
      await ctx.run(work.activity, 2);
    },
    { version: "2.1.0" },
  );
  return {
    register: [work.activity, main],
    run: async () => {
      const handle = await t.client.start(main, undefined, { id: "i", priority: 2 });
      await work.fail(1, new Error("retry"));
      await t.advance("100ms");
      await work.finish(1, null);
      await work.finish(2, null);
      await t.result(handle);
      const [first, second, other] = work.visits.map((visit) => visit.context);
      expect([first?.attempt, second?.attempt, other?.attempt]).toEqual([1, 2, 1]);
      expect(first?.idempotencyKey).toBe(second?.idempotencyKey);
      expect(first?.idempotencyKey).not.toBe(other?.idempotencyKey);
      const place = { instanceId: "i", executionId: 1, activity: "work", sequence: 2 };
      const of = { orchestration: "main", orchestrationVersion: "2.1.0", priority: 2 };
      expect(first?.info).toMatchObject({ ...place, ...of });
      expect(second?.info).toMatchObject({ ...place, ...of });
    },
  };
});

scenario("the error that an activity throws becomes the cause of an ActivityError", () => {
  const pay = activity("pay", () => {
    const cause = new RangeError("limit is 10");
    throw Object.assign(new TypeError("declined", { cause }), { amount: 12, code: "E_LIMIT" });
  });
  const main = orchestration("main", async (ctx) => {
    try {
      return await ctx.run(pay);
    } catch (error) {
      if (!(error instanceof ActivityError) || !(error.cause instanceof TypeError)) throw error;
      const { cause } = error;
      return {
        ...{ code: error.code, kind: error.kind, attempts: error.attempts, name: error.activity },
        ...{ message: error.message, inner: cause.cause instanceof RangeError },
        amount: "amount" in cause ? cause.amount : null,
      };
    }
  });
  return {
    register: [pay, main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      expect(await t.result(handle)).toEqual({
        ...{ code: "ACTIVITY_FAILED", kind: "application", attempts: 1, name: "pay" },
        ...{ message: "declined", inner: true, amount: 12 },
      });
    },
  };
});

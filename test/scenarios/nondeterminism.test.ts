// Other code on an old history: blocked with a diff, never failed or silently different (semantics 5).

import { expect } from "vitest";
import {
  activity,
  orchestration,
  type InstanceInfo,
  type OrchestrationContext,
} from "../../src/index.ts";
import { scenario } from "./support/scenario.ts";
import type { Definitions, World } from "./support/world.ts";

const a = activity("a", (x: string) => `a(${x})`);
const b = activity("b", (x: string) => `b(${x})`);
const child = orchestration("child", async (_ctx, x: string) => x);

type Code = (ctx: OrchestrationContext, input: unknown) => Promise<unknown>;

/** Runs `old` for a while, deploys `swapped` in its place, sees the block, deploys `old` again: it completes. */
function swap(
  old: Code,
  swapped: Code,
  expected: { readonly block: Partial<NonNullable<InstanceInfo["blocked"]>>; result: unknown },
): (t: World) => { register: Definitions; run: () => Promise<void> } {
  const right = orchestration("main", old);
  const wrong = orchestration("main", swapped);
  return (t) => ({
    register: [a, b, child, right],
    run: async () => {
      const handle = await t.client.start(right, undefined, { id: "i" });
      await t.advance("30s");
      const before = await t.story(handle);
      await t.deploy([a, b, child, wrong]);
      await t.advance("30s");
      const info = await handle.describe();
      expect(info).toMatchObject({ status: "running", blocked: { code: "NONDETERMINISM" } });
      expect(info.blocked).toMatchObject(expected.block);
      expect(info.blocked?.message).toMatch(/^nondeterministic: /);
      expect(await t.story(handle)).toEqual(before); // nothing was written
      await t.deploy([a, b, child, right]);
      await t.advance("1m");
      expect(await t.result(handle)).toEqual(expected.result);
      expect((await handle.describe()).blocked).toBeUndefined();
    },
  });
}

scenario(
  "another activity than recorded",
  swap(
    async (ctx) => [await ctx.run(a, "1"), await ctx.sleep("1m")],
    async (ctx) => [await ctx.run(b, "1"), await ctx.sleep("1m")],
    {
      block: {
        sequence: 2,
        recorded: { kind: "ActivityScheduled", name: "a", input: '"1"' },
        requested: { kind: "ActivityScheduled", name: "b", input: '"1"' },
      },
      result: ["a(1)", undefined],
    },
  ),
);

scenario(
  "another input than recorded",
  swap(
    async (ctx) => [await ctx.run(a, "1"), await ctx.sleep("1m")],
    async (ctx) => [await ctx.run(a, "2"), await ctx.sleep("1m")],
    {
      block: { sequence: 2, requested: { kind: "ActivityScheduled", name: "a", input: '"2"' } },
      result: ["a(1)", undefined],
    },
  ),
);

scenario(
  "another kind of command: a timer where an activity was",
  swap(
    async (ctx) => [await ctx.run(a, "1"), await ctx.sleep("1m")],
    async (ctx) => [await ctx.sleep("5s"), await ctx.sleep("1m")],
    { block: { sequence: 2, requested: { kind: "TimerCreated" } }, result: ["a(1)", undefined] },
  ),
);

scenario(
  "an order of calls that was changed",
  swap(
    (ctx) => ctx.all([ctx.run(a, "1"), ctx.run(b, "2"), ctx.sleep("1m")]),
    (ctx) => ctx.all([ctx.run(b, "2"), ctx.run(a, "1"), ctx.sleep("1m")]),
    { block: { sequence: 2 }, result: ["a(1)", "b(2)", undefined] },
  ),
);

scenario(
  "a call that is missing: the code waits for less than history holds",
  swap(
    async (ctx) => [await ctx.run(a, "1"), await ctx.run(b, "2"), await ctx.sleep("1m")],
    async (ctx) => [await ctx.run(a, "1"), await ctx.sleep("1m")],
    {
      block: { sequence: 4, recorded: { kind: "ActivityScheduled", name: "b", input: '"2"' } },
      result: ["a(1)", "b(2)", undefined],
    },
  ),
);

scenario(
  "code that ends where history goes on",
  swap(
    async (ctx) => [await ctx.run(a, "1"), await ctx.sleep("1m")],
    async (ctx) => [await ctx.run(a, "1")],
    {
      block: { sequence: 4, requested: { kind: "OrchestrationCompleted" } },
      result: ["a(1)", undefined],
    },
  ),
);

scenario(
  "a call that is new: the code asks for more than history holds",
  swap(
    async (ctx) => [await ctx.run(a, "1"), await ctx.sleep("1m")],
    (ctx) => ctx.all([ctx.run(a, "1"), ctx.sleep("1m"), ctx.run(b, "2")]),
    { block: { code: "NONDETERMINISM" }, result: ["a(1)", undefined] },
  ),
);

scenario(
  "another event name, another child, another detached start",
  swap(
    async (ctx) => {
      ctx.startDetached(child, "x", { id: "loose" });
      return [await ctx.call(child, "y"), await ctx.race([ctx.event("e"), ctx.sleep("1m")])];
    },
    async (ctx) => {
      ctx.startDetached(child, "other", { id: "loose" });
      return [await ctx.call(child, "y"), await ctx.race([ctx.event("e"), ctx.sleep("1m")])];
    },
    {
      block: {
        sequence: 2,
        requested: { kind: "DetachedStarted", name: "child", id: "loose", input: '"other"' },
      },
      result: ["y", { index: 1, value: undefined }],
    },
  ),
);

scenario(
  "a cancel that the recorded code did not ask for",
  swap(
    async (ctx) => {
      const task = ctx.run("nobody");
      await ctx.run(a, "1");
      await ctx.race([task, ctx.sleep("1m")]);
      return "old";
    },
    async (ctx) => {
      const task = ctx.run("nobody");
      await ctx.run(a, "1");
      task.cancel();
      await ctx.sleep("1m");
      return "new";
    },
    {
      block: { sequence: 5, requested: { kind: "ActivityCancelRequested", scheduled: 2 } },
      result: "old",
    },
  ),
);

scenario(
  "what tuning may change is not compared: durations, retries, time-outs, step bodies",
  () => {
    const make = (minutes: number, retry: number, value: string) =>
      orchestration("main", async (ctx) => {
        const step = await ctx.step("s", () => value);
        const first = await ctx.run(a, "1", { retry, timeout: `${minutes}m`, priority: retry });
        await ctx.sleep(minutes * 60_000);
        return [step, first];
      });
    return {
      register: [a, make(1, 1, "old")],
      run: async (t) => {
        const handle = await t.client.start("main", undefined, { id: "i" });
        await t.advance("30s");
        await t.deploy([a, make(9, 5, "new")]);
        await t.advance("30s");
        expect(await t.result(handle)).toEqual(["old", "a(1)"]);
      },
    };
  },
);

scenario("the block says where the code asked for what history does not hold", () => {
  const right = orchestration("main", async (ctx) => {
    await ctx.run(a, "1");
    await ctx.sleep("1m");
  });
  const wrong = orchestration("main", async (ctx) => {
    await ctx.run(b, "1");
  });
  return {
    register: [a, b, right],
    blocked: ["i"],
    run: async (t) => {
      const handle = await t.client.start(right, undefined, { id: "i" });
      await t.settle();
      await t.deploy([a, b, wrong]);
      await t.advance("1m");
      const { blocked } = await handle.describe();
      expect(blocked?.source).toContain("nondeterminism.test.ts");
      expect(blocked?.by).toBe(t.process.perdure.runtime.id);
    },
  };
});

scenario("onNondeterminism: fail ends the instance, and its activities with it", () => {
  const right = orchestration("main", async (ctx) => {
    void ctx.run("nobody");
    await ctx.run(a, "1");
    await ctx.sleep("1m");
  });
  const wrong = orchestration("main", (ctx) => ctx.run(b, "1"), { onNondeterminism: "fail" });
  return {
    register: [a, b, right],
    outdated: ["i"],
    run: async (t) => {
      const handle = await t.client.start(right, undefined, { id: "i" });
      await t.settle();
      await t.deploy([a, b, wrong]);
      await t.advance("1m");
      expect(await t.failure(handle)).toMatchObject({
        kind: "failed",
        message: expect.stringMatching(/^nondeterministic: /),
        failure: { category: "configuration" },
      });
    },
  };
});

scenario("a failed nondeterministic child tells its parent", () => {
  const kid = (code: Code) => orchestration("kid", code, { onNondeterminism: "fail" });
  const right = kid(async (ctx) => [await ctx.run(a, "1"), await ctx.sleep("1m")]);
  const wrong = kid(async (ctx) => [await ctx.run(b, "1"), await ctx.sleep("1m")]);
  const main = orchestration("main", (ctx) =>
    ctx.call("kid", undefined, { id: "k" }).catch((error: unknown) => String(error)),
  );
  return {
    register: [a, b, right, main],
    outdated: ["k"],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "p" });
      await t.settle();
      await t.deploy([a, b, wrong, main]);
      await t.advance("1m");
      expect(await t.result(handle)).toContain("ChildError: nondeterministic: ");
    },
  };
});

scenario("a blocked instance keeps its messages, and a cancel ends it at once", () => {
  const right = orchestration("main", async (ctx) => [
    await ctx.run(a, "1"),
    await ctx.event("x"),
    await ctx.event("y"),
  ]);
  const wrong = orchestration("main", (ctx) => ctx.run(b, "1"));
  return {
    register: [a, b, right],
    outdated: ["second"], // the store wrote its end; no code did
    run: async (t) => {
      const first = await t.client.start(right, undefined, { id: "first" });
      const second = await t.client.start(right, undefined, { id: "second" });
      await t.settle();
      await t.deploy([a, b, wrong]);
      for (const handle of [first, second]) await handle.raise("x", 1);
      await t.settle();
      await first.raise("y", 2);
      expect(await first.describe()).toMatchObject({ blocked: { code: "NONDETERMINISM" } });
      await second.cancel("give up");
      expect(await t.failure(second)).toMatchObject({ message: "canceled: give up" });
      await t.deploy([a, b, right]);
      expect(await t.result(first)).toEqual(["a(1)", 1, 2]);
    },
  };
});

/** Somebody else's promise: a socket's, a driver's, a library's. */
const elsewhere = new Promise<void>(() => undefined);

scenario("a wait for something that is not durable blocks the instance, with a hint", () => {
  const main = orchestration("main", async (ctx) => {
    await ctx.run(a, "1");
    await elsewhere;
    return "never";
  });
  const fixed = orchestration("main", async (ctx) => {
    await ctx.run(a, "1");
    return "fixed";
  });
  return {
    register: [a, main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.settle();
      expect((await handle.describe()).blocked).toMatchObject({
        code: "FOREIGN_AWAIT",
        message: expect.stringContaining("ctx.run"),
      });
      await t.deploy([a, fixed]);
      expect(await t.result(handle)).toBe("fixed");
    },
  };
});

scenario("ctx used after its turn, by somebody who kept it, is refused and records nothing", () => {
  let leaked: (() => unknown) | undefined;
  const main = orchestration("main", async (ctx) => {
    leaked = () => ctx.sleep("1s");
    await ctx.sleep("1m");
    return "done";
  });
  return {
    register: [main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.settle();
      expect(() => leaked?.()).toThrow(expect.objectContaining({ code: "FOREIGN_AWAIT" }));
      await t.advance("1m"); // the coroutine was let go for its long sleep: nothing is spoilt
      expect(await t.result(handle)).toBe("done");
    },
  };
});

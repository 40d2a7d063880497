// Changed code on an existing history: the instance is blocked with a diff; it must not fail or diverge (semantics 5).

import { expect } from "vitest";
import {
  activity,
  orchestration,
  type InstanceInfo,
  type OrchestrationContext,
} from "../../../src/index.ts";
import { scenario } from "../support/scenario.ts";
import type { Definitions, World } from "../support/world.ts";

const a = activity("a", (x: string) => `a(${x})`);
const b = activity("b", (x: string) => `b(${x})`);
const child = orchestration("child", async (_ctx, x: string) => x);

type Code = (ctx: OrchestrationContext, input: unknown) => Promise<unknown>;

/** Runs `old` for a while, then deploys `swapped`, which must block. Deploying `old` again must complete the instance. */
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
  "an activity other than the recorded one blocks the instance",
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
  "an input other than the recorded one blocks the instance",
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
  "a timer instead of the recorded activity blocks the instance",
  swap(
    async (ctx) => [await ctx.run(a, "1"), await ctx.sleep("1m")],
    async (ctx) => [await ctx.sleep("5s"), await ctx.sleep("1m")],
    { block: { sequence: 2, requested: { kind: "TimerCreated" } }, result: ["a(1)", undefined] },
  ),
);

scenario(
  "a changed order of calls blocks the instance",
  swap(
    (ctx) => ctx.all([ctx.run(a, "1"), ctx.run(b, "2"), ctx.sleep("1m")]),
    (ctx) => ctx.all([ctx.run(b, "2"), ctx.run(a, "1"), ctx.sleep("1m")]),
    { block: { sequence: 2 }, result: ["a(1)", "b(2)", undefined] },
  ),
);

scenario(
  "a missing call blocks the instance",
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
  "code that ends before its history blocks the instance",
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
  "an added call blocks the instance",
  swap(
    async (ctx) => [await ctx.run(a, "1"), await ctx.sleep("1m")],
    (ctx) => ctx.all([ctx.run(a, "1"), ctx.sleep("1m"), ctx.run(b, "2")]),
    { block: { code: "NONDETERMINISM" }, result: ["a(1)", undefined] },
  ),
);

scenario(
  "a changed input of a detached start blocks the instance",
  swap(
    async (ctx) => {
      void ctx.startDetached(child, "x", { id: "loose" });
      return [await ctx.call(child, "y"), await ctx.race([ctx.waitFor("e"), ctx.sleep("1m")])];
    },
    async (ctx) => {
      void ctx.startDetached(child, "other", { id: "loose" });
      return [await ctx.call(child, "y"), await ctx.race([ctx.waitFor("e"), ctx.sleep("1m")])];
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
  "a cancel that is not recorded blocks the instance",
  swap(
    async (ctx) => {
      const task = ctx.run("unregistered");
      await ctx.run(a, "1");
      await ctx.race([task, ctx.sleep("1m")]);
      return "old";
    },
    async (ctx) => {
      const task = ctx.run("unregistered");
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

scenario("changed durations, retries, timeouts and step bodies do not block the instance", () => {
  const make = (minutes: number, attempts: number, value: string) =>
    orchestration("main", async (ctx) => {
      const step = await ctx.step("s", () => value);
      const first = await ctx.run(a, "1", {
        attempts,
        timeout: `${minutes}m`,
        priority: attempts,
      });
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
});

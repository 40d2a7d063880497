// Orchestrations that ignore their cancellation (semantics 19b).

import { expect, test } from "vitest";
import { activity, orchestration, type OrchestrationContext } from "../../../src/index.ts";
import { virtualWorld } from "./support.ts";

const echo = activity("echo", (value: unknown) => value);

const stubborn: readonly (readonly [string, (ctx: OrchestrationContext) => Promise<unknown>])[] = [
  ["an activity", (ctx) => ctx.run(echo, 1)],
  ["a step", (ctx) => ctx.step("again", () => 1)],
  ["a sleep", (ctx) => ctx.sleep("1s")],
  ["an event", (ctx) => ctx.waitFor("never")],
  ["a child", (ctx) => ctx.call("missing")],
  ["everything at once", (ctx) => ctx.all([ctx.run(echo, 1), ctx.sleep("1s")])],
];

test.each(stubborn)(
  "an orchestration that retries %s forever after its cancel is terminated, and its neighbours continue",
  async (_, call) => {
    let tries = 0;
    const loop = orchestration("loop", async (ctx: OrchestrationContext) => {
      await ctx.waitFor("never").catch(() => undefined);
      for (;;) {
        tries++;
        try {
          await call(ctx);
        } catch {
          // ignores the cancellation
        }
      }
    });
    const neighbour = orchestration("neighbour", async (ctx) => {
      for (let n = 0; n < 20; n++) await ctx.run(echo, n);
      return "done";
    });
    const { client, environment, logs } = await virtualWorld([loop, neighbour, echo]);
    const handle = await client.start(loop, undefined, { id: "loop" });
    await environment.settle();
    const neighbours = await Promise.all(Array.from({ length: 5 }, () => client.start(neighbour)));
    await handle.cancel("enough");
    const results = await Promise.all(neighbours.map((one) => one.result()));
    expect(results).toEqual(neighbours.map(() => "done"));
    await expect(handle.result()).rejects.toMatchObject({
      code: "TERMINATED",
      kind: "terminated",
      message: expect.stringContaining("ignored its cancellation"),
      failure: expect.objectContaining({ name: "TerminatedError", kind: "terminated" }),
    });
    expect(await handle.describe()).toMatchObject({ status: "terminated", waitingFor: [] });
    expect(tries).toBeGreaterThanOrEqual(500);
    expect(tries).toBeLessThanOrEqual(1_100);
    // The calls made after the cancel are not in the history.
    expect((await handle.history()).map(({ kind }) => kind)).toEqual([
      "OrchestrationStarted",
      "EventSubscribed",
      "OrchestrationCancelRequested",
      "EventSubscriptionCancelled",
      "OrchestrationFailed",
    ]);
    expect(logs.lines.filter(({ level }) => level === "error")).toEqual([]);
  },
);

test("an orchestration that cleans up under a shield and then ends is cancelled, not terminated", async () => {
  const done: unknown[] = [];
  const undo = activity("undo", (what: string) => void done.push(what));
  const polite = orchestration("polite", async (ctx) => {
    try {
      await ctx.waitFor("never");
    } finally {
      await ctx.shield(async () => {
        await ctx.run(undo, "first");
        await ctx.run(undo, "second");
      });
    }
  });
  const { client } = await virtualWorld([polite, undo]);
  const handle = await client.start(polite);
  await handle.cancel("enough");
  await expect(handle.result()).rejects.toMatchObject({ code: "CANCELLED" });
  expect(done).toEqual(["first", "second"]);
});

test("an orchestration that answers its cancel with continueAsNew is cancelled all the same", async () => {
  const reborn = orchestration(
    "reborn",
    async (ctx: OrchestrationContext<number>, n: number): Promise<unknown> => {
      await ctx.waitFor("never").catch(() => undefined);
      return ctx.continueAsNew(n + 1);
    },
  );
  const { client } = await virtualWorld([reborn]);
  const handle = await client.start(reborn, 1);
  await handle.cancel("enough");
  await expect(handle.result()).rejects.toMatchObject({ code: "CANCELLED" });
  expect(await handle.executions()).toHaveLength(1);
});

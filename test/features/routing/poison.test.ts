// An activity that repeatedly kills its process. The option `poison` decides what happens to its orchestration (13).

import { expect, test } from "vitest";
import { activity, orchestration } from "../../../src/index.ts";
import { startRuntime, virtualWorld } from "../../faults/trouble/support.ts";

const work = activity("work", () => "done");
const child = orchestration("child", async (ctx) => ctx.waitFor("never"));

async function poisoned(poison: "throw" | "fail") {
  const caught: unknown[] = [];
  const main = orchestration("main", async (ctx) => {
    const childTask = ctx.call(child, undefined, { id: "c" });
    try {
      await ctx.run(work);
    } catch (error) {
      caught.push((error as { kind: string }).kind);
      childTask.cancel("not needed");
      return "caught";
    }
    return childTask;
  });
  // This runtime runs no activities. Processes that die lease the task.
  const world = await virtualWorld([main, child, work], { poison, activityConcurrency: 0 });
  const handle = await world.client.start(main, undefined, { id: "i" });
  await world.environment.advance(10);
  for (let death = 0; death < 10; death++) {
    const id = `doomed-${death}`;
    const registered = JSON.stringify({ activities: ["work"], orchestrations: {} });
    const process = { nodeId: id, process: null, hostname: "host" };
    await world.provider.registerRuntime({ id, ...process, registered });
    const request = { owner: id, token: death, limit: 1, names: ["work"], tags: "any" } as const;
    const { tasks } = await world.provider.leaseTasks({
      ...request,
      sessions: null,
      allowSuspect: true,
    });
    expect(tasks).toHaveLength(1);
    await world.provider.expireRuntime({ id, staleMs: null });
  }
  await startRuntime(world.provider, [work], { poison });
  await world.environment.advance(2_000);
  return { handle, caught, world };
}

test("by default the orchestration receives an ActivityError of kind poison and decides", async () => {
  const { handle, caught } = await poisoned("throw");
  expect(await handle.result()).toBe("caught");
  expect(caught).toEqual(["poison"]);
});

test("with poison: fail the instance fails without running its code, and its children are cancelled", async () => {
  const { handle, caught, world } = await poisoned("fail");
  await expect(handle.result()).rejects.toMatchObject({
    kind: "failed",
    message: "poison: activity work#3 exceeded 10 attempts (max 10): its process died each time",
    failure: { category: "poison" },
  });
  expect(caught).toEqual([]);
  expect((await handle.history()).map(({ kind }) => kind).slice(-3)).toEqual([
    "ActivityFailed",
    "ChildCancelRequested",
    "OrchestrationFailed",
  ]);
  await world.environment.advance(10);
  await expect(world.client.get("c").result()).rejects.toMatchObject({ kind: "cancelled" });
});

test("any other value of poison is refused", async () => {
  const starting = virtualWorld([], { poison: "ignore" as never });
  await expect(starting).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
});

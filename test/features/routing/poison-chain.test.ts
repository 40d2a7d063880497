// Poison in a child: its effects on the child, its parent and other instances (13).

import { expect, test } from "vitest";
import { activity, ChildError, orchestration, type RuntimeOptions } from "../../../src/index.ts";
import { startRuntime, virtualWorld } from "../../faults/trouble/support.ts";

const DEATHS = 3;
const deadly = activity("deadly", () => "survived");
const harmless = activity("harmless", () => "done");
const child = orchestration("child", async (ctx) => ctx.run(deadly));
const parent = orchestration("parent", async (ctx) => {
  const error: unknown = await ctx.call(child, undefined, { id: "c" }).catch((e: unknown) => e);
  if (!(error instanceof ChildError)) throw new Error("the child did not fail");
  return error.message;
});
const bystander = orchestration("bystander", async (ctx) => ctx.run(harmless));

type World = Awaited<ReturnType<typeof virtualWorld>>;

/** Registers processes that lease the deadly task and die, one after the other. */
async function die({ provider }: World, deaths: number): Promise<void> {
  for (let death = 0; death < deaths; death++) {
    const id = `doomed-${death}`;
    const registered = JSON.stringify({ activities: ["deadly"], orchestrations: {} });
    await provider.registerRuntime({ id, nodeId: id, process: null, hostname: "host", registered });
    const request = { owner: id, token: death, limit: 1, names: ["deadly"], tags: "any" } as const;
    const { tasks } = await provider.leaseTasks({ ...request, sessions: null, allowSuspect: true });
    expect(tasks).toHaveLength(1);
    await provider.expireRuntime({ id, staleMs: null });
  }
}

async function afterDeaths(poison: NonNullable<RuntimeOptions["poison"]>) {
  const options = { poison, attemptsMax: DEATHS };
  const register = [parent, child, bystander, deadly, harmless];
  const world = await virtualWorld(register, { ...options, activityConcurrency: 0 });
  const handle = await world.client.start(parent, undefined, { id: "p" });
  const neighbour = await world.client.start(bystander, undefined, { id: "n" });
  await world.environment.advance(10);
  await die(world, DEATHS);
  await startRuntime(world.provider, [deadly, harmless], options);
  await world.environment.advance(2_000);
  return { handle, neighbour, client: world.client };
}

test.each(["throw", "fail"] as const)(
  "with poison: %s the child fails, its parent handles the ChildError, and other instances complete",
  async (poison) => {
    const { handle, neighbour, client } = await afterDeaths(poison);
    const message = expect.stringMatching(
      /^poison: activity deadly#2 exceeded 3 attempts/,
    ) as string;
    await expect(client.get("c").result()).rejects.toMatchObject({ kind: "failed", message });
    expect(await handle.result()).toEqual(message);
    expect(await neighbour.result()).toBe("done");
  },
);

test("a task with fewer deaths than attemptsMax completes, and its attempts include the deaths", async () => {
  const options = { attemptsMax: DEATHS };
  const world = await virtualWorld([child, deadly], { ...options, activityConcurrency: 0 });
  const handle = await world.client.start(child, undefined, { id: "c" });
  await world.environment.advance(10);
  await die(world, DEATHS - 1);
  await startRuntime(world.provider, [deadly], options);
  await world.environment.advance(2_000);
  expect(await handle.result()).toBe("survived");
  const completed = (await handle.history()).find(({ kind }) => kind === "ActivityCompleted");
  expect(completed).toMatchObject({ attempts: DEATHS });
});

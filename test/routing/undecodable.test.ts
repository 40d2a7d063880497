// A task whose row cannot be read back stops nobody and ends as poison (semantics 6).

import { expect, test } from "vitest";
import { activity, orchestration, Perdure } from "../../src/index.ts";
import { freshStore } from "../support/test-store.ts";

test("a task that cannot be decoded ends as ActivityError of kind poison, and is not entered", async () => {
  const provider = await freshStore();
  const lease = provider.leaseTasks.bind(provider);
  provider.leaseTasks = async (request) => {
    const leased = await lease(request);
    return { ...leased, tasks: leased.tasks.map((task) => ({ ...task, undecodable: true })) };
  };
  let entered = 0;
  const work = activity("work", async () => ++entered);
  // A session's task passes through the queue, where it is read back.
  const one = orchestration("one", async (ctx) => {
    try {
      return await ctx.run(work, undefined, { session: "s" });
    } catch (error) {
      return (error as { kind: string }).kind;
    }
  });
  const perdure = await Perdure.open(provider, {
    register: [one, work],
    runtime: { log: () => undefined },
  });
  expect(await (await perdure.client.start(one)).result({ timeout: "10s" })).toBe("poison");
  expect(entered).toBe(0);
  await perdure.close();
});

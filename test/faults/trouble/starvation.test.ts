// Hot instances and a long queue: neither starves the other (semantics 16).

import { describe, expect, test } from "vitest";
import { activity, Client, orchestration } from "../../../src/index.ts";
import { memoryStore, startRuntime, until, virtualStore } from "./support.ts";

const QUEUED = 1_000;
const LOOPS = 10;

/** Endless loops, and a fan of tasks that compete for the same slots. */
function competitors() {
  const counts = { ticks: 0, items: 0, ticksAtEnd: -1 };
  const tick = activity("tick", async (n: number) => {
    counts.ticks++;
    await Promise.resolve();
    return n + 1;
  });
  const item = activity("item", async () => {
    counts.items++;
    if (counts.items === QUEUED) counts.ticksAtEnd = counts.ticks;
  });
  const loop = orchestration("loop", async (ctx) => {
    for (let n = 0; ;) n = await ctx.run(tick, n);
  });
  const fan = orchestration("fan", async (ctx) => {
    await ctx.all(Array.from({ length: QUEUED }, () => ctx.run(item)));
    return "all done";
  });
  return { counts, loop, fan, register: [loop, fan, tick, item] };
}

describe.each([1, 4, 50])("1,000 queued tasks and ten hot loops with %i slots", (slots) => {
  test("all complete while the loops go on", async () => {
    const { client, provider } = await memoryStore();
    const { counts, loop, fan, register } = competitors();
    await startRuntime(provider, register, { activityConcurrency: slots });
    const loops = await Promise.all(
      Array.from({ length: LOOPS }, (_, n) => client.start(loop, undefined, { id: `loop ${n}` })),
    );
    await until("the loops are hot", () => counts.ticks > 10 * LOOPS);
    const before = counts.ticks;
    const handle = await client.start(fan, undefined, { id: "fan" });
    expect(await handle.result({ timeout: "40s" })).toBe("all done");
    expect(counts.items).toBe(QUEUED);
    // First come, first served: a loop has one task at a time, and that task waits in line like all others.
    const meanwhile = counts.ticksAtEnd - before;
    expect(meanwhile).toBeGreaterThan(0);
    for (const one of loops) expect((await one.describe()).status).toBe("running");
    const after = counts.ticks;
    await until("the loops are hot again", () => counts.ticks > after + LOOPS);
    await Promise.all(loops.map((one) => one.terminate()));
  });
});

test("tasks that were queued before a runtime started are not overtaken by tasks that it starts itself", async () => {
  const { provider, environment } = await virtualStore();
  const { counts, loop, fan, register } = competitors();
  const client = new Client(provider);
  // A runtime without activity slots writes the tasks, so they wait in the queue.
  const clerk = await startRuntime(provider, register, { activityConcurrency: 0 });
  const handle = await client.start(fan, undefined, { id: "fan" });
  await environment.settle();
  const down = clerk.shutdown();
  await environment.advance(100);
  await down;
  expect((await handle.describe()).waitingFor).toHaveLength(QUEUED);

  await startRuntime(provider, register, { activityConcurrency: 4 });
  const loops = await Promise.all(
    Array.from({ length: LOOPS }, (_, n) => client.start(loop, undefined, { id: `loop ${n}` })),
  );
  expect(await handle.result()).toBe("all done");
  // Ten loops and a thousand tasks that came first: the loops get only the slots that are left.
  expect(counts.ticksAtEnd).toBeLessThan(QUEUED / 10);
  await Promise.all(loops.map((one) => one.terminate()));
});

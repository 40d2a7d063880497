// Batch jobs with processes that start, stop and crash, on every store (the other files have the rest).

import { expect, onTestFinished, test } from "vitest";
import { batchJob } from "../../../src/batch/index.ts";
import {
  Client,
  orchestration,
  Perdure,
  type Activity,
  type Duration,
} from "../../../src/index.ts";
import { scenario, type Scenario } from "../../scenarios/support/scenario.ts";
import type { World } from "../../scenarios/support/world.ts";
import { schemaOf } from "../../support/schemas.ts";
import { freshStore } from "../../support/test-store.ts";
import { Batches, type Doc } from "./support.ts";

const TIMING = {
  in: "everything",
  because: "the order in which tasks are leased decides which items share a batch",
} as const;

/** A batch job that returns ten times the id, and an orchestration that calls it once. */
function programOf(options: { readonly max: number; readonly wait: Duration }) {
  const batches = new Batches();
  const index = batchJob(
    "index",
    async (items: Doc[], ctx) => {
      batches.add(items, ctx);
      return items.map(({ id }) => ({ ok: id * 10 }));
    },
    { ...options, attempts: 2 },
  );
  return { batches, index, caller: callerOf(index) };
}

function callerOf(index: Activity<Doc, number>) {
  return orchestration("caller", (ctx, doc: Doc) => ctx.run(index, doc));
}

type Caller = ReturnType<typeof callerOf>;

async function start(t: World, caller: Caller, ids: readonly number[]): Promise<void> {
  for (const id of ids) await t.client.start(caller, { id }, { id: `doc-${id}` });
  await t.settle();
}

async function resultsOf(t: World, caller: Caller, ids: readonly number[]): Promise<number[]> {
  const results: number[] = [];
  for (const id of ids) results.push(await t.result(t.client.get(caller, `doc-${id}`)));
  return results;
}

function sizes({ ids }: Batches): readonly number[] {
  return ids.map((each) => each.length);
}

scenario("batches are formed per process, and every item has its own result", (): Scenario => {
  const { batches, index, caller } = programOf({ max: 3, wait: "2s" });
  const ids = [1, 2, 3, 4, 5, 6, 7];
  return {
    register: [index, caller],
    differs: TIMING,
    run: async (t) => {
      await start(t, caller, ids);
      expect(sizes(batches)).toEqual([3, 3]);
      await t.advance("2s");
      expect(sizes(batches)).toEqual([3, 3, 1]);
      expect(await resultsOf(t, caller, ids)).toEqual(ids.map((id) => id * 10));
    },
  };
});

scenario("two runtimes of one process with one definition form separate batches", (): Scenario => {
  const { batches, index, caller } = programOf({ max: 2, wait: "2s" });
  return {
    register: [index, caller],
    runtime: { activityConcurrency: 1 },
    differs: TIMING,
    run: async (t) => {
      await t.boot();
      await start(t, caller, [1, 2]);
      await t.advance("10s");
      expect(sizes(batches)).toEqual([1, 1]);
      const workers = batches.contexts.map(({ items }) => items[0]?.info.worker);
      expect(new Set(workers).size).toBe(2);
      expect(await resultsOf(t, caller, [1, 2])).toEqual([10, 20]);
    },
  };
});

scenario("items that wait in a process that crashes run in another process", (): Scenario => {
  const { batches, index, caller } = programOf({ max: 5, wait: "1h" });
  return {
    register: [index, caller],
    differs: TIMING,
    run: async (t) => {
      await start(t, caller, [1, 2]);
      const dead = t.process.perdure.runtime.id;
      await t.crashAndRecover(); // takes hours: longer than the wait
      await t.advance("1h");
      const runs = batches.contexts.filter(({ items }) => items[0]?.info.worker !== dead);
      expect(runs.map(({ items }) => items.length)).toEqual([2]);
      expect(await resultsOf(t, caller, [1, 2])).toEqual([10, 20]);
    },
  };
});

scenario("a shutdown runs the items that wait at once, within its grace period", (): Scenario => {
  const { batches, index, caller } = programOf({ max: 5, wait: "1h" });
  return {
    register: [index, caller],
    differs: TIMING,
    run: async (t) => {
      await start(t, caller, [1, 2]);
      await t.advance("1s");
      expect(sizes(batches)).toEqual([]);
      const closing = t.process.perdure.close({ graceMs: 10_000 });
      await t.advance("100ms");
      await closing;
      expect(batches.ids.map((ids) => ids.toSorted())).toEqual([[1, 2]]);
      await t.boot();
      expect(await resultsOf(t, caller, [1, 2])).toEqual([10, 20]);
      expect(batches.contexts).toHaveLength(1);
    },
  };
});

scenario("a shutdown without a grace period hands the items that wait back", (): Scenario => {
  const { batches, index, caller } = programOf({ max: 5, wait: "2s" });
  return {
    register: [index, caller],
    differs: TIMING,
    run: async (t) => {
      await start(t, caller, [1, 2]);
      await t.stop();
      expect(sizes(batches)).toEqual([]);
      await t.boot();
      await t.advance("2s");
      expect(batches.ids.map((ids) => ids.toSorted())).toEqual([[1, 2]]);
      expect(batches.contexts[0]?.items.map(({ attempt }) => attempt)).toEqual([1, 1]);
      expect(await resultsOf(t, caller, [1, 2])).toEqual([10, 20]);
    },
  };
});

scenario("an item whose schema ends during a shutdown does not wait for others", (): Scenario => {
  const checked = Promise.withResolvers<void>();
  const slow = schemaOf<Doc, Doc>(async (value) => {
    await checked.promise;
    return { value: value as Doc };
  });
  const batches = new Batches();
  const index = batchJob(
    "index",
    async (items, ctx) => {
      batches.add(items, ctx);
      return items.map(({ id }) => ({ ok: id * 10 }));
    },
    { max: 5, wait: "1h", input: slow },
  );
  const caller = orchestration("caller", (ctx, doc: Doc) => ctx.run(index.name, doc));
  return {
    register: [index, caller],
    differs: TIMING,
    run: async (t) => {
      await t.client.start(caller, { id: 1 }, { id: "doc-1" });
      await t.settle();
      const closing = t.process.perdure.close({ graceMs: 10_000 });
      await t.settle();
      checked.resolve();
      await t.advance("100ms");
      await closing;
      expect(batches.ids).toEqual([[1]]);
      await t.boot();
      expect(await t.result(t.client.get(caller, "doc-1"))).toBe(10);
    },
  };
});

scenario(
  "a batch job runs in the process, also if the runtime has another executor",
  (): Scenario => {
    const { batches, index, caller } = programOf({ max: 2, wait: "2s" });
    return {
      register: [index, caller],
      runtime: { executor: () => "another executor" },
      differs: TIMING,
      run: async (t) => {
        await start(t, caller, [1, 2]);
        expect(sizes(batches)).toEqual([2]);
        expect(await resultsOf(t, caller, [1, 2])).toEqual([10, 20]);
      },
    };
  },
);

test("on the clock of the machine, a batch runs when it is full and when its wait is over", async () => {
  const full = programOf({ max: 3, wait: "1h" });
  const late = batchJob("late", async (items: Doc[]) => items.map(({ id }) => ({ ok: -id })), {
    max: 1_000,
    wait: "20ms",
  });
  const perdure = await Perdure.open(await freshStore(), { register: [full.index, late] });
  onTestFinished(() => perdure.close());
  const { client } = perdure;
  const handles = await Promise.all([
    ...[1, 2, 3, 4, 5, 6].map((id) => client.enqueue(full.index, { id })),
    ...[7, 8].map((id) => client.enqueue(late, { id })),
  ]);
  const results = await Promise.all(handles.map((handle) => handle.result()));
  expect(results).toEqual([10, 20, 30, 40, 50, 60, -7, -8]);
  expect(sizes(full.batches)).toEqual([3, 3]);
});

test("on the clock of the machine, closing runs the items that wait", async () => {
  const { batches, index } = programOf({ max: 3, wait: "1h" });
  const store = await freshStore();
  const perdure = await Perdure.open(store, { register: [index] });
  const { id } = await perdure.client.enqueue(index, { id: 1 });
  await expect.poll(() => perdure.runtime.stats().activities.active).toBe(1);
  await perdure.close();
  expect(batches.ids).toEqual([[1]]);
  const { status, output } = await new Client(store).get(id).describe();
  expect({ status, output }).toEqual({ status: "completed", output: 10 });
});

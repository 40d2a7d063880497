// Random flow trees must have the same result in a pure evaluation and in the engine with process deaths, deployments
// and store faults. PERDURE_TREES sets their number (200, or 10,000 with PERDURE_FULL). PERDURE_SEED repeats a run.

import fc from "fast-check";
import { expect, test } from "vitest";
import type { Handle } from "../../../src/index.ts";
import { World, type Definitions } from "../../scenarios/support/world.ts";
import { seedFromEnvironment, wholeNumber } from "../../faults/kill/chance.ts";
import {
  childOf,
  digest,
  flowOf,
  PAYLOAD,
  plain,
  randomFlows,
  reference,
  type Outcome,
  VIRTUAL,
  type RandomFlow,
} from "./random-trees.ts";

const BATCH = 50;
const TREES = wholeNumber("PERDURE_TREES") ?? (process.env["PERDURE_FULL"] === "1" ? 10_000 : 200);
const SEED = seedFromEnvironment();

test(`${TREES} random trees return the expected results`, { timeout: 600_000 }, async () => {
  console.log(`PERDURE_SEED=${SEED} PERDURE_TREES=${TREES}`);
  const batches = fc.asyncProperty(
    fc.array(randomFlows, { minLength: BATCH, maxLength: BATCH, size: "max" }),
    fc.array(fc.integer({ min: 0, max: 5 }), { minLength: 4, maxLength: 4 }),
    fc.integer({ min: 0, max: 3 }).map((choice) => choice === 0),
    runBatch,
  );
  // The message contains the failing tree. Shrinking a whole batch would take too long.
  const numRuns = Math.ceil(TREES / BATCH);
  await fc.assert(batches, { seed: SEED, numRuns, endOnFailure: true });
});

async function runBatch(
  flows: readonly RandomFlow[],
  faults: readonly number[],
  isCold: boolean,
): Promise<void> {
  const built = flows.map((each, index) => flowOf(`tree${index}`, each, VIRTUAL));
  const t = new World({ mode: "random", modeOptions: isCold ? { stickyCacheMax: 0 } : {} });
  try {
    await t.open({
      store: "memory",
      register: [...built, childOf(VIRTUAL)] as Definitions,
      runtime: {},
    });
    const handles: Handle[] = [];
    for (const [index, each] of built.entries()) {
      const { signals } = reference(each.definition.nodes, flows[index]?.input);
      const events = Array.from({ length: signals }, () => ({
        name: "sent",
        data: PAYLOAD,
      }));
      handles.push(await t.client.start(each, flows[index]?.input, { id: `i${index}`, events }));
    }
    for (const fault of faults) {
      await t.advance(20_000 + 10_000 * fault);
      await injectFault(t, fault);
    }
    await t.advance("4d");
    for (const [index, handle] of handles.entries()) {
      const found = await outcomeOf(t, handle.id);
      const random = flows[index];
      const definition = built[index]?.definition;
      const { outcome } = reference(definition?.nodes ?? [], random?.input);
      expect(found, JSON.stringify(random)).toEqual(outcome);
    }
  } finally {
    await t.close();
  }
}

/** Injects a deployment, two failed commits, or a process death while idle or in a commit. */
async function injectFault(t: World, how: number): Promise<void> {
  const { line } = t.process;
  if (how === 0) return;
  if (how === 1) {
    await t.deploy();
    return;
  }
  if (how === 2) line.failNext("commit", { when: "after", times: 2 });
  if (how === 3) line.dieInNextCommit("before");
  if (how === 4) line.dieInNextCommit("after");
  if (how === 5) t.crash();
  await t.advance(30_000);
  if (how > 2) {
    const dead = t.process;
    t.crash();
    await t.boot();
    await t.advance("5h");
    // The dead process cannot reach the store. Its shutdown only frees resources of this test process.
    void dead.perdure.runtime.shutdown({ graceMs: 0 });
  }
}

async function outcomeOf(t: World, id: string): Promise<Outcome | string> {
  const info = await t.client.get(id).describe();
  if (info.status === "completed") return { value: plain(info.output) };
  if (info.status === "failed") return "failed";
  return `${info.status} ${info.blocked?.message ?? ""} ${JSON.stringify(info.waitingFor)}`;
}

test("digest distinguishes values but ignores the details of failures", () => {
  expect(digest({ failure: { message: "a" }, node: "x" })).toBe(digest({ failure: "b" }));
  expect(digest(1)).not.toBe(digest(2));
});

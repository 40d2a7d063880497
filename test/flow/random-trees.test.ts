// Random flow trees, evaluated by a pure function and by the engine under deaths, deploys and a store in trouble,
// give the same. PERDURE_TREES and PERDURE_SEED ask for more of them, or for the same again.

import fc from "fast-check";
import { expect, test } from "vitest";
import type { Handle } from "../../src/index.ts";
import { World, type Definitions } from "../scenarios/support/world.ts";
import { seedFromEnvironment, wholeNumber } from "../kill/chance.ts";
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
const TREES = wholeNumber("PERDURE_TREES") ?? defaultTrees();
const SEED = seedFromEnvironment();

test(`${TREES} random trees give what they must`, { timeout: 600_000 }, async () => {
  console.log(`PERDURE_SEED=${SEED} PERDURE_TREES=${TREES}`);
  const batches = fc.asyncProperty(
    fc.array(randomFlows, { minLength: BATCH, maxLength: BATCH, size: "max" }),
    fc.array(fc.integer({ min: 0, max: 5 }), { minLength: 4, maxLength: 4 }),
    fc.integer({ min: 0, max: 3 }).map((chance) => chance === 0),
    runBatch,
  );
  // The failing tree is in the message; shrinking a whole batch around it would take for ever.
  const numRuns = Math.ceil(TREES / BATCH);
  await fc.assert(batches, { seed: SEED, numRuns, endOnFailure: true });
});

async function runBatch(
  flows: readonly RandomFlow[],
  troubles: readonly number[],
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
    for (const trouble of troubles) {
      await t.advance(20_000 + 10_000 * trouble);
      await disturb(t, trouble);
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

/** A deploy, a death at rest or in a commit, or a store that answers late. */
async function disturb(t: World, how: number): Promise<void> {
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
    // It reaches nobody any more; only what it holds in this process is let go.
    void dead.perdure.runtime.shutdown({ graceMs: 0 });
  }
}

async function outcomeOf(t: World, id: string): Promise<Outcome | string> {
  const info = await t.client.get(id).describe();
  if (info.status === "completed") return { value: plain(info.output) };
  if (info.status === "failed") return "failed";
  return `${info.status} ${info.blocked?.message ?? ""} ${JSON.stringify(info.waitingFor)}`;
}

/** Two thousand where nobody waits for them. */
function defaultTrees(): number {
  if (process.env["PERDURE_FULL"] !== undefined) return 10_000;
  return process.env["CI"] === undefined ? 500 : 2_000;
}

test("the reference tells values apart", () => {
  expect(digest({ failure: { message: "a" }, node: "x" })).toBe(digest({ failure: "b" }));
  expect(digest(1)).not.toBe(digest(2));
});

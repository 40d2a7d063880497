// The simulation of jobs under rules and limits: it passes on a fixed range of seeds, 8 at every commit and 2,000 in
// `npm run test:full`, and it finds stores that are broken on purpose. `npm run simulate -- --queues` runs other seeds.

import { expect, test } from "vitest";
import type { CommitItem, CommitResult, Provider } from "../../../src/core/provider/index.ts";
import type { EnqueueItem } from "../../../src/core/provider/enqueue.ts";
import type { QueueRule } from "../../../src/core/provider/queues.ts";
import {
  QUEUE_FAULTS,
  queues,
  simulate,
  type Sabotage,
} from "../../../src/testing/simulation/index.ts";

const SEEDS = process.env["PERDURE_FULL"] === "1" ? 2_000 : 8;
/** The first few seeds find each sabotage. */
const SEEDS_MAX = 60;

test(`the invariants hold on ${SEEDS} seeds`, { timeout: SEEDS * 5_000 + 60_000 }, async () => {
  const workload = queues();
  const report = await simulate({ workload, seeds: SEEDS, faults: QUEUE_FAULTS, repeatEvery: 50 });
  const failed = report.failures.map(({ seed, violations }) => ({ seed, first: violations[0] }));
  expect(failed).toEqual([]);
  expect(report.totals.runs / SEEDS).toBeGreaterThan(10);
  expect(report.stormySeeds / SEEDS).toBeGreaterThan(0.8);
});

/** By description: the sabotage, and the invariant that detects it. */
const SABOTAGES: Readonly<Record<string, readonly [Sabotage, string]>> = {
  "a unique key does not find the job that is running": [
    changingKeys("unique", (key, call) => `${key} ${call}`),
    "C27",
  ],
  "the limit of concurrency is not applied": [
    changingRules(({ concurrency: _, ...rule }) => rule),
    "C28",
  ],
  "the limit per key is not applied": [changingRules(({ perKey: _, ...rule }) => rule), "C28"],
  "a paused queue goes on": [() => ({ pauseQueue: () => Promise.resolve() }), "C28"],
  "the window of a rate is counted from the admission, not from the entry": [
    (real) => ({ leaseTasks: (request) => real.leaseTasks({ ...request, enterWithinMs: 0 }) }),
    "C29",
  ],
  "a debounced call is acknowledged, and the job keeps its earlier input": [
    ignoresLaterCalls,
    "C30",
  ],
  "a delayed job begins at once": [
    changingItems((item) =>
      item.kind === "start" && item.delayMs !== undefined ? { ...item, delayMs: 0 } : item,
    ),
    "C30",
  ],
  "a throttle key is forgotten within its window": [
    changingKeys("throttle", (key, call) => `${key} ${call}`),
    "C31",
  ],
  "a bulk item is acknowledged and not written": [forgetsBulkItems, "lost"],
};

test.each(Object.entries(SABOTAGES))(
  "the simulation finds it when %s",
  { timeout: 180_000 },
  async (_, [sabotage, invariant]) => {
    const report = await simulate({
      workload: queues(),
      seeds: SEEDS_MAX,
      faults: QUEUE_FAULTS,
      sabotage,
      repeatEvery: 0,
      stopAtFailure: true,
    });
    console.log(`found by seed ${report.failures[0]?.seed}`);
    expect(report.failures[0]?.violations.map((each) => each.invariant)).toContain(invariant);
  },
);

function changingItems(change: (item: CommitItem) => CommitItem): Sabotage {
  return (real) => ({ commit: (items) => real.commit(items.map(change)) });
}

function changingKeys(
  kind: EnqueueItem["key"]["kind"],
  change: (key: string, call: number) => string,
): Sabotage {
  let calls = 0;
  return changingItems((item) =>
    item.kind === "enqueue" && item.key.kind === kind
      ? { ...item, key: { ...item.key, key: change(item.key.key, ++calls) } }
      : item,
  );
}

function changingRules(change: (rule: QueueRule) => QueueRule): Sabotage {
  return (real) => ({
    declareQueues: (id, declarations) => {
      const changed = declarations.map(({ name, rule }) => {
        const left = rule === null ? {} : change(rule);
        return { name, rule: Object.keys(left).length === 0 ? null : left };
      });
      return real.declareQueues(id, changed);
    },
  });
}

function ignoresLaterCalls(real: Provider): Partial<Provider> {
  const inserted = new Map<string, CommitResult>();
  return {
    async commit(items) {
      const known = items.map((item) =>
        item.kind === "enqueue" && item.key.kind === "debounce"
          ? inserted.get(item.key.key)
          : undefined,
      );
      const results = [...(await real.commit(items.filter((_, i) => known[i] === undefined)))];
      return items.map((item, i) => {
        const earlier = known[i];
        const result = earlier ?? results.shift() ?? { kind: "done" };
        if (earlier !== undefined || item.kind !== "enqueue") return result;
        if (result.kind === "started" && item.key.kind === "debounce") {
          const { id } = item.start;
          const { key, execution } = result;
          inserted.set(item.key.key, { kind: "existing", id, key, execution });
        }
        return result;
      });
    },
  };
}

function forgetsBulkItems(real: Provider): Partial<Provider> {
  const idOf = (start: EnqueueItem | Extract<CommitItem, { kind: "start" }>): string =>
    start.kind === "start" ? start.id : start.start.id;
  return {
    async commit(items) {
      const results = [...(await real.commit(items.filter((each) => each.kind !== "enqueueMany")))];
      return items.map((item) =>
        item.kind === "enqueueMany"
          ? { kind: "enqueued", ids: item.starts.map(idOf) }
          : (results.shift() ?? { kind: "done" }),
      );
    },
  };
}

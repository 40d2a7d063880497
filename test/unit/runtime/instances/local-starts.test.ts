// Which starts of its own process a runtime takes at the commit of the start (local-starts.1, local-starts.3).

import { expect, test } from "vitest";
import { orchestration } from "../../../../src/core/define/definitions.ts";
import type { StartItem } from "../../../../src/core/provider/commit.ts";
import type { LeasedInstance } from "../../../../src/core/provider/instances.ts";
import { startItem } from "../../../../src/testing/conformance/fixture.ts";
import { LocalStarts } from "../../../../src/runtime/instances/local-starts.ts";
import { Registry } from "../../../../src/runtime/registry.ts";

const work = orchestration("work", async () => "done");

function setup(room: number, heldBack = 0) {
  const taken: LeasedInstance[] = [];
  const delays: number[] = [];
  let token = 0;
  const localStarts = new LocalStarts({
    id: "me",
    isRunning: true,
    registry: new Registry([work]),
    options: { turnConcurrency: room, stickyCacheMax: 1 },
    heldInstances: { busy: 0, isTryingSuspect: false },
    window: { isFull: (name, priority) => name === "work" && priority === heldBack },
    newToken: () => ++token,
    storeNow: () => 1_000,
    instances: { take: (instance) => void taken.push(instance) },
    intake: { wakeInstancesIn: (delayMs) => void delays.push(delayMs) },
    localJobs: { lease: () => null, settled: () => undefined },
    unclaimed: { requested: () => undefined },
    firstTurns: { accepts: () => false, run: () => undefined, settled: () => false },
  });
  /** The lease that a start gets; null: the runtime does not take it. */
  const offer = (item: StartItem): StartItem["lease"] => {
    let written: StartItem | null = null;
    const isAdopted = localStarts.adopt(item, (adopted) => (written = adopted));
    expect(isAdopted).toBe(written !== null);
    return (written as StartItem | null)?.lease ?? null;
  };
  return { localStarts, offer, taken, delays };
}

const named = (fields: Partial<StartItem> = {}): StartItem =>
  startItem({ id: "i", name: "work", version: null, ...fields });

test("AD1: a start is taken while there is capacity, counting starts whose commit is still in flight", () => {
  const { localStarts, offer } = setup(2);
  expect(offer(named())).toEqual({ owner: "me", token: 1 });
  expect(offer(named())).toEqual({ owner: "me", token: 2 });
  expect(offer(named())).toBeNull();
  expect([1, 2, 3].map((token) => localStarts.isExpected(token))).toEqual([true, true, false]);
  const lease = { owner: "me", token: 1 };
  localStarts.settled(named({ lease }), { kind: "refused", code: "INSTANCE_EXISTS" });
  expect(localStarts.isExpected(1)).toBe(false);
  expect(offer(named())).toEqual({ owner: "me", token: 3 });
});

test("AD1: a start of an orchestration or version that is not registered here is left to other runtimes", () => {
  const { offer } = setup(9);
  expect(offer(named({ name: "other" }))).toBeNull();
  expect(offer(named({ version: "9.0.0" }))).toBeNull();
  expect(offer(named({ version: work.version }))).not.toBeNull();
});

test("AD3: a start that the begin window holds back is not taken", () => {
  const { offer } = setup(9, 3);
  expect(offer(named({ priority: 3 }))).toBeNull();
  expect(offer(named({ priority: 1 }))).not.toBeNull();
});

test("AD2: a delayed start gets no lease, and after its commit the runtime polls when the start is due", () => {
  const { localStarts, offer, delays } = setup(9);
  const starts = [{ delayMs: 50 }, { dueAt: 1_250 }, { delayMs: 0 }].map(named);
  for (const start of starts) expect(offer(start)).toBeNull();
  expect(delays).toEqual([]);
  const written = { kind: "started", key: 1, execution: 1, leased: null } as const;
  for (const start of starts) localStarts.settled(start, written);
  expect(delays).toEqual([50, 250, 0]);
});

test("AD2: a delayed start that is not registered here is left to other runtimes", () => {
  const { localStarts } = setup(9);
  const isAdopted = localStarts.adopt(named({ name: "other", delayMs: 50 }), () => undefined);
  expect(isAdopted).toBe(false);
});

test("the taken instance has the fields of its start; a start that found an existing instance or got no lease is not taken", () => {
  const { localStarts, offer, taken } = setup(9);
  const lease = offer(named());
  const message = { id: 7 } as never;
  const item = named({ lease, priority: 3, version: work.version });
  localStarts.settled(item, { kind: "existing", key: 1, execution: 1 });
  localStarts.settled(item, { kind: "started", key: 1, execution: 1, leased: null });
  localStarts.settled(named({ lease: null }), {
    kind: "started",
    key: 1,
    execution: 1,
    leased: message,
  });
  expect(taken).toEqual([]);
  localStarts.settled(item, { kind: "started", key: 5, execution: 2, leased: message });
  const { id, runId, name, version } = item;
  expect(taken).toEqual([
    {
      ...{ key: 5, id, runId, name, version, execution: 2, token: 1, lastEvent: 0, priority: 3 },
      ...{
        copiedUntil: 0,
        suspicion: 0,
        blocked: null,
        stepsOpen: false,
        fresh: true,
        messages: [message],
        history: [],
      },
    },
  ]);
});

// Which starts of its own process a runtime takes at the commit of the start (local-starts.1, local-starts.3).

import { expect, test } from "vitest";
import { orchestration } from "../../../../src/core/define/definitions.ts";
import type { StartItem } from "../../../../src/core/provider/commit.ts";
import type { LeasedInstance } from "../../../../src/core/provider/instances.ts";
import { startItem } from "../../../../src/testing/conformance/fixture.ts";
import type { EnqueueItem, EnqueueManyItem } from "../../../../src/core/provider/enqueue.ts";
import {
  LocalStarts,
  type LocalStartsContext,
} from "../../../../src/runtime/instances/local-starts.ts";
import { Registry } from "../../../../src/runtime/registry.ts";

const work = orchestration("work", async () => "done");

function setup(room: number, heldBack = 0, more: Partial<LocalStartsContext> = {}) {
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
    ...more,
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

test("an orchestration that no worker may have registered is reported as requested", () => {
  const requests: unknown[] = [];
  const unclaimed = { requested: (request: unknown) => void requests.push(request) };
  const { offer } = setup(9, 0, { unclaimed });
  offer(named());
  expect(requests).toEqual([]);
  offer(named({ name: "other", version: "9.0.0" }));
  expect(requests).toEqual([{ kind: "instance", target: "other@9.0.0", oldestAt: 1_000 }]);
});

test("AD1: a runtime that does not run, has no cache or no free turn takes no starts", () => {
  const options = { turnConcurrency: 2, stickyCacheMax: 1 };
  const offered = (more: Partial<LocalStartsContext>) => setup(2, 0, more).offer(named());
  expect(offered({ options })).not.toBeNull();
  expect(offered({ isRunning: false })).toBeNull();
  expect(offered({ options: { ...options, stickyCacheMax: 0 } })).toBeNull();
  expect(offered({ heldInstances: { busy: 2, isTryingSuspect: false } })).toBeNull();
  expect(offered({ heldInstances: { busy: 1, isTryingSuspect: false } })).not.toBeNull();
});

test("the lease of a start has an expiry time only if the runtime's leases have one", () => {
  const options = { turnConcurrency: 2, stickyCacheMax: 1, instanceLeaseMs: 7_000 };
  expect(setup(2, 0, { options }).offer(named())).toEqual({
    ...{ owner: "me", token: 1 },
    leaseMs: 7_000,
  });
});

test("a start whose first turn can run now is written by that turn, and not taken a second time", () => {
  const ran: unknown[] = [];
  const settled: unknown[] = [];
  const { localStarts, offer, taken } = setup(9, 0, {
    firstTurns: {
      accepts: (item) => item.id === "fast",
      run: (start, definition, write) => {
        ran.push([start.id, definition.name]);
        write(start);
      },
      settled: (start) => start.id === "fast" && settled.push(start.id) > 0,
    },
  });
  for (const id of ["slow", "fast"]) {
    const item = named({ id });
    const lease = offer(item);
    const leased = { id: 7 } as never;
    localStarts.settled({ ...item, lease }, { kind: "started", key: 5, execution: 1, leased });
  }
  expect([ran, settled, taken.map(({ id }) => id)]).toEqual([
    [["fast", "work"]],
    ["fast"],
    ["slow"],
  ]);
});

test("a job that can run at once is written with the lease of its task; another one goes to the queue", () => {
  const job = named({ lease: null, firstTurn: { tasks: [] } as never });
  const leased = { ...job, id: "leased" };
  const settled: unknown[] = [];
  let next: StartItem | null = leased;
  const localJobs = { lease: () => next, settled: (item: StartItem) => void settled.push(item) };
  const { localStarts, delays } = setup(9, 0, { localJobs: localJobs as never });
  const written: StartItem[] = [];
  const adopt = () => localStarts.adopt(job, (item) => void written.push(item));
  expect([adopt(), written]).toEqual([true, [leased]]);
  next = null;
  expect([adopt(), written]).toEqual([false, [leased]]);
  localStarts.settled(leased, { kind: "started", key: 1, execution: 1, leased: null });
  expect([settled, delays]).toEqual([[leased], []]);
});

test("AD2: the runtime polls again when a delayed job comes due", () => {
  const enqueue = (key: unknown, start = named()): EnqueueItem =>
    ({ kind: "enqueue", key, start }) as EnqueueItem;
  const items: readonly (readonly [StartItem | EnqueueItem, number | null])[] = [
    [named(), null],
    [named({ delayMs: 40 }), 40],
    [named({ dueAt: 1_030 }), 30],
    [enqueue({ kind: "debounce", waitMs: 60 }), 60],
    [enqueue({ kind: "throttle", perMs: 70 }), 70],
    [enqueue({ kind: "unique" }, named({ delayMs: 50 })), 50],
    [enqueue({ kind: "unique" }), null],
  ];
  for (const [item, delayMs] of items) {
    const { localStarts, delays } = setup(9);
    const starts: EnqueueManyItem = { kind: "enqueueMany", starts: [item] };
    localStarts.enqueued(item.kind === "start" ? starts : item);
    expect(delays).toEqual(delayMs === null ? [] : [delayMs]);
  }
  const { localStarts, delays } = setup(9);
  localStarts.enqueued({ kind: "enqueueMany", starts: items.map(([item]) => item) });
  expect(delays).toEqual([30]);
});

test("a start that runs at once does not make the runtime poll", () => {
  const { localStarts, offer, delays } = setup(9);
  const lease = offer(named());
  const written = { kind: "started", key: 1, execution: 1, leased: null } as const;
  localStarts.settled(named({ lease }), written);
  expect(delays).toEqual([]);
});

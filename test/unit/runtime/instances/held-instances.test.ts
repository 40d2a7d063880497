// How instances are released and counted: what is written, and what is not (held-instances.1,
// held-instances.2, lost-leases.1, lost-leases.2).

import { expect, test } from "vitest";
import { orchestration } from "../../../../src/core/define/definitions.ts";
import type { CommitItem } from "../../../../src/core/provider/commit.ts";
import type { LeasedInstance } from "../../../../src/core/provider/instances.ts";
import { VirtualEnvironment } from "../../../../src/testing/virtual-environment.ts";
import {
  holdInstance,
  type HeldInstance,
  type LocalOutcome,
} from "../../../../src/runtime/instances/held-instance.ts";
import type { RuntimeContext } from "../../../../src/runtime/context.ts";
import {
  HeldInstances,
  type ReleaseReason,
} from "../../../../src/runtime/instances/held-instances.ts";
import { LostLeases } from "../../../../src/runtime/instances/lost-leases.ts";

const TASK = { key: 1, execution: 1, sequence: 4, token: 9 };
const OF_TASK = { task: TASK, body: { kind: "ActivityCompleted", scheduled: 4 } };
const OF_STEP = { task: null, body: { kind: "StepCompleted", scheduled: 5 } };
const OUTCOMES = [OF_TASK, OF_STEP] as unknown as readonly LocalOutcome[];
const COMPLETION = { kind: "completion", task: TASK, outcome: JSON.stringify(OF_TASK.body) };

/** Held instances with the parts of the runtime that they use, which record the calls. */
function setup(
  options: Partial<RuntimeContext["options"]> = {},
  onlyWaits: (held: HeldInstance) => boolean = () => false,
) {
  const environment = new VirtualEnvironment();
  const submitted: CommitItem[] = [];
  const aborted: [string, unknown][] = [];
  const stats = { evictions: 0 };
  const unwindowed: number[] = [];
  let freed = 0;
  const heldInstances = new HeldInstances({
    monotonic: () => environment.monotonic(),
    options: { stickyIdleMs: 1_000, stickyCacheMax: 9, stickyCacheBytesMax: 100, ...options },
    committer: {
      submit: (item: CommitItem) => (submitted.push(item), Promise.reject(new Error())),
    },
    steps: {
      onlyWaits,
      abortAll: ({ id }: HeldInstance, reason: () => unknown) => void aborted.push([id, reason()]),
    },
    stats,
    suspects: { enter: () => undefined, leave: () => undefined },
    window: { remove: ({ key }: HeldInstance) => void unwindowed.push(key) },
    intake: { turnFree: () => void freed++ },
  } as unknown as RuntimeContext);
  const hold = (key: number): HeldInstance => {
    const leased = { key, id: `i${key}`, token: key * 10, history: [{ data: "x".repeat(10) }] };
    const definition = orchestration("work", async () => null);
    const rest = { messages: [], suspicion: 0, execution: 1 };
    const now = environment.monotonic();
    const held = holdInstance({ ...leased, ...rest } as unknown as LeasedInstance, definition, now);
    heldInstances.cache.add(held);
    return held;
  };
  const ids = () => heldInstances.cache.all().map(({ id }) => id);
  const seen = { submitted, aborted, stats, unwindowed, freed: () => freed };
  return { environment, heldInstances, hold, ids, ...seen };
}

test("held-instances.2: an instance is busy during a turn or a commit; a turn that is free wakes the intake", () => {
  const { heldInstances, hold, freed } = setup();
  const [one, two] = [hold(1), hold(2)];
  heldInstances.transition(one, "begin");
  heldInstances.transition(two, "begin");
  heldInstances.transition(one, "submit");
  expect([heldInstances.busy, freed(), one.state]).toEqual([2, 0, "committing"]);
  heldInstances.transition(one, "commit");
  expect([heldInstances.busy, freed()]).toEqual([1, 1]);
  heldInstances.release(two, "dropped");
  expect([heldInstances.busy, freed()]).toEqual([0, 2]);
});

test("held-instances.1: a dropped instance is forgotten, its steps are aborted and nothing is written", () => {
  const { heldInstances, hold, ids, submitted, aborted, freed } = setup();
  const held = hold(1);
  held.outcomes = [...OUTCOMES];
  held.messages = [{}] as never;
  heldInstances.release(held, "dropped");
  expect([ids(), held.outcomes, held.messages, submitted]).toEqual([[], [], [], []]);
  expect(aborted).toEqual([["i1", expect.objectContaining({ code: "LEASE_LOST" })]]);
  heldInstances.release(held, "dropped");
  expect([aborted.length, freed()]).toEqual([1, 0]);
  hold(2);
  hold(3);
  heldInstances.dropAll();
  expect([ids(), submitted]).toEqual([[], []]);
});

test("lease-renewal.1: a lost lease releases its instance; an earlier lease of it releases nothing", () => {
  const { heldInstances, hold, ids, submitted } = setup();
  hold(1).outcomes = [...OUTCOMES];
  hold(2);
  heldInstances.loseLease({ key: 7, token: 70 });
  heldInstances.loseLease({ key: 1, token: 9 }); // an earlier lease of it
  expect(ids()).toEqual(["i1", "i2"]);
  heldInstances.loseLease({ key: 1, token: 10 });
  expect([ids(), submitted]).toEqual([["i2"], [COMPLETION]]);
});

test("semantics 19a: outcomes of a paused instance, also of steps, are written and the lease is returned", () => {
  const { heldInstances, hold, ids, submitted } = setup();
  heldInstances.release(hold(1), "paused", { outcomes: OUTCOMES });
  const step = { kind: "stepOutcome", key: 1, token: 10, execution: 1, sequence: 5 };
  expect(submitted).toEqual([
    COMPLETION,
    { ...step, outcome: JSON.stringify(OF_STEP.body) },
    { kind: "releaseInstance", key: 1, token: 10 },
  ]);
  expect(ids()).toEqual([]);
});

/** The items that a release for each reason submits, if an activity and a step have outcomes. */
const WRITTEN: Readonly<Record<ReleaseReason, readonly string[]>> = {
  committed: ["completion"],
  failed: ["completion"],
  blocked: ["completion"],
  superseded: ["completion"],
  lost: ["completion"],
  outdated: ["completion"],
  dropped: [],
  refused: ["completion", "releaseInstance"],
  paused: ["completion", "stepOutcome", "releaseInstance"],
  unregistered: ["completion", "releaseInstance"],
  evicted: ["completion", "releaseInstance"],
  waiting: ["completion", "releaseInstance"],
};

test.each(Object.entries(WRITTEN) as [ReleaseReason, readonly string[]][])(
  "held-instances.1: a release with the reason %s writes %j",
  (reason, written) => {
    const { heldInstances, hold, ids, submitted, aborted, unwindowed } = setup();
    const held = hold(1);
    held.outcomes = [...OUTCOMES];
    heldInstances.release(held, reason);
    expect(submitted.map(({ kind }) => kind)).toEqual(written);
    expect([ids(), held.state, aborted.length]).toEqual([[], "released", 1]);
    expect(unwindowed).toEqual(reason === "evicted" ? [] : [1]);
  },
);

test("of an instance that was released in the meantime, a refused turn returns what it took", () => {
  const { heldInstances, hold, submitted, aborted } = setup();
  const held = hold(1);
  heldInstances.release(held, "dropped");
  heldInstances.release(held, "refused", { outcomes: OUTCOMES, tasks: [TASK] });
  expect(submitted).toEqual([
    COMPLETION,
    { kind: "releaseTask", task: TASK },
    { kind: "releaseInstance", key: 1, token: 10 },
  ]);
  expect(aborted).toHaveLength(1);
});

test("tasks that will not run here are handed back", () => {
  const { heldInstances, submitted } = setup();
  heldInstances.handBack([TASK, TASK] as never);
  expect(submitted).toEqual([TASK, TASK].map((task) => ({ kind: "releaseTask", task })));
});

test("an instance is evicted when it is idle for long, when the cache is full, and at shutdown", async () => {
  const released = (key: number) => ({ kind: "releaseInstance", key, token: key * 10 });
  const idle = setup();
  idle.hold(1);
  await idle.environment.advance(1);
  idle.hold(2);
  await idle.environment.advance(998);
  idle.heldInstances.sweep();
  expect(idle.submitted).toEqual([]);
  await idle.environment.advance(1);
  idle.heldInstances.sweep();
  expect([idle.ids(), idle.submitted, idle.stats]).toEqual([
    ["i2"],
    [released(1)],
    { evictions: 1 },
  ]);

  for (const bound of [{ stickyCacheMax: 1 }, { stickyCacheBytesMax: 10 }]) {
    const full = setup(bound);
    full.hold(1);
    full.heldInstances.trim();
    full.hold(2);
    expect(full.submitted).toEqual([]);
    full.heldInstances.trim();
    expect([full.ids(), full.submitted]).toEqual([["i2"], [released(1)]]);
  }

  const all = setup();
  all.heldInstances.transition(all.hold(1), "begin");
  all.hold(2);
  all.heldInstances.evictAll();
  expect([all.ids(), all.submitted]).toEqual([["i1"], [released(2)]]);
});

test("an instance whose steps only wait for a later attempt is given up at shutdown, and the store knows that they wait", () => {
  const { heldInstances, hold, ids, submitted } = setup({}, ({ id }) => id === "i1");
  for (const key of [1, 2]) {
    const held = hold(key);
    held.run = { openTasks: { hasSteps: true } } as never;
    held.state = "idle";
  }
  heldInstances.evictAll();
  const released = { kind: "releaseInstance", key: 1, token: 10, stepsWait: true };
  expect([ids(), submitted]).toEqual([["i2"], [released]]);
});

/** Lost leases with a store and runners that give fixed answers. */
function lostLeasesWith(read: (id: string) => Promise<unknown>) {
  const { environment, heldInstances, hold, ids } = setup();
  const lost: unknown[] = [];
  const storeErrors: unknown[] = [];
  const alerts: number[] = [];
  let answer: () => Promise<unknown[]> = async () => [];
  const claims: unknown[] = [TASK];
  const checks: unknown[] = [];
  const work = new LostLeases({
    environment,
    provider: {
      readInstance: read,
      lostTasks: (requested: unknown) => (checks.push(requested), answer()),
    },
    id: "me",
    heldInstances,
    activities: {
      claims,
      lose: (claim: unknown) => void lost.push(claim),
      runsFor: (of: readonly string[]) => of.includes("running"),
    },
    onStoreError: (error: unknown) => void storeErrors.push(error),
    leaseCheck: { alert: () => void alerts.push(lost.length) },
  } as never);
  const answering = (next: () => Promise<unknown[]>) => void (answer = next);
  return {
    environment,
    work,
    hold,
    ids,
    lost,
    alerts,
    storeErrors,
    checks,
    claims,
    answering,
    heldInstances,
  };
}

test("lost-leases.1: an instance that ended, was taken over or has another key is dropped", async () => {
  const ours = { key: 1, owner: "me", status: "running" };
  const answers: [unknown, boolean][] = [
    [ours, true],
    [{ ...ours, status: "completed" }, false],
    [{ ...ours, owner: "other" }, false],
    [{ ...ours, key: 2 }, false],
    [null, false],
  ];
  for (const [record, isKept] of answers) {
    const { work, hold, ids, environment, storeErrors } = lostLeasesWith(async () => record);
    hold(1);
    work.onChanged(["i1", "unknown"]);
    await environment.settle();
    expect([record, ids()]).toEqual([record, isKept ? ["i1"] : []]);
    expect(storeErrors).toEqual([]);
  }
});

test("lost-leases.1: an instance that is busy, or became busy during the check, is left to its commit", async () => {
  const { work, hold, heldInstances, ids, environment } = lostLeasesWith(async () => null);
  const held = hold(1);
  heldInstances.transition(held, "begin");
  work.onChanged(["i1"]);
  await environment.settle();
  heldInstances.transition(held, "rest");
  work.onChanged(["i1"]);
  heldInstances.transition(held, "begin");
  await environment.settle();
  expect(ids()).toEqual(["i1"]);
});

test("lost-leases.2: tasks are checked on notifications about their instances, and again after a notification during the check", async () => {
  const { work, environment, lost, checks, answering, claims } = lostLeasesWith(async () => null);
  work.onChanged([]);
  work.onChanged(["elsewhere"]);
  await environment.settle();
  expect(checks).toEqual([]);
  const { promise, resolve } = Promise.withResolvers<unknown[]>();
  answering(() => promise);
  work.onChanged(["running"]);
  await environment.settle();
  expect(checks).toEqual([[TASK]]);
  const more = [work.checkTasks(), work.checkTasks()];
  expect(checks).toEqual([[TASK]]);
  answering(async () => []);
  resolve([TASK]);
  await Promise.all(more);
  await environment.settle();
  expect([checks.length, lost]).toEqual([2, [TASK]]);
  await work.checkTasks();
  expect(checks).toHaveLength(3);
  claims.length = 0;
  await work.checkTasks();
  expect(checks).toHaveLength(3);
});

test("an error of the store is reported and drops no instance; the next check asks again", async () => {
  const down = new Error("down");
  const { work, hold, ids, environment, checks, storeErrors, answering } = lostLeasesWith(() =>
    Promise.reject(down),
  );
  hold(1);
  work.onChanged(["i1"]);
  answering(() => Promise.reject(down));
  await work.checkTasks();
  await environment.settle();
  expect([ids(), storeErrors]).toEqual([["i1"], [down, down]]);
  await work.checkTasks();
  expect(checks).toHaveLength(2);
});

test("lost tasks make the runtime check its other leases; a check that finds none does not", async () => {
  const { work, alerts, answering } = lostLeasesWith(async () => null);
  await work.checkTasks();
  expect(alerts).toEqual([]);
  answering(async () => [TASK, TASK]);
  await work.checkTasks();
  expect(alerts).toEqual([2]);
});

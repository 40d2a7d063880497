// How instances are let go, dropped and counted: what is written, and what is not (HO1, HO2; LW2, LW3).

import { expect, test } from "vitest";
import { orchestration } from "../core/definitions.ts";
import type { CommitItem } from "../core/provider/commit.ts";
import type { LeasedInstance } from "../core/provider/instances.ts";
import { VirtualEnvironment } from "../testing/virtual-environment.ts";
import { holdInstance, type HeldInstance, type LocalOutcome } from "./held-instance.ts";
import { Holding, type HoldingOptions } from "./holding.ts";
import { LostWork } from "./lost-work.ts";

const TASK = { key: 1, execution: 1, sequence: 4, token: 9 };
const OF_TASK = { task: TASK, body: { kind: "ActivityCompleted", scheduled: 4 } };
const OF_STEP = { task: null, body: { kind: "StepCompleted", scheduled: 5 } };
const OUTCOMES = [OF_TASK, OF_STEP] as unknown as readonly LocalOutcome[];
const COMPLETION = { kind: "completion", task: TASK, outcome: JSON.stringify(OF_TASK.body) };

/** What is around a holding, as far as it is used: all it does is told to these. */
function holdingWith(options: Partial<HoldingOptions["options"]> = {}) {
  const environment = new VirtualEnvironment();
  const submitted: CommitItem[] = [];
  const aborted: [string, unknown][] = [];
  const stats = { evictions: 0 };
  let freed = 0;
  const holding = new Holding({
    environment,
    options: { stickyIdleMs: 1_000, stickyCacheMax: 9, stickyCacheBytesMax: 100, ...options },
    committer: {
      submit: (item: CommitItem) => (submitted.push(item), Promise.reject(new Error())),
    },
    steps: {
      abortAll: ({ id }: HeldInstance, reason: () => unknown) => void aborted.push([id, reason()]),
    },
    stats,
    suspects: { enter: () => undefined, leave: () => undefined },
    window: { remove: () => undefined, sweep: () => undefined },
    onFree: () => void freed++,
  } as unknown as HoldingOptions);
  const hold = (key: number): HeldInstance => {
    const leased = { key, id: `i${key}`, token: key * 10, history: [{ data: "x".repeat(10) }] };
    const definition = orchestration("work", async () => null);
    const rest = { messages: [], suspicion: 0, execution: 1 };
    const now = environment.monotonic();
    const held = holdInstance({ ...leased, ...rest } as unknown as LeasedInstance, definition, now);
    holding.cache.add(held);
    return held;
  };
  const ids = () => holding.cache.all().map(({ id }) => id);
  return { environment, holding, hold, ids, submitted, aborted, stats, freed: () => freed };
}

test("HO2: busy is what has a turn or a commit under way, and a place that is free is told", () => {
  const { holding, hold, freed } = holdingWith();
  const [one, two] = [hold(1), hold(2)];
  holding.setState(one, "turning");
  holding.setState(two, "turning");
  holding.setState(one, "committing");
  expect([holding.busy, freed(), one.state]).toEqual([2, 0, "committing"]);
  holding.setState(one, "idle");
  holding.setState(one, "idle");
  expect([holding.busy, freed()]).toEqual([1, 1]);
  holding.drop(two);
  expect([holding.busy, freed()]).toEqual([0, 2]);
});

test("HO1: dropping forgets and aborts, and writes nothing", () => {
  const { holding, hold, ids, submitted, aborted, freed } = holdingWith();
  const held = hold(1);
  held.outcomes = [...OUTCOMES];
  held.messages = [{}] as never;
  holding.drop(held);
  expect([ids(), held.outcomes, held.messages, submitted]).toEqual([[], [], [], []]);
  expect(aborted).toEqual([["i1", expect.objectContaining({ code: "LEASE_LOST" })]]);
  holding.drop(held);
  expect([aborted.length, freed()]).toEqual([1, 0]);
  hold(2);
  hold(3);
  holding.dropAll();
  expect([ids(), submitted]).toEqual([[], []]);
});

test("HO1: letting go puts late outcomes of activities into the inbox, and leaves the lease", () => {
  const { holding, hold, ids, submitted } = holdingWith();
  hold(1).outcomes = [...OUTCOMES];
  hold(2);
  holding.dropLease({ key: 7, token: 70 });
  holding.dropLease({ key: 1, token: 9 }); // an earlier lease of it
  expect(ids()).toEqual(["i1", "i2"]);
  holding.dropLease({ key: 1, token: 10 });
  expect([ids(), submitted]).toEqual([["i2"], [COMPLETION]]);
});

test("19a: what was done for a paused instance is kept, steps too, and its lease given back", () => {
  const { holding, hold, ids, submitted } = holdingWith();
  holding.letGoPaused(hold(1), OUTCOMES);
  const step = { kind: "stepOutcome", key: 1, token: 10, execution: 1, sequence: 5 };
  expect(submitted).toEqual([
    COMPLETION,
    { ...step, outcome: JSON.stringify(OF_STEP.body) },
    { kind: "releaseInstance", key: 1, token: 10 },
  ]);
  expect(ids()).toEqual([]);
});

test("tasks that will not run here are handed back", () => {
  const { holding, submitted } = holdingWith();
  holding.handBack([TASK, TASK] as never);
  expect(submitted).toEqual([TASK, TASK].map((task) => ({ kind: "releaseTask", task })));
});

test("whoever is idle for long, over the bounds, or free when all go, is let go with its lease", async () => {
  const released = (key: number) => ({ kind: "releaseInstance", key, token: key * 10 });
  const idle = holdingWith();
  idle.hold(1);
  await idle.environment.advance(1);
  idle.hold(2);
  await idle.environment.advance(998);
  idle.holding.sweep();
  expect(idle.submitted).toEqual([]);
  await idle.environment.advance(1);
  idle.holding.sweep();
  expect([idle.ids(), idle.submitted, idle.stats]).toEqual([
    ["i2"],
    [released(1)],
    { evictions: 1 },
  ]);

  for (const bound of [{ stickyCacheMax: 1 }, { stickyCacheBytesMax: 10 }]) {
    const full = holdingWith(bound);
    full.hold(1);
    full.holding.trim();
    full.hold(2);
    expect(full.submitted).toEqual([]);
    full.holding.trim();
    expect([full.ids(), full.submitted]).toEqual([["i2"], [released(1)]]);
  }

  const all = holdingWith();
  all.holding.setState(all.hold(1), "turning");
  all.hold(2);
  all.holding.evictAll();
  expect([all.ids(), all.submitted]).toEqual([["i1"], [released(2)]]);
});

/** A store and runners of which only the answers matter. */
function lostWorkWith(read: (id: string) => Promise<unknown>) {
  const { environment, holding, hold, ids } = holdingWith();
  const lost: unknown[] = [];
  const troubles: unknown[] = [];
  let answer: () => Promise<unknown[]> = async () => [];
  const claims: unknown[] = [TASK];
  const looks: unknown[] = [];
  const work = new LostWork({
    provider: {
      environment,
      readInstance: read,
      lostTasks: (asked: unknown) => (looks.push(asked), answer()),
    },
    runtimeId: "me",
    instances: { holding, heldById: (id: string) => holding.cache.byId(id) },
    activities: {
      claims,
      lose: (claim: unknown) => void lost.push(claim),
      runsFor: (of: readonly string[]) => of.includes("running"),
    },
    trouble: (error: unknown) => void troubles.push(error),
    onLost: () => undefined,
  } as never);
  const answering = (next: () => Promise<unknown[]>) => void (answer = next);
  return { environment, work, hold, ids, lost, troubles, looks, claims, answering, holding };
}

test("LW2: an instance that ended, was taken over or is another one is dropped, others are not", async () => {
  const ours = { key: 1, owner: "me", status: "running" };
  const answers: [unknown, boolean][] = [
    [ours, true],
    [{ ...ours, status: "completed" }, false],
    [{ ...ours, owner: "other" }, false],
    [{ ...ours, key: 2 }, false],
    [null, false],
  ];
  for (const [record, isKept] of answers) {
    const { work, hold, ids, environment, troubles } = lostWorkWith(async () => record);
    hold(1);
    work.heard(["i1", "unknown"]);
    await environment.settle();
    expect([record, ids()]).toEqual([record, isKept ? ["i1"] : []]);
    expect(troubles).toEqual([]);
  }
});

test("LW2: an instance that is busy, or became so during the look, is left to its commit", async () => {
  const { work, hold, holding, ids, environment } = lostWorkWith(async () => null);
  const held = hold(1);
  holding.setState(held, "committing");
  work.heard(["i1"]);
  await environment.settle();
  holding.setState(held, "idle");
  work.heard(["i1"]);
  holding.setState(held, "turning");
  await environment.settle();
  expect(ids()).toEqual(["i1"]);
});

test("LW3: tasks are looked for on news about their instances, and once more for news meanwhile", async () => {
  const { work, environment, lost, looks, answering, claims } = lostWorkWith(async () => null);
  work.heard([]);
  work.heard(["elsewhere"]);
  await environment.settle();
  expect(looks).toEqual([]);
  const { promise, resolve } = Promise.withResolvers<unknown[]>();
  answering(() => promise);
  work.heard(["running"]);
  await environment.settle();
  const more = [work.checkTasks(), work.checkTasks()];
  expect(looks).toEqual([[TASK]]);
  answering(async () => []);
  resolve([TASK]);
  await Promise.all(more);
  await environment.settle();
  expect([looks.length, lost]).toEqual([2, [TASK]]);
  await work.checkTasks();
  expect(looks).toHaveLength(3);
  claims.length = 0;
  await work.checkTasks();
  expect(looks).toHaveLength(3);
});

test("a store that cannot be asked is told as trouble, drops nobody, and is asked again", async () => {
  const down = new Error("down");
  const { work, hold, ids, environment, looks, troubles, answering } = lostWorkWith(() =>
    Promise.reject(down),
  );
  hold(1);
  work.heard(["i1"]);
  answering(() => Promise.reject(down));
  await work.checkTasks();
  await environment.settle();
  expect([ids(), troubles]).toEqual([["i1"], [down, down]]);
  await work.checkTasks();
  expect(looks).toHaveLength(2);
});

// Steps of a random run: each one changes the store and the model in the same way, and compares them.

import fc from "fast-check";
import { expect } from "vitest";
import type { EnqueueKey } from "../../../src/index.ts";
import {
  ALPHA,
  cancelItem,
  completedText,
  eventText,
  heldFrom,
  newTask,
  scheduledText,
  terminateItem,
  turnItem,
  VERSION,
  type Held,
} from "../../../src/testing/conformance/fixture.ts";
import { enqueueItem } from "../../../src/testing/conformance/jobs/job-steps.ts";
import type { Setup } from "../../../src/testing/conformance/setup.ts";
import type { LeasedTask, Message } from "../../../src/core/provider/index.ts";
import { isLive, type Job, type JobState, type KeyModel } from "./key-model.ts";

export type Step =
  | { readonly kind: "enqueue"; readonly key: EnqueueKey; readonly delayMs: number }
  | { readonly kind: "lease" | "turn" }
  | { readonly kind: "work"; readonly count: number }
  | { readonly kind: "release"; readonly pick: number }
  | { readonly kind: "end"; readonly pick: number; readonly how: End }
  | { readonly kind: "advance"; readonly ms: number };
type End = (typeof ENDS)[number];

const ENDS = ["complete", "terminate", "cancel", "delete"] as const;
const KEYS = fc.constantFrom("a", "b");
const uniqueKey = fc.record({
  kind: fc.constant("unique" as const),
  key: KEYS,
  onConflict: fc.constantFrom("useExisting" as const, "fail" as const, "replace" as const),
});
const debounceKey = fc
  .record({
    kind: fc.constant("debounce" as const),
    key: KEYS,
    waitMs: fc.integer({ min: 1, max: 300 }),
    extra: fc.option(fc.integer({ min: 0, max: 500 })),
  })
  .map(({ extra, ...key }) => ({ ...key, maxMs: extra === null ? null : key.waitMs + extra }));
const throttleKey = fc.record({
  kind: fc.constant("throttle" as const),
  key: KEYS,
  perMs: fc.integer({ min: 50, max: 500 }),
  trailing: fc.boolean(),
});
const pick = fc.nat(1_000);
export const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.oneof(
    {
      weight: 8,
      arbitrary: fc.record({
        kind: fc.constant("enqueue" as const),
        key: fc.oneof({ weight: 2, arbitrary: uniqueKey }, debounceKey, throttleKey),
        delayMs: fc.constantFrom(0, 0, 0, 200),
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({ kind: fc.constantFrom("lease" as const, "turn" as const) }),
    },
    {
      weight: 2,
      arbitrary: fc.record({ kind: fc.constant("work" as const), count: fc.constantFrom(1, 2) }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("release" as const), pick }) },
    {
      weight: 3,
      arbitrary: fc.record({
        kind: fc.constant("end" as const),
        pick,
        how: fc.constantFrom(...ENDS),
      }),
    },
    {
      weight: 4,
      arbitrary: fc.record({
        kind: fc.constant("advance" as const),
        ms: fc.integer({ min: 1, max: 400 }),
      }),
    },
  ),
  { minLength: 20, maxLength: 60 },
);

const STATUS: Readonly<Record<JobState, RegExp | null>> = {
  pending: /^pending$/,
  leased: /^pending$/,
  queued: /^running$/,
  running: /^running$/,
  ended: /^(completed|terminated|cancelled)$/,
  gone: null,
};

/** A random run on one store. */
export class KeyRun {
  readonly #setup: Setup;
  readonly #model: KeyModel;
  readonly #held = new Map<string, Held>();
  readonly #starts = new Map<string, Message>();
  readonly #tasks = new Map<string, LeasedTask>();
  /** Leases of ended executions. */
  readonly #stale: Held[] = [];
  readonly results: string[] = [];
  #calls = 0;

  constructor(setup: Setup, model: KeyModel) {
    this.#setup = setup;
    this.#model = model;
  }

  async run(step: Step): Promise<void> {
    await this.#step(step);
    for (const job of this.#model.jobs) await this.#compare(job, JSON.stringify(step));
  }

  async #step(step: Step): Promise<void> {
    switch (step.kind) {
      case "enqueue":
        return this.#enqueue(step.key, step.delayMs);
      case "lease":
        return this.#lease();
      case "turn":
        return this.#turn();
      case "work":
        return this.#work(step.count);
      case "release":
        return this.#release(step.pick);
      case "end":
        return this.#end(step.pick, step.how);
      case "advance":
        await this.#setup.environment.advance(step.ms);
        this.#model.now += step.ms;
    }
  }

  async #enqueue(key: EnqueueKey, delayMs: number): Promise<void> {
    const id = `job-${this.#calls++}`;
    const delay = key.kind === "unique" ? delayMs : 0;
    const item = enqueueItem(id, key, { input: id, ...(delay === 0 ? {} : { delayMs: delay }) });
    const expected = this.#model.enqueue({ id, key, input: id, delayMs: delay });
    const result = await this.#setup.commit(item);
    expect(result, JSON.stringify(key)).toMatchObject(expected);
    this.results.push(`${key.kind} ${result.kind}`);
    const settled = await this.#setup.provider.settle(item);
    const changesPending = key.kind === "debounce" || (key.kind === "throttle" && key.trailing);
    const isWritten =
      expected.kind === "started" ||
      expected.kind === "replaced" ||
      (expected.kind === "existing" && changesPending);
    expect(settled).toEqual(isWritten ? result : null);
    if (expected.kind === "replaced") this.#forget(expected.id);
  }

  /** Leases all jobs that are due. */
  async #lease(): Promise<void> {
    const due = this.#model.due();
    const { instances } = await this.#setup.lease(ALPHA, { allowSuspect: true });
    const taken = instances.filter(({ id }) => !this.#held.has(id));
    expect(taken.map(({ id }) => id).toSorted()).toEqual(due.map(({ id }) => id).toSorted());
    for (const leased of taken) {
      this.#held.set(leased.id, heldFrom(leased));
      const start = leased.messages.find(({ kind }) => kind === "start");
      if (start !== undefined) this.#starts.set(leased.id, start);
      this.#job(leased.id).state = "leased";
    }
  }

  /** Commits the first turn of all leased jobs: their activities are queued. */
  async #turn(): Promise<void> {
    for (const job of this.#model.jobs.filter(({ state }) => state === "leased")) {
      const start = this.#starts.get(job.id);
      const held = this.#held.get(job.id);
      if (start === undefined || held === undefined) throw new Error(`${job.id} has no start`);
      expect(JSON.parse(start.data)).toMatchObject({ input: job.input });
      await this.#setup.turn(held, {
        version: VERSION,
        events: [start.data, scheduledText()],
        consumed: [start.id],
        tasks: [newTask({ sequence: 2 })],
      });
      job.state = "queued";
    }
  }

  /** Leases tasks: their activities begin. */
  async #work(count: number): Promise<void> {
    const { tasks } = await this.#setup.leaseTasks(ALPHA, { limit: count });
    const queued = this.#model.jobs.filter(({ state }) => state === "queued");
    expect(tasks).toHaveLength(Math.min(count, queued.length));
    for (const task of tasks) {
      const job = this.#job(task.instanceId);
      expect(job).toMatchObject({ state: "queued", execution: task.execution });
      job.state = "running";
      this.#tasks.set(job.id, task);
    }
  }

  /** Hands a task back: its activity has not begun. */
  async #release(pick: number): Promise<void> {
    const job = pickOf(
      this.#model.jobs.filter(({ state }) => state === "running"),
      pick,
    );
    const task = this.#tasks.get(job?.id ?? "");
    if (job === undefined || task === undefined) return;
    await this.#setup.commit({ kind: "releaseTask", task });
    job.state = "queued";
  }

  async #end(pick: number, how: End): Promise<void> {
    const candidates = this.#model.jobs.filter(({ state }) => state !== "gone");
    const job = pickOf(candidates, pick);
    if (job === undefined) return;
    const held = this.#held.get(job.id);
    if (how === "delete") {
      await this.#setup.provider.deleteInstance({ id: job.id, force: true });
      this.#model.end(job, "gone");
    } else if (!isLive(job)) {
      return;
    } else if (how === "cancel") {
      await this.#setup.commit(cancelItem(job.id));
      this.#model.cancel(job);
    } else if (how === "terminate" || held === undefined || job.state === "leased") {
      await this.#setup.commit(terminateItem(job.id));
      this.#model.end(job, "ended");
    } else {
      await this.#setup.complete(held);
      this.#model.end(job, "ended");
    }
    if (!isLive(job)) this.#forget(job.id);
  }

  /** The lease of a job that has ended or was restarted is void. */
  #forget(id: string): void {
    const held = this.#held.get(id);
    this.#held.delete(id);
    this.#starts.delete(id);
    this.#tasks.delete(id);
    if (held !== undefined) this.#stale.push(held);
  }

  /** No lease of an earlier execution can write. */
  async checkStale(): Promise<void> {
    for (const held of this.#stale) {
      const turn = turnItem(held, { events: [eventText(), completedText()] });
      expect(await this.#setup.commit(turn)).toEqual({ kind: "refused", code: "LEASE_LOST" });
    }
  }

  async #compare(job: Job, after: string): Promise<void> {
    const record = await this.#setup.provider.readInstance(job.id);
    const status = STATUS[job.state];
    const what = `${job.id} after ${after}`;
    if (status === null) return expect(record, what).toBeNull();
    expect(record?.status, what).toMatch(status);
    expect(record?.execution, what).toBe(job.execution);
    if (job.state !== "pending" && job.state !== "leased") return;
    const messages = await this.#setup.provider.readInbox(record?.key ?? -1);
    const start = messages.find(({ kind }) => kind === "start");
    expect(start?.damaged, what).toBeUndefined();
    expect(JSON.parse(start?.data ?? "{}"), what).toMatchObject({ input: job.input });
    const at = start?.visibleAt ?? NaN;
    expect(at >= 8.64e15 ? Infinity : at, what).toBe(job.dueAt);
  }

  #job(id: string): Job {
    const job = this.#model.jobs.find((each) => each.id === id);
    if (job === undefined) throw new Error(`The model has no job "${id}".`);
    return job;
  }
}

function pickOf<T>(list: readonly T[], pick: number): T | undefined {
  return list[pick % Math.max(list.length, 1)];
}

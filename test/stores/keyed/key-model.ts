// A model of keyed starts (provider.enqueue): what each call returns, and what becomes of each job. It knows calls and
// jobs, but no rows and no locks.

import type { EnqueueKey } from "../../../src/index.ts";

/** "leased": a runtime holds it, and no turn was committed. "queued": its activity has not begun. */
export type JobState = "pending" | "leased" | "queued" | "running" | "ended" | "gone";

export interface Job {
  readonly id: string;
  readonly slot: string;
  state: JobState;
  execution: number;
  input: string;
  /** When its start becomes due; Infinity: it waits for the end of another job. */
  dueAt: number;
  /** For a job that waits: when it may begin at the earliest. */
  notBefore: number;
  /** A cancel waits in its inbox. */
  isCancelling: boolean;
}

export interface Call {
  readonly id: string;
  readonly key: EnqueueKey;
  readonly input: string;
  /** Only with a unique key. */
  readonly delayMs: number;
}

export interface Expected {
  readonly kind: "started" | "existing" | "replaced" | "refused";
  readonly id: string;
  readonly execution?: number;
}

interface Window {
  readonly openedAt: number;
  readonly until: number;
  readonly job: Job;
  readonly isTrailing: boolean;
}

export class KeyModel {
  now: number;
  readonly jobs: Job[] = [];
  readonly #firstCallAt = new Map<Job, number>();
  readonly #windows = new Map<string, Window[]>();

  constructor(now: number) {
    this.now = now;
  }

  enqueue(call: Call): Expected {
    const slot = `${call.key.kind} ${call.key.key}`;
    if (call.key.kind === "unique") return this.#unique(call, call.key, slot);
    if (call.key.kind === "debounce") return this.#debounce(call, call.key, slot);
    return this.#throttle(call, call.key, slot);
  }

  /** The pending jobs that a runtime can lease. */
  due(): Job[] {
    return this.jobs.filter(({ state, dueAt }) => state === "pending" && dueAt <= this.now);
  }

  end(job: Job, state: "ended" | "gone"): void {
    const wasLive = isLive(job);
    job.state = state;
    if (!wasLive) return;
    for (const other of this.#live(job.slot)) {
      if (other.dueAt === Infinity) other.dueAt = Math.max(this.now, other.notBefore);
    }
  }

  cancel(job: Job): void {
    if (job.state === "pending" && job.dueAt > this.now) this.end(job, "ended");
    else if (isLive(job)) job.isCancelling = true;
  }

  #unique(call: Call, key: Extract<EnqueueKey, { kind: "unique" }>, slot: string): Expected {
    const live = this.#live(slot);
    const waiting = live.find(({ dueAt }) => dueAt === Infinity);
    const holder = live.find((job) => job !== waiting);
    const dueAt = this.now + call.delayMs;
    if (holder === undefined) return started(this.#insert(call, slot, dueAt));
    const { id } = holder;
    if (key.onConflict === "fail") return { kind: "refused", id };
    if (key.onConflict === "useExisting") return result("existing", holder);
    if (waiting !== undefined) {
      Object.assign(waiting, { input: call.input, notBefore: dueAt });
      return result("replaced", waiting);
    }
    if (holder.state === "running") {
      const job = this.#insert(call, slot, Infinity);
      job.notBefore = dueAt;
      return started(job);
    }
    const again = {
      state: "pending",
      execution: holder.execution + 1,
      isCancelling: false,
    } as const;
    Object.assign(holder, { ...again, input: call.input, dueAt });
    return result("replaced", holder);
  }

  #debounce(call: Call, key: Extract<EnqueueKey, { kind: "debounce" }>, slot: string): Expected {
    const job = this.jobs.findLast((each) => each.slot === slot);
    const { waitMs, maxMs } = key;
    if (job === undefined || !canChange(job)) {
      const inserted = this.#insert(call, slot, this.now + waitMs);
      this.#firstCallAt.set(inserted, this.now);
      return started(inserted);
    }
    const latest = (this.#firstCallAt.get(job) ?? this.now) + (maxMs ?? Infinity);
    job.dueAt = Math.max(this.now, Math.min(this.now + waitMs, latest));
    job.input = call.input;
    return result("existing", job);
  }

  #throttle(call: Call, key: Extract<EnqueueKey, { kind: "throttle" }>, slot: string): Expected {
    const windows = this.#windows.get(slot) ?? [];
    this.#windows.set(slot, windows);
    const last = windows.at(-1);
    const isLastChangeable = last !== undefined && last.isTrailing && canChange(last.job);
    if (key.trailing && isLastChangeable && this.now < last.until) {
      last.job.input = call.input;
      return result("existing", last.job);
    }
    const current = windows.find(({ openedAt, until }) => openedAt <= this.now && this.now < until);
    if (current === undefined) {
      const job = this.#insert(call, slot, this.now);
      windows.push({ openedAt: this.now, until: this.now + key.perMs, job, isTrailing: false });
      return started(job);
    }
    if (!key.trailing) {
      const { job } = current;
      const execution = job.state === "gone" ? 1 : job.execution;
      return { kind: "existing", id: job.id, execution };
    }
    const job = this.#insert(call, slot, current.until);
    const openedAt = current.until;
    const future = windows.findIndex((each) => each.openedAt > this.now); // its job has ended
    if (future >= 0) windows.splice(future, 1);
    windows.push({ openedAt, until: openedAt + key.perMs, job, isTrailing: true });
    return started(job);
  }

  #insert({ id, input }: Call, slot: string, dueAt: number): Job {
    const job: Job = {
      ...{ id, slot, input, dueAt, state: "pending", execution: 1 },
      ...{ notBefore: 0, isCancelling: false },
    };
    this.jobs.push(job);
    return job;
  }

  #live(slot: string): Job[] {
    return this.jobs.filter((job) => job.slot === slot && isLive(job));
  }
}

export function isLive({ state }: Job): boolean {
  return state !== "ended" && state !== "gone";
}

function canChange({ state, isCancelling }: Job): boolean {
  return state === "pending" && !isCancelling;
}

function started(job: Job): Expected {
  return result("started", job);
}

function result(kind: Expected["kind"], { id, execution }: Job): Expected {
  return { kind, id, execution };
}

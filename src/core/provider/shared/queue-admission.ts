// Queue admission: which tasks of queues with rules a request may take now (provider.queues.2, provider.queues.3).
//   - A store reads the load of each queue in the transaction that leases, so that all leases of a queue follow one after
//     the other.
//   - queue-admission.1: A task that holds a slot already (deferred, or with an expired lease) needs no further slot. A
//     deferred task whose attempt has timed out runs no code, so it needs no admission under a rate either.
//   - A task that waits for a slot is tried again after SLOT_POLL_MS. A task that a rate holds back is
//     tried again when the oldest admission stops to count.

import type { QueueRule } from "../queues.ts";

/** What a rule needs to know about a task. */
export interface QueuedTask {
  readonly name: string;
  /** Empty: none. */
  readonly key: string;
  readonly holdsSlot: boolean;
  readonly isDeferred: boolean;
}

/** A queue with a rule or a pause, and how much of its limits is used. */
export interface QueueLoad {
  readonly name: string;
  readonly rule: QueueRule | null;
  readonly isPaused: boolean;
  /** The number of tasks that hold a slot; 0 if the rule has neither `concurrency` nor `perKey`. */
  readonly running: number;
  /** The same by key; empty if the rule has no `perKey`. */
  readonly runningByKey: ReadonlyMap<string, number>;
  /** Tasks whose admissions count now. */
  readonly admitted: number;
  /** When the oldest of these admissions stops to count; null: there is none. */
  readonly admitsAgainAt: number | null;
  /** Whether a task that holds a slot is due. */
  readonly hasDeferred: boolean;
}

/** The time of a request. */
export interface AdmissionTime {
  readonly now: number;
  /** How long its admissions are valid. */
  readonly enterWithinMs: number;
}

/** How soon a task is tried again that waits for a slot. */
const SLOT_POLL_MS = 50;
/** Of a larger rate, the ends of admissions are rounded up, so that a store keeps about this many per window. */
const ADMISSIONS_EXACT = 1_000;
export const ENTER_WITHIN_MS = 1_000;

/** The end of the validity of an admission, from which the window of the rate is counted. */
export function admissionEnd(
  { count, perMs }: NonNullable<QueueRule["rate"]>,
  { now, enterWithinMs }: AdmissionTime,
): number {
  const end = Math.ceil(now + enterWithinMs);
  if (count <= ADMISSIONS_EXACT) return end;
  const stepMs = Math.max(1, Math.floor(perMs / ADMISSIONS_EXACT));
  return Math.ceil(end / stepMs) * stepMs;
}

/** How many more tasks of the queue can be taken now, whatever their keys. */
export function allowance({ rule, running, admitted }: QueueLoad): number {
  const { concurrency = Infinity, rate } = rule ?? {};
  return Math.max(0, Math.min(concurrency - running, (rate?.count ?? Infinity) - admitted));
}

/** How many more tasks of the key can be taken now, as far as the limit per key is concerned. */
export function keyAllowance({ rule, runningByKey }: QueueLoad, key: string): number {
  return Math.max(0, (rule?.perKey ?? Infinity) - (runningByKey.get(key) ?? 0));
}

/** Whether a task of the queue could be taken now. */
export function isOpen(load: QueueLoad): boolean {
  return !load.isPaused && (load.hasDeferred || allowance(load) > 0);
}

/** The decisions for one request. Each admitted task uses up a part of the limits. */
export class QueueAdmission {
  readonly #time: AdmissionTime;
  readonly #queues = new Map<string, QueueLoad>();
  readonly #taken = new Map<string, number>();
  #retryAt: number | null = null;

  constructor(loads: readonly QueueLoad[], time: AdmissionTime) {
    this.#time = time;
    for (const load of loads) this.#queues.set(load.name, load);
  }

  /** When the first task that was refused can be tried again; null: none was refused. */
  get retryAt(): number | null {
    return this.#retryAt;
  }

  admit(task: QueuedTask): boolean {
    const load = this.#queues.get(task.name);
    if (load === undefined) return true;
    const { rule, running, admitted } = load;
    const { concurrency = Infinity, perKey = Infinity, rate } = rule ?? {};
    const slots = this.#count("slots", task.name);
    const ofKey = this.#count("key", task.name, task.key);
    const admissions = this.#count("rate", task.name);
    const needsAdmission = rate !== undefined && !task.isDeferred;
    if (needsAdmission && admitted + admissions.count >= rate.count) {
      // What this request took counts longer than every earlier admission.
      this.#refuse(load.admitsAgainAt ?? admissionEnd(rate, this.#time) + Math.ceil(rate.perMs));
      return false;
    }
    if (!task.holdsSlot) {
      const isFull =
        running + slots.count >= concurrency ||
        (load.runningByKey.get(task.key) ?? 0) + ofKey.count >= perKey;
      if (isFull) {
        this.#refuse(this.#time.now + SLOT_POLL_MS);
        return false;
      }
      slots.add();
      ofKey.add();
    }
    if (needsAdmission) admissions.add();
    return true;
  }

  /** Tasks of this queue are due, and the queue is not open. */
  holdBack(load: QueueLoad): void {
    const { rule, admitted, admitsAgainAt } = load;
    const isRateUsed = rule?.rate !== undefined && admitted >= rule.rate.count;
    this.#refuse(
      isRateUsed && admitsAgainAt !== null ? admitsAgainAt : this.#time.now + SLOT_POLL_MS,
    );
  }

  #count(...subject: readonly string[]): { readonly count: number; add(): void } {
    const id = JSON.stringify(subject);
    const count = this.#taken.get(id) ?? 0;
    return { count, add: () => void this.#taken.set(id, count + 1) };
  }

  #refuse(retryAt: number): void {
    this.#retryAt = Math.min(this.#retryAt ?? retryAt, retryAt);
  }
}

// Unclaimed work: tasks and instances that no live runtime can take. They are logged, and failed if the
// options say so (semantics 14).
//   - The check runs only while something waits, and at most once per LOOK_MS.
//   - A kind of work is logged when it has waited for PATIENCE_MS, then again every REPEAT_MS, with its
//     name, its tags and the live runtimes. At most KINDS_MAX kinds are remembered (I12). Work that this
//     process itself requests and does not register is checked at once, at most once per LOOK_MS and
//     kind.
//   - Repair calls of runtimes that are gone are deleted (lost-repairs.ts).
//   - Work fails only if no runtime registers its name. Work that lacks a worker with its tags does not
//     fail, because such a worker may still start.

import {
  registeredWork,
  unclaimedReason,
  type UnclaimedReason,
  type RegisteredWork,
} from "../../core/define/work-matching.ts";
import type { WaitingRecord } from "../../core/provider/admin.ts";
import type { RuntimeRecord, WorkSummary } from "../../core/provider/runtimes.ts";
import type { RuntimeContext } from "../context.ts";
import { deleteLostRepairs } from "./lost-repairs.ts";
import { failUnregistered } from "./unregistered.ts";

const LOOK_MS = 5_000;
const PATIENCE_MS = 5_000;
const REPEAT_MS = 300_000;
const KINDS_MAX = 100;
/** How long a failed task is left to other runtimes that could take it (semantics 10). */
const AVOID_MS = 1_000;

export class Unclaimed {
  readonly #runtime: RuntimeContext;
  readonly #reportedAt = new Map<string, number>();
  readonly #checkedAt = new Map<string, number>();
  #lookedAt = -Infinity;
  #avoidMs = 0;

  constructor(runtime: RuntimeContext) {
    this.#runtime = runtime;
  }

  /**
   * How long a task that failed here is left to other runtimes; 0 if no other runtime takes the same
   * tasks.
   */
  get avoidMs(): number {
    return this.#avoidMs;
  }

  /**
   * This process requested an activity or orchestration that is not registered here. Another worker may
   * register it.
   */
  requested(kind: WaitingRecord): void {
    this.#check(kind).catch(this.#runtime.onStoreError);
  }

  async #check(kind: WaitingRecord): Promise<void> {
    const now = this.#runtime.monotonic();
    const key = keyOf(kind);
    if (now - (this.#checkedAt.get(key) ?? -Infinity) < LOOK_MS) return;
    remember(this.#checkedAt, key, now);
    const runtimes = await this.#runtime.provider.listRuntimes();
    const works = runtimes.flatMap((runtime) => registeredWork(runtime) ?? []);
    const why = unclaimedReason(kind, works);
    if (why !== undefined) this.#report(kind, why, runtimes, now);
  }

  /** Handles the result of the periodic check of the store. */
  async onSummary({ instances, tasks, runtimes }: WorkSummary): Promise<void> {
    const { id, registered } = this.#runtime;
    this.#avoidMs = hasPeer(registered, id, runtimes) ? AVOID_MS : 0;
    if (instances || tasks) await this.#look(runtimes);
  }

  /** Something waits, and these runtimes are registered. */
  async #look(runtimes: readonly RuntimeRecord[]): Promise<void> {
    const now = this.#runtime.monotonic();
    if (now - this.#lookedAt < LOOK_MS) return;
    this.#lookedAt = now;
    const { provider, options } = this.#runtime;
    const { unregistered: waitMs } = options; // null: unregistered work waits
    const works = runtimes.flatMap((runtime) => registeredWork(runtime) ?? []);
    const waiting = await provider.readWaiting();
    await deleteLostRepairs(provider, waiting, runtimes);
    for (const kind of waiting) {
      const waitedMs = provider.now() - kind.oldestAt;
      if (waitedMs < PATIENCE_MS && waitMs === null) continue;
      const why = unclaimedReason(kind, works);
      if (why === undefined) continue;
      if (waitedMs >= PATIENCE_MS) this.#report(kind, why, runtimes, now);
      if (why.code === "unregistered" && waitMs !== null) {
        await failUnregistered(this.#runtime, waitMs, kind, why.message);
      }
    }
  }

  #report(
    kind: WaitingRecord,
    why: UnclaimedReason,
    runtimes: readonly RuntimeRecord[],
    now: number,
  ): void {
    const key = keyOf(kind);
    const last = this.#reportedAt.get(key);
    if (last !== undefined && now - last < REPEAT_MS) return;
    remember(this.#reportedAt, key, now);
    const fix = why.code === "unregistered" ? "; add it to `register`" : "";
    this.#runtime.log("warn", `${why.message}${fix}`, {
      ...(kind.kind === "task"
        ? { activity: kind.name, tags: kind.tags }
        : { target: kind.target }),
      since: new Date(kind.oldestAt).toISOString(),
      alive: runtimes.map(({ nodeId }) => nodeId),
    });
  }
}

function keyOf(kind: WaitingRecord): string {
  return JSON.stringify(kind.kind === "task" ? [kind.name, ...kind.tags] : { target: kind.target });
}

/** Forgets the oldest entry beyond KINDS_MAX. */
function remember(times: Map<string, number>, key: string, now: number): void {
  times.delete(key);
  times.set(key, now);
  if (times.size <= KINDS_MAX) return;
  const [oldest] = times.keys();
  if (oldest !== undefined) times.delete(oldest);
}

/** Whether another live runtime can take every task that this one can take. */
function hasPeer(own: RegisteredWork, ownId: string, runtimes: readonly RuntimeRecord[]): boolean {
  const tags = JSON.stringify(own.tags);
  return runtimes.some((runtime) => {
    if (runtime.id === ownId) return false;
    const work = registeredWork(runtime);
    if (work === undefined || JSON.stringify(work.tags) !== tags) return false;
    return own.activities.every((name) => work.activities.includes(name));
  });
}

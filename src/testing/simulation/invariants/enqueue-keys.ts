// Invariants 27 and 31: jobs under one key, seen from the store.
//   27. At most one job of a unique key is pending or running; one more may wait for its end, with a start that is not due.
//   31. A throttle window starts one job, and one more if its calls allow a trailing one.

import type { EnqueueItem } from "../../../core/provider/enqueue.ts";
import { isTerminalStatus } from "../../../core/provider/instances.ts";
import type { Provider } from "../../../core/provider/provider.ts";
import type { Carried } from "../calls.ts";

/** A start that waits for the end of another job is due at the end of time. */
const NEVER = 8.64e15;

export class EnqueueKeys {
  /** The jobs that were inserted under each unique key. */
  readonly #unique = new Map<string, Set<string>>();
  /** When jobs were inserted under each throttle key, by the store's clock. Without cancelled ones. */
  readonly #throttled = new Map<string, Map<string, number>>();
  #now = -Infinity;

  see(call: Carried): readonly string[] {
    if (call.now < this.#now) this.#throttled.clear(); // the clock went back: a window may be over
    this.#now = call.now;
    if (call.method !== "commit") return [];
    const found: string[] = [];
    for (const [index, item] of call.args[0].entries()) {
      const result = call.result[index];
      // A trailing job that is cancelled before it begins does not count: the next call inserts another one.
      if (item.kind === "cancel")
        for (const times of this.#throttled.values()) times.delete(item.id);
      if (item.kind !== "enqueue" || result?.kind !== "started") continue;
      const { key, start } = item;
      if (key.kind === "unique") this.#idsOf(nameOf(item)).add(start.id);
      if (key.kind !== "throttle") continue;
      const times = this.#throttled.get(nameOf(item)) ?? new Map<string, number>();
      this.#throttled.set(nameOf(item), times.set(start.id, call.now));
      const { perMs, trailing } = key;
      const recent = [...times.values()].filter((time) => time > call.now - perMs).length;
      if (recent > (trailing ? 2 : 1)) {
        found.push(`${nameOf(item)} started ${recent} jobs within ${perMs} ms`);
      }
    }
    return found;
  }

  /** Checks the keys of these instances. */
  async check(touched: ReadonlySet<string>, store: Provider): Promise<readonly string[]> {
    const found: string[] = [];
    for (const [name, ids] of this.#unique) {
      if (![...ids].some((id) => touched.has(id))) continue;
      const live: string[] = [];
      let waiting = 0;
      for (const id of ids) {
        const record = await store.readInstance(id);
        if (record === null || isTerminalStatus(record.status)) continue;
        const inbox = await store.readInbox(record.key);
        const waits = inbox.some(({ kind, visibleAt }) => kind === "start" && visibleAt >= NEVER);
        if (waits) waiting++;
        else live.push(id);
      }
      if (live.length > 1) found.push(`${live.join(" and ")} of ${name} are pending or running`);
      if (waiting > 1) found.push(`${waiting} jobs wait for the end of a job of ${name}`);
      if (waiting > 0 && live.length === 0) found.push(`a job of ${name} waits for no other job`);
    }
    return found;
  }

  #idsOf(name: string): Set<string> {
    const ids = this.#unique.get(name) ?? new Set();
    this.#unique.set(name, ids);
    return ids;
  }
}

function nameOf({ start, key }: EnqueueItem): string {
  return `${start.name} with the ${key.kind} key "${key.key}"`;
}

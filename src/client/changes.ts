// Change notifications for instances: the provider notifies, and a slow timer covers lost notifications.
//   - A change wakes every watcher that subscribed before it.
//   - Without watchers there is no subscription and no timer.
//   - changes.1: The timer wakes every watcher once per second, and each woken watcher reads the store.
//        It wakes at most WOKEN_MAX watched instances at a time, those that were not woken for the longest
//        time first. So it causes at most 1,000 reads per second.
//   - changes.2: Instances that this process has just started are remembered as unchanged until the first
//        notification about them, at most UNCHANGED_MAX. They need no timer.
//   - changes.3: A change of an instance wakes all its watchers. Apart from that, a watcher of its state is
//        woken by progress, and a watcher of its streams by new entries. A failed call settles nothing, but its
//        items are no longer open: a watcher of settled items is also woken by messages that are due.

import { ChurningMap, ChurningSet } from "../core/collections/churning-map.ts";
import type { Environment, TimerHandle } from "../core/time/environment.ts";
import type { News } from "../core/provider/notifications.ts";
import type { Provider } from "../core/provider/provider.ts";

/** The interval of the timer (changes.1). */
const SAFETY_INTERVAL_MS = 1_000;
const WOKEN_MAX = 1_000;

/** How many instances are remembered as unchanged (I12). */
const UNCHANGED_MAX = 1_000;

/** What a watcher wants to know of an instance (changes.3). */
export type Watched = "state" | "streams" | "settled";
const IN_PROGRESS = ["state"] as const;
const IN_STREAMS = ["streams", "settled"] as const;
const IN_SETTLED = ["settled"] as const;
interface Watcher {
  readonly woken: () => void;
  readonly watched: Watched;
}

type Notifier = Pick<Provider, "environment" | "subscribe">;

/** One per provider, shared by all its clients. */
export class Changes {
  static readonly #all = new WeakMap<Notifier, Changes>();
  static of(provider: Notifier): Changes {
    let changes = this.#all.get(provider);
    if (changes === undefined) this.#all.set(provider, (changes = new Changes(provider)));
    return changes;
  }

  readonly #provider: Notifier;
  readonly #environment: Environment;
  /** By instance id. The first was not woken by the timer for the longest time (changes.1). */
  readonly #watchers = new ChurningMap<string, Set<Watcher>>();
  /** Ids, in the order in which they were added (changes.2). */
  readonly #unchanged = new ChurningSet<string>();
  #unsubscribe: (() => void) | null = null;
  #timer: TimerHandle | null = null;

  private constructor(provider: Notifier) {
    this.#provider = provider;
    this.#environment = provider.environment;
  }

  /** Calls `woken` whenever the instance may have changed. Call the returned function to unsubscribe. */
  watch(id: string, woken: () => void, watched: Watched = "state"): () => void {
    const watcher = { woken, watched };
    let watchers = this.#watchers.get(id);
    if (watchers === undefined) this.#watchers.set(id, (watchers = new Set()));
    watchers.add(watcher);
    this.#begin();
    return () => {
      const set = this.#watchers.get(id);
      set?.delete(watcher);
      if (set?.size === 0) this.#watchers.delete(id);
      if (this.#watchers.size === 0) this.#end();
    };
  }

  /** Remembers that nothing has happened to the instance so far (changes.2). */
  addUnchanged(id: string): void {
    this.#subscribe();
    this.#unchanged.add(id);
    if (this.#unchanged.size <= UNCHANGED_MAX) return;
    const [oldest] = this.#unchanged;
    if (oldest !== undefined) this.#unchanged.delete(oldest);
  }

  /** Whether the instance is still remembered as unchanged. It is forgotten with this call. */
  takeUnchanged(id: string): boolean {
    return this.#unchanged.delete(id);
  }

  #subscribe(): void {
    this.#unsubscribe ??= this.#provider.subscribe((news) => this.#onNotification(news));
  }

  #begin(): void {
    this.#subscribe();
    this.#timer ??= this.#environment.setTimer(SAFETY_INTERVAL_MS, () => {
      this.#timer = null;
      this.#wakeLongest();
      if (this.#watchers.size > 0) this.#begin();
    });
  }

  #end(): void {
    this.#timer?.cancel();
    this.#timer = null;
    if (this.#unchanged.size > 0) return;
    this.#unsubscribe?.();
    this.#unsubscribe = null;
  }

  #onNotification(news: News): void {
    if (news.elsewhere) {
      this.#unchanged.clear();
      return this.#wakeAll();
    }
    for (const id of news.changed) {
      this.#unchanged.delete(id);
      this.#wake(id);
    }
    for (const id of news.progressed ?? []) this.#wake(id, IN_PROGRESS);
    for (const id of news.streamed ?? []) this.#wake(id, IN_STREAMS);
    for (const id of news.due) this.#wake(id, IN_SETTLED);
  }

  /** changes.1 */
  #wakeLongest(): void {
    const longest = [...this.#watchers.keys()].slice(0, WOKEN_MAX);
    for (const id of longest) {
      const watchers = this.#watchers.get(id);
      if (watchers === undefined) continue; // unsubscribed in the meantime
      this.#watchers.delete(id);
      this.#watchers.set(id, watchers);
      this.#wake(id);
    }
  }

  #wakeAll(): void {
    for (const id of [...this.#watchers.keys()]) this.#wake(id);
  }

  /** `only`: what a watcher must watch to be woken. Null: anything. */
  #wake(id: string, only: readonly Watched[] | null = null): void {
    const watchers = this.#watchers.get(id);
    if (watchers === undefined) return;
    for (const { woken, watched } of [...watchers]) {
      if (only === null || only.includes(watched)) woken();
    }
  }
}

// Group commit: everything asked for while a commit is under way travels in the next one.
//   GC1. One commit of a provider is in flight at a time; items of one instance keep their order (P7).
//   GC2. A group is bounded by its items and its bytes (commit-queue.ts); the rest wait for the next.
//   GC3. An error never reaches the asker: after it each item is settled by its own id (I14), what was not
//        written is sent again, with back-off and jitter, for as long as it takes (P6).
//   GC4. A caller's promise resolves after the commit that holds its item has returned (I13).
//   GC5. An item that somebody outside keeps from being written is sent again by itself, beside the groups: nobody
//        waits with it (semantics 32).
//   GC6. To a store elsewhere the next group is on its way before the answers of the last are worked on: the store and
//        this process work at the same time. Answers keep the order of their groups.

import { CommitQueue } from "./commit-queue.ts";
import type { Environment } from "./environment.ts";
import { PerdureError } from "./errors.ts";
import type {
  CommitItem,
  CommitResult,
  ResultOf,
  StartItem,
  StartResult,
} from "./provider/commit.ts";
import type { Provider } from "./provider/provider.ts";

const BACKOFF_BASE_MS = 100;
const BACKOFF_MAX_MS = 3_000;

export interface Lease {
  readonly owner: string;
  readonly token: number;
  readonly leaseMs?: number;
}
/** A runtime in this process that takes a new instance at once, before it is even in the store. */
export interface StartAdopter {
  offer(item: StartItem): Lease | null;
  settled(item: StartItem, result: StartResult): void;
}
export type TroubleListener = (error: unknown, attempt: number) => void;

export type GroupListener = (items: number, durationMs: number, failed: boolean) => void;

interface Pending {
  readonly item: CommitItem;
  readonly resolve: (result: CommitResult) => void;
  readonly reject: (reason: unknown) => void;
}

export class Committer {
  static readonly #committers = new WeakMap<Provider, Committer>();

  /** The one committer of a provider, shared by every runtime and client on it. */
  static of(provider: Provider): Committer {
    let committer = this.#committers.get(provider);
    if (committer === undefined && !isOpenStore(provider)) {
      const message = "This needs an open store, such as await SqliteProvider.open(path).";
      throw new PerdureError("INVALID_ARGUMENT", message);
    }
    if (committer === undefined)
      this.#committers.set(provider, (committer = new Committer(provider)));
    return committer;
  }

  readonly adopters = new Set<StartAdopter>();
  readonly onTrouble = new Set<TroubleListener>();
  /** Told about every group: its items, how long it took, whether it failed. */
  readonly onGroup = new Set<GroupListener>();
  /** By the instance's number. */
  readonly #turnWatchers = new Map<number, Set<() => void>>();
  readonly #provider: Provider;
  readonly #environment: Environment;
  readonly #queue = new CommitQueue<Pending>();
  #scheduled = false;
  #busy = false;
  /** Until when the answers of the last group wait; null: nobody's do. */
  #telling: Promise<void> | null = null;
  /** How many items are sent again by themselves. */
  #alone = 0;
  /** One for each group, and each item that is sent alone, that has no answer yet. */
  readonly #unanswered = new Set<Promise<void>>();
  #closed = false;

  private constructor(provider: Provider) {
    this.#provider = provider;
    this.#environment = provider.environment;
  }

  submit<Item extends CommitItem>(item: Item): Promise<ResultOf<Item>> {
    return new Promise<CommitResult>((resolve, reject) => {
      if (this.#closed) return reject(closed());
      this.#queue.add(item, { item, resolve, reject });
      this.#schedule();
    }) as Promise<ResultOf<Item>>; // the provider answers each item with its own kind of result
  }

  /** Starts an instance, born leased when a runtime here takes it. */
  async start(item: StartItem): Promise<StartResult> {
    let adopter: StartAdopter | undefined;
    let lease: Lease | null = null;
    for (adopter of this.adopters) if ((lease = adopter.offer(item)) !== null) break;
    if (lease === null || adopter === undefined) return this.submit(item);
    const leased = { ...item, lease };
    try {
      const result = await this.submit(leased);
      adopter.settled(leased, result);
      return result;
    } catch (error) {
      adopter.settled(leased, { kind: "refused", code: "INSTANCE_EXISTS" });
      throw error;
    }
  }

  /** Commits what is waiting now rather than at the next macrotask. False: nothing is, or a commit is under way. */
  flush(): boolean {
    if (this.#busy || this.#queue.length === 0) return false;
    this.#track(this.#commitGroups());
    return true;
  }

  /** Resolves when everything that was submitted before this call has its answer, and its caller has acted on it. */
  async answered(): Promise<void> {
    const next = this.#queue.added;
    const macrotask = (): Promise<void> =>
      new Promise((resolve) => this.#environment.immediate(resolve));
    while (this.#queue.holdsBefore(next)) {
      await (this.#unanswered.size > 0 ? Promise.race(this.#unanswered) : macrotask());
    }
    await Promise.all(this.#unanswered);
    await macrotask();
  }

  #track(work: Promise<void>): void {
    const tracked = work.finally(() => this.#unanswered.delete(tracked));
    this.#unanswered.add(tracked);
  }

  /** Whether nothing is waiting or under way. */
  get isIdle(): boolean {
    return !this.#busy && this.#alone === 0 && this.#queue.length === 0;
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  close(): void {
    this.#closed = true;
    for (const pending of this.#queue.takeAll()) pending.reject(closed());
  }

  #schedule(): void {
    if (this.#scheduled || this.#busy) return;
    this.#scheduled = true;
    this.#environment.immediate(() => {
      this.#scheduled = false;
      this.flush();
    });
  }

  async #commitGroups(): Promise<void> {
    this.#busy = true;
    const group = this.#queue.takeGroup();
    let isOver = false;
    const over = (): boolean => {
      if (isOver) return false;
      isOver = true;
      this.#busy = false;
      if (this.#provider.isRemote === true) return this.flush();
      if (this.#queue.length > 0) this.#schedule();
      return false;
    };
    try {
      for (const pending of await this.#commit(group, over))
        this.#track(this.#commitAlone(pending));
    } finally {
      over();
    }
  }

  /** GC5 */
  async #commitAlone(pending: Pending): Promise<void> {
    this.#alone += 1;
    let busy: readonly Pending[] = [pending];
    for (let attempt = 0; busy.length > 0; attempt++) {
      await this.#backOff(attempt);
      if (this.#closed) {
        rejectAll(busy);
        break;
      }
      busy = await this.#commit(busy);
    }
    this.#alone -= 1;
  }

  /**
   * Those that somebody outside keeps from being written are handed back. `over` is called before anybody is told, and says
   * whether another group left.
   */
  async #commit(
    group: readonly Pending[],
    over: () => boolean = () => false,
  ): Promise<readonly Pending[]> {
    let waiting = group;
    for (let attempt = 0; waiting.length > 0; attempt++) {
      try {
        const results = await this.#write(waiting);
        await this.#letNextOut(over);
        const busy = answer(waiting, results);
        if (this.#turnWatchers.size > 0) this.#tellTurns(waiting, results);
        return busy;
      } catch (error) {
        if (this.#closed) return rejectAll(waiting);
        for (const listener of this.onTrouble) listener(error, attempt + 1);
        await this.#backOff(attempt);
        if (this.#closed) return rejectAll(waiting);
        waiting = await this.#settle(waiting);
      }
    }
    return [];
  }

  /** Calls back after every turn of an instance that goes through here; costs nothing while nobody watches. */
  watchTurns(key: number, told: () => void): () => void {
    const watchers = this.#turnWatchers.get(key) ?? new Set();
    this.#turnWatchers.set(key, watchers.add(told));
    return () => {
      watchers.delete(told);
      if (watchers.size === 0) this.#turnWatchers.delete(key);
    };
  }

  #tellTurns(group: readonly Pending[], results: readonly CommitResult[]): void {
    for (const [index, { item }] of group.entries()) {
      if (item.kind !== "turn" || results[index]?.kind !== "committed") continue;
      for (const told of [...(this.#turnWatchers.get(item.key) ?? [])]) told();
    }
  }

  async #write(group: readonly Pending[]): Promise<readonly CommitResult[]> {
    const items = group.map(({ item }) => item);
    if (this.onGroup.size === 0) return this.#provider.commit(items);
    const began = this.#environment.monotonic();
    let failed = true;
    try {
      const results = await this.#provider.commit(items);
      failed = false;
      return results;
    } finally {
      const durationMs = this.#environment.monotonic() - began;
      for (const listener of this.onGroup) listener(items.length, durationMs, failed);
    }
  }

  /** What of a group whose commit threw is still to be written. */
  async #settle(group: readonly Pending[]): Promise<readonly Pending[]> {
    const unwritten: Pending[] = [];
    for (const [index, pending] of group.entries()) {
      for (let attempt = 0; ; attempt++) {
        try {
          const result = await this.#provider.settle(pending.item);
          if (result === null) unwritten.push(pending);
          else answer([pending], [result]);
          break;
        } catch (error) {
          if (this.#closed) {
            rejectAll([...unwritten, ...group.slice(index)]);
            return [];
          }
          for (const listener of this.onTrouble) listener(error, attempt + 1);
          await this.#backOff(attempt);
        }
      }
    }
    return unwritten;
  }

  /** GC6: the next group needs a macrotask to find its way out; and whoever was written before is told before. */
  async #letNextOut(over: () => boolean): Promise<void> {
    const before = this.#telling;
    if (over()) {
      const waits = new Promise<void>((resolve) => this.#environment.immediate(resolve));
      this.#telling = Promise.all([before, waits]).then(() => undefined);
      await this.#telling;
    } else if (before !== null) {
      await before;
      if (this.#telling === before) this.#telling = null;
    }
  }

  #backOff(attempt: number): Promise<void> {
    return backOff(this.#environment, attempt);
  }
}

/** A provider that was never awaited is the usual one that is not. */
function isOpenStore(provider: Partial<Provider> | null | undefined): boolean {
  return typeof provider?.commit === "function" && provider.environment !== undefined;
}

export function backOff(environment: Environment, attempt: number): Promise<void> {
  const delayMs = backOffMs(environment, attempt);
  return new Promise((resolve) => environment.setTimer(delayMs, resolve));
}

/** 100 ms · 2ⁿ up to 3 s, spread downward by up to a half (P6). */
export function backOffMs(environment: Environment, attempt: number): number {
  const delay = Math.min(BACKOFF_BASE_MS * 2 ** Math.min(attempt, 10), BACKOFF_MAX_MS);
  return delay * (1 - environment.random() / 2);
}

/** Those that have no answer yet. */
function answer(group: readonly Pending[], results: readonly CommitResult[]): Pending[] {
  const busy: Pending[] = [];
  for (const [index, pending] of group.entries()) {
    const result = results[index];
    if (result === undefined)
      throw new Error("The provider answered fewer items than it was given.");
    if (result.kind === "error") pending.reject(result.error);
    else if (result.kind === "busy") busy.push(pending);
    else pending.resolve(result);
  }
  return busy;
}

function rejectAll(group: readonly Pending[]): [] {
  for (const pending of group) pending.reject(closed());
  return [];
}

function closed(): PerdureError {
  return new PerdureError("SHUTTING_DOWN", "Perdure was closed before this was written.");
}

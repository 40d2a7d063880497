// The begin window: how many instances of one name and priority may wait here for a slot before no more of them begin.
//   BW1. An instance counts from its first lease to the commit of its first turn, and while an activity or step of it
//        waits for a slot of this runtime. When as many count as the window holds, new instances of that name and
//        priority stay pending in the store, and those of other names pass them. Instances that have begun are leased
//        as always. While none waits for a slot, FIRST_TURNS_MIN may be in their first turn, however small the window.
//   BW2. An instance that waits for a timer, an event, a child or a retry does not count. It may wait for an instance
//        that has not begun.
//   BW3. An instance counts for at most HOLD_MS. A slot may be taken by work that waits for an instance that has not
//        begun, or the work may run on another runtime. A timer asks again when the oldest one stops counting.
//   BW4. Tasks leave the queue in order. A task that this runtime takes shows that the tasks queued before it are taken.
//        An empty queue shows that all of them are taken.
//   BW5. An instance that leaves the cache while its task is queued still counts: the task still waits.

import type { InstanceCut } from "../core/provider/instances.ts";
import type { HeldInstance } from "./held-instance.ts";
import type { Registry } from "./registry.ts";

export const HOLD_MS = 5_000;
export const FIRST_TURNS_MIN = 256;

export interface BeginWindowOptions {
  /** How many instances of one name and priority may wait. */
  readonly size: number;
  readonly registry: Pick<Registry, "targetsOf">;
  readonly monotonic: () => number;
  /** Instances that were held back may begin. */
  readonly onOpen: () => void;
  /** Instances are held back, and may begin after this many milliseconds at the latest. */
  readonly onFull: (opensInMs: number) => void;
}

/** What an instance waits for: the queue of tasks, or a slot for a step. */
type Waited = "task" | "step";
interface Waiting {
  readonly since: number;
  readonly slot: Waited;
}
/** The instances of one name and priority, by key, the first one first. */
interface Kind {
  readonly name: string;
  readonly priority: number;
  /** In their first turn, each with the time of its lease. */
  readonly beginning: Map<number, number>;
  readonly waiting: Map<number, Waiting>;
  /** Whether instances were left pending since the last `onOpen`. */
  holdsBack: boolean;
}
type Counted = Pick<HeldInstance, "key" | "name" | "priority">;

export class BeginWindow {
  readonly #o: BeginWindowOptions;
  readonly #kinds = new Map<string, Kind>();
  /** The kind of each instance that counts. */
  readonly #kindOf = new Map<number, Kind>();

  constructor(options: BeginWindowOptions) {
    this.#o = options;
  }

  /** Whether a new instance of this kind must stay pending. */
  isFull(name: string, priority: number): boolean {
    const kind = this.#kinds.get(kindKey(name, priority));
    if (kind === undefined || !this.#isFull(kind)) return false;
    this.#expire(kind);
    if (!this.#isFull(kind)) return false;
    kind.holdsBack = true;
    this.#o.onFull(oldestOf(kind) + HOLD_MS - this.#o.monotonic()); // BW3
    return true;
  }

  /** What a request for instances must leave pending. */
  heldBack(): readonly InstanceCut[] {
    const cuts: InstanceCut[] = [];
    for (const { name, priority } of [...this.#kinds.values()]) {
      if (!this.isFull(name, priority)) continue;
      for (const target of this.#o.registry.targetsOf(name)) cuts.push({ target, priority });
    }
    return cuts;
  }

  isWaiting({ key }: Counted): boolean {
    return this.#kindOf.get(key)?.waiting.has(key) === true;
  }

  /** The instance was leased to begin. */
  begins(held: Counted): void {
    this.#kind(held).beginning.set(held.key, this.#o.monotonic());
  }

  /** The first turn of the instance is committed. */
  hasBegun({ key }: Counted): void {
    const kind = this.#kindOf.get(key);
    if (kind?.beginning.delete(key) === true) this.#shrunk(kind, [key]);
  }

  /** Work of the instance waits for a slot of this runtime. */
  waits(held: Counted, slot: Waited): void {
    const { beginning, waiting } = this.#kind(held);
    beginning.delete(held.key);
    waiting.delete(held.key); // it is the last in order now
    waiting.set(held.key, { since: this.#o.monotonic(), slot });
  }

  /** The instance is over, waits for something else, or is leased to another runtime. */
  remove({ key }: Counted): void {
    const kind = this.#kindOf.get(key);
    if (kind === undefined) return;
    kind.beginning.delete(key);
    kind.waiting.delete(key);
    this.#shrunk(kind, [key]);
  }

  /** A task of this instance was taken from the queue (BW4). */
  taken(key: number): void {
    const kind = this.#kindOf.get(key);
    if (kind?.waiting.has(key) !== true) return;
    const gone: number[] = [];
    for (const earlier of kind.waiting.keys()) {
      gone.push(earlier);
      if (earlier === key) break;
    }
    this.#stopWaiting(kind, gone);
  }

  /** The queue had no more tasks for this runtime at that time (BW4). */
  queueWasEmpty(at: number): void {
    for (const kind of [...this.#kinds.values()]) {
      const gone = [...kind.waiting].filter(([, { since, slot }]) => slot === "task" && since < at);
      this.#stopWaiting(
        kind,
        gone.map(([key]) => key),
      );
    }
  }

  #isFull({ beginning, waiting }: Kind): boolean {
    const { size } = this.#o;
    const most = waiting.size > 0 ? size : Math.max(size, FIRST_TURNS_MIN);
    return beginning.size + waiting.size >= most;
  }

  #kind({ key, name, priority }: Counted): Kind {
    const id = kindKey(name, priority);
    const kind = this.#kinds.get(id) ?? {
      name,
      priority,
      beginning: new Map<number, number>(),
      waiting: new Map<number, Waiting>(),
      holdsBack: false,
    };
    this.#kinds.set(id, kind);
    this.#kindOf.set(key, kind);
    return kind;
  }

  /** BW3 */
  #expire(kind: Kind): void {
    const limit = this.#o.monotonic() - HOLD_MS;
    const gone: number[] = [];
    for (const [key, since] of kind.beginning) {
      if (since > limit) break;
      kind.beginning.delete(key);
      gone.push(key);
    }
    for (const [key, { since }] of kind.waiting) {
      if (since > limit) break;
      kind.waiting.delete(key);
      gone.push(key);
    }
    this.#shrunk(kind, gone);
  }

  #stopWaiting(kind: Kind, keys: readonly number[]): void {
    for (const key of keys) kind.waiting.delete(key);
    if (keys.length > 0) this.#shrunk(kind, keys);
  }

  #shrunk(kind: Kind, keys: readonly number[]): void {
    const { name, priority, beginning, waiting } = kind;
    for (const key of keys) {
      if (!beginning.has(key) && !waiting.has(key)) this.#kindOf.delete(key);
    }
    if (beginning.size + waiting.size === 0) this.#kinds.delete(kindKey(name, priority));
    if (!kind.holdsBack || this.#isFull(kind)) return;
    kind.holdsBack = false;
    this.#o.onOpen();
  }
}

function oldestOf({ beginning, waiting }: Kind): number {
  const [began = Infinity] = beginning.values();
  const [waited] = waiting.values();
  return Math.min(began, waited?.since ?? Infinity);
}

function kindKey(name: string, priority: number): string {
  return `${priority} ${name}`;
}

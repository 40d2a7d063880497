// The begin window: a limit on the instances of one name and priority that wait for a slot of this
// runtime. At the limit, no more of them begin.
//   - begin-window.1: An instance counts from its first lease to the commit of its first turn. It also
//     counts while an activity or step of it waits for a slot of this runtime. When the window is full,
//     new instances of that name and priority stay pending in the store, and instances of other names
//     overtake them. The window does not limit instances that have already begun. While no instance waits
//     for a slot, up to FIRST_TURNS_MIN instances may be in their first turn, even if the window is
//     smaller.
//   - An instance that waits for a timer, an event, a child or a retry does not count. It may wait for an
//     instance that has not begun, and counting it could then block both.
//   - begin-window.2: An instance counts for at most HOLD_MS. The slot may be occupied by work that waits
//     for an instance that has not begun, or the task may run on another runtime. A timer polls again
//     when the oldest instance stops counting.
//   - begin-window.3: Tasks leave the queue in order. When this runtime takes a task, all tasks queued
//     before it have been taken. When the queue is empty, all tasks have been taken.
//   - begin-window.4: An instance that leaves the cache while its task is queued still counts, because
//     the task still waits.

import { ChurningMap } from "../../core/collections/churning-map.ts";
import type { InstanceCut } from "../../core/provider/instances.ts";
import type { HeldInstance } from "./held-instance.ts";
import type { RuntimeContext } from "../context.ts";

export const HOLD_MS = 5_000;
export const FIRST_TURNS_MIN = 256;

export interface BeginWindowContext extends Pick<RuntimeContext, "monotonic"> {
  /** `leaseBatch` is the limit of waiting instances per name and priority. */
  readonly options: Pick<RuntimeContext["options"], "leaseBatch">;
  readonly registry: Pick<RuntimeContext["registry"], "targetsOf">;
  readonly intake: Pick<RuntimeContext["intake"], "wakeFor" | "wakeInstancesIn">;
}

/** What an instance waits for: the queue of tasks, or a slot for a step. */
type Waited = "task" | "step";
interface Waiting {
  readonly since: number;
  readonly slot: Waited;
}
/** The instances of one name and priority, by key, in the order in which they began to count. */
interface Kind {
  readonly name: string;
  readonly priority: number;
  /** Instances in their first turn, each with the time of its lease. */
  readonly beginning: ChurningMap<number, number>;
  readonly waiting: ChurningMap<number, Waiting>;
  /** Whether instances have stayed pending since the window last opened. */
  holdsBack: boolean;
}
type Counted = Pick<HeldInstance, "key" | "name" | "priority">;

export class BeginWindow {
  readonly #runtime: BeginWindowContext;
  readonly #kinds = new ChurningMap<string, Kind>();
  /** The kind of each instance that counts. */
  readonly #kindOf = new ChurningMap<number, Kind>();

  constructor(runtime: BeginWindowContext) {
    this.#runtime = runtime;
  }

  /** Whether a new instance of this kind must stay pending. */
  isFull(name: string, priority: number): boolean {
    const kind = this.#kinds.get(kindKey(name, priority));
    if (kind === undefined || !this.#isFull(kind)) return false;
    this.#expire(kind);
    if (!this.#isFull(kind)) return false;
    kind.holdsBack = true;
    const opensInMs = oldestOf(kind) + HOLD_MS - this.#runtime.monotonic();
    this.#runtime.intake.wakeInstancesIn(opensInMs); // begin-window.2
    return true;
  }

  /** Targets that a lease request must leave pending. */
  heldBack(): readonly InstanceCut[] {
    const cuts: InstanceCut[] = [];
    for (const { name, priority } of [...this.#kinds.values()]) {
      if (!this.isFull(name, priority)) continue;
      for (const target of this.#runtime.registry.targetsOf(name)) cuts.push({ target, priority });
    }
    return cuts;
  }

  isWaiting({ key }: Counted): boolean {
    return this.#kindOf.get(key)?.waiting.has(key) === true;
  }

  /** The instance was leased to begin. */
  begins(held: Counted): void {
    this.#kind(held).beginning.set(held.key, this.#runtime.monotonic());
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
    waiting.delete(held.key); // moves the key to the end of the order
    waiting.set(held.key, { since: this.#runtime.monotonic(), slot });
  }

  /** The instance is over, waits for something else, or is leased to another runtime. */
  remove({ key }: Counted): void {
    const kind = this.#kindOf.get(key);
    if (kind === undefined) return;
    kind.beginning.delete(key);
    kind.waiting.delete(key);
    this.#shrunk(kind, [key]);
  }

  /** A task of this instance was taken from the queue (begin-window.3). */
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

  /** The queue had no more tasks for this runtime at that time (begin-window.3). */
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
    const { leaseBatch: size } = this.#runtime.options;
    const most = waiting.size > 0 ? size : Math.max(size, FIRST_TURNS_MIN);
    return beginning.size + waiting.size >= most;
  }

  #kind({ key, name, priority }: Counted): Kind {
    const id = kindKey(name, priority);
    const kind = this.#kinds.get(id) ?? {
      name,
      priority,
      beginning: new ChurningMap<number, number>(),
      waiting: new ChurningMap<number, Waiting>(),
      holdsBack: false,
    };
    this.#kinds.set(id, kind);
    this.#kindOf.set(key, kind);
    return kind;
  }

  /** begin-window.2 */
  #expire(kind: Kind): void {
    const limit = this.#runtime.monotonic() - HOLD_MS;
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
    this.#runtime.intake.wakeFor("instances");
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

// The caller: maps random numbers to ids, leases and claims of the current state.
//   - It sometimes chooses a lease, a claim or an id that has ended, was never assigned or is missing.

import type { CommitItem, TaskClaim } from "../../../src/core/provider/index.ts";
import type { Hold } from "./calls.ts";
import type { ModelInstance, ModelStore } from "./model-store.ts";

export const OWNERS = ["runtime-a", "runtime-b", "runtime-c"] as const;
const IDS = ["a", "b", "c", "d", "e"] as const;
const LEASES = [undefined, 1_000, 10_000] as const;
const NOWHERE = 9_000_000;

type Chosen<Items extends readonly unknown[]> = Items extends readonly [unknown, ...unknown[]]
  ? Items[number]
  : Items[number] | undefined;

/** The state that a caller knows from earlier answers. */
export class Caller {
  readonly store: ModelStore;
  readonly seenMessages = new Set<number>();
  readonly pastItems: CommitItem[] = [];
  #holds: Held[] = [];
  #claims: TaskClaim[] = [];
  #picks: readonly number[] = [];
  #at = 0;
  #drawn = 1_000;

  constructor(store: ModelStore) {
    this.store = store;
  }

  choose(picks: readonly number[]): this {
    this.#picks = picks;
    this.#at = 0;
    return this;
  }

  next(): number {
    return this.#picks[this.#at++] ?? 0;
  }

  /** Undefined if the list is empty. */
  of<const Items extends readonly unknown[]>(items: Items): Chosen<Items> {
    return items[this.next() % Math.max(items.length, 1)] as Chosen<Items>;
  }

  /** True once in `times`. */
  oneIn(times: number): boolean {
    return this.next() % times === times - 1;
  }

  fresh(): number {
    return (this.#drawn += 1);
  }

  /** Usually the id of an existing instance. */
  id(): string {
    const existing = [...this.store.instances.keys()];
    if (this.oneIn(8)) return "missing";
    return (this.oneIn(6) ? undefined : this.of(existing)) ?? this.anyId();
  }

  anyId(): string {
    return this.of(IDS);
  }

  /** Usually an id that no instance has. */
  freeId(): string {
    const free = IDS.filter((id) => !this.store.instances.has(id));
    return (this.oneIn(4) ? undefined : this.of(free)) ?? this.anyId();
  }

  /** Usually a registered runtime. */
  owner(): string {
    const known = [...this.store.runtimes.keys()];
    return (this.oneIn(6) ? undefined : this.of(known)) ?? this.of(OWNERS);
  }

  leaseMs(): { readonly leaseMs?: number } {
    const leaseMs = LEASES[this.next() % LEASES.length];
    return leaseMs === undefined ? {} : { leaseMs };
  }

  /** A lease of an instance, usually a valid one. */
  hold(wrong = 4): Held {
    const held = [...this.store.instances.values()].flatMap(heldNow);
    const right = this.of(held) ?? this.of(this.#holds) ?? NO_HOLD;
    this.#holds = [...this.#holds.slice(-20), ...held];
    if (!this.oneIn(wrong)) return right;
    const past = this.of(this.#holds) ?? NO_HOLD;
    const variants: readonly [Held, ...Held[]] = [
      past,
      { ...right, token: this.fresh() },
      { ...right, lastEvent: Math.max(right.lastEvent - 1, 0) },
      { ...right, execution: right.execution + 1 },
      { ...right, key: NOWHERE },
    ];
    return this.of(variants);
  }

  /** A claim of a task, usually a valid one. */
  claim(of?: number): TaskClaim {
    const claims = [...this.store.instances.values()]
      .filter(({ record }) => of === undefined || record.key === of)
      .flatMap(claimsNow);
    const right = this.of(claims) ?? this.of(this.#claims) ?? NO_CLAIM;
    this.#claims = [...this.#claims.slice(-20), ...claims];
    if (!this.oneIn(3)) return right;
    return this.of([this.of(this.#claims) ?? NO_CLAIM, { ...right, token: this.fresh() }]);
  }
}

export interface Held extends Hold {
  readonly id: string;
  readonly runId: string;
  readonly owner: string;
  readonly execution: number;
  readonly lastEvent: number;
}
const NO_HOLD: Held = {
  ...{ key: NOWHERE, token: 1, id: "a", runId: "", owner: "runtime-a", execution: 1, lastEvent: 0 },
};
const NO_CLAIM: TaskClaim = { key: NOWHERE, execution: 1, sequence: 2, token: 1 };

function heldNow({ record, lease }: ModelInstance): readonly Held[] {
  if (lease === null) return [];
  const { key, id, runId, execution, lastEvent } = record;
  return [{ key, id, runId, execution, lastEvent, token: lease.token, owner: lease.owner }];
}
function claimsNow({ record: { key }, tasks }: ModelInstance): readonly TaskClaim[] {
  return tasks.flatMap(({ execution, sequence, lease }) =>
    lease === null ? [] : [{ key, execution, sequence, token: lease.token }],
  );
}

// The caller: what random numbers choose from, given what there is.
//   CA1. Beside the lease, the claim or the id that is right, now and then one is named that is over, was never given
//        or is missing.

import type { CommitItem, TaskClaim } from "../../src/core/provider/index.ts";
import type { Hold } from "./calls.ts";
import type { ModelInstance, ModelStore } from "./model-store.ts";

export const OWNERS = ["runtime-a", "runtime-b", "runtime-c"] as const;
const IDS = ["a", "b", "c", "d", "e"] as const;
const LEASES = [undefined, 1_000, 10_000] as const;
const NOWHERE = 9_000_000;

type Chosen<Items extends readonly unknown[]> = Items extends readonly [unknown, ...unknown[]]
  ? Items[number]
  : Items[number] | undefined;

/** What whoever calls has been told so far. */
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

  /** Undefined: there is none. */
  of<const Items extends readonly unknown[]>(items: Items): Chosen<Items> {
    return items[this.next() % Math.max(items.length, 1)] as Chosen<Items>;
  }

  /** One time in so many. */
  chance(times: number): boolean {
    return this.next() % times === times - 1;
  }

  fresh(): number {
    return (this.#drawn += 1);
  }

  /** Mostly one that exists. */
  id(): string {
    const existing = [...this.store.instances.keys()];
    if (this.chance(8)) return "nobody's";
    return (this.chance(6) ? undefined : this.of(existing)) ?? this.anyId();
  }

  anyId(): string {
    return this.of(IDS);
  }

  /** Mostly one that is registered. */
  owner(): string {
    const known = [...this.store.runtimes.keys()];
    return (this.chance(6) ? undefined : this.of(known)) ?? this.of(OWNERS);
  }

  leaseMs(): { readonly leaseMs?: number } {
    const leaseMs = LEASES[this.next() % LEASES.length];
    return leaseMs === undefined ? {} : { leaseMs };
  }

  /** A lease of an instance, mostly one that holds. */
  hold(wrong = 4): Held {
    const held = [...this.store.instances.values()].flatMap(heldNow);
    const right = this.of(held) ?? this.of(this.#holds) ?? NO_HOLD;
    this.#holds = [...this.#holds.slice(-20), ...held];
    if (!this.chance(wrong)) return right;
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

  /** A claim of a task, mostly one that holds. */
  claim(of?: number): TaskClaim {
    const claims = [...this.store.instances.values()]
      .filter(({ record }) => of === undefined || record.key === of)
      .flatMap(claimsNow);
    const right = this.of(claims) ?? this.of(this.#claims) ?? NO_CLAIM;
    this.#claims = [...this.#claims.slice(-20), ...claims];
    if (!this.chance(3)) return right;
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

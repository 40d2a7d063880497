// Unclaimed work: tasks and instances that no live runtime accepts. Computed on request, never stored
// (semantics 14).

import {
  registeredWork,
  unclaimedReason,
  type RegisteredWork,
} from "../../core/define/work-matching.ts";
import type { StoreMetrics } from "../../core/provider/admin.ts";
import type { InstanceRecord, TaskRecord } from "../../core/provider/index.ts";
import { parseTarget, targetText } from "../../core/ids/targets.ts";
import type { Store } from "../store.ts";

/** A kind of waiting work that no live runtime accepts. */
export type UnclaimedWork =
  | {
      readonly kind: "activity";
      readonly name: string;
      readonly tags: readonly string[];
      readonly since: Date;
      readonly reason: string;
    }
  | {
      readonly kind: "orchestration";
      readonly name: string;
      readonly version: string | undefined;
      readonly since: Date;
      readonly reason: string;
    };
/** Counts for the whole store, and the work that no live runtime accepts. */
export interface Metrics extends StoreMetrics {
  readonly unclaimed: readonly UnclaimedWork[];
}

export async function readMetrics(store: Store): Promise<Metrics> {
  const works = await liveWork(store);
  const waiting = await store.read((provider) => provider.readWaiting());
  const unclaimed = waiting.flatMap((kind): UnclaimedWork[] => {
    const why = unclaimedReason(kind, works);
    if (why === undefined) return [];
    const found = { since: new Date(kind.oldestAt), reason: why.message };
    if (kind.kind === "task") {
      return [{ kind: "activity", name: kind.name, tags: kind.tags, ...found }];
    }
    const { name, version } = parseTarget(kind.target);
    return [{ kind: "orchestration", name, version: version ?? undefined, ...found }];
  });
  const metrics = await store.read((provider) => provider.readMetrics());
  return { ...metrics, unclaimed };
}

/**
 * Why no live runtime accepts the tasks, by sequence number. Key 0: why no live runtime accepts the
 * instance.
 */
export async function findUnclaimed(
  store: Store,
  record: InstanceRecord,
  tasks: readonly TaskRecord[],
  until?: number,
): Promise<ReadonlyMap<number, string>> {
  const reasons = new Map<number, string>();
  const waiting = tasks.filter(
    ({ owner, availableAt }) => owner === null && availableAt <= store.provider.now(),
  );
  const isWaiting = record.owner === null && record.blocked === null && record.paused === null;
  if (waiting.length === 0 && !isWaiting) return reasons;
  const works = await liveWork(store, until);
  for (const { sequence, name, tags, availableAt: oldestAt } of waiting) {
    const why = unclaimedReason({ kind: "task", name, tags, oldestAt }, works);
    if (why !== undefined) reasons.set(sequence, why.message);
  }
  if (isWaiting) {
    const { name, version } = record;
    const target = version === null ? name : targetText(name, version, 1);
    const why = unclaimedReason({ kind: "instance", target, oldestAt: record.createdAt }, works);
    if (why !== undefined) reasons.set(0, why.message);
  }
  return reasons;
}

/** What the live runtimes register. */
export async function liveWork(store: Store, until?: number): Promise<readonly RegisteredWork[]> {
  const runtimes = await store.read((provider) => provider.listRuntimes(), until);
  return runtimes.flatMap((runtime) => registeredWork(runtime) ?? []);
}

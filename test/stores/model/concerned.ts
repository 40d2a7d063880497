// Concerned: the ids of the instances that an item may change.

import type { CommitItem } from "../../../src/core/provider/index.ts";
import { askersOf } from "./model-asks.ts";
import type { ModelStore } from "./model-store.ts";

/** Stands for any new instance: the contract leaves open which of two starts in a group gets the lower key. */
const NEW_INSTANCE = "a new instance";

/** The instances that the item names, with their parents, descendants and askers. */
export function concerned(store: ModelStore, item: CommitItem): readonly string[] {
  const ids = new Set(named(store, item));
  for (const id of ids) {
    const parent = store.instances.get(id)?.record.parent;
    if (parent !== undefined && parent !== null) ids.add(parent.id);
    for (const asker of askersOf(store.instances.get(id)?.requests ?? new Map())) ids.add(asker.id);
    for (const { record } of store.instances.values()) {
      if (record.parent?.id === id) ids.add(record.id);
    }
  }
  return [...ids];
}

function named(store: ModelStore, item: CommitItem): readonly string[] {
  const byKey = (key: number): string => store.byKey(key)?.record.id ?? `missing ${key}`;
  if (item.kind === "start" || item.kind === "ask") return [item.id, NEW_INSTANCE];
  if (item.kind === "rewind") return item.targets.map(({ id }) => id);
  if ("id" in item) return [item.id];
  if ("task" in item) return [byKey(item.task.key)];
  if (item.kind === "fork") return [item.instance.id, NEW_INSTANCE];
  if (item.kind === "enqueue" || item.kind === "enqueueMany") return [NEW_INSTANCE];
  if (item.kind !== "turn") return [byKey(item.key)];
  return [
    byKey(item.key),
    ...item.finished.map(({ key }) => byKey(key)),
    ...item.starts.flatMap(({ id }) => [id, NEW_INSTANCE]),
    ...item.sends.map(({ to }) => to.id),
    ...(item.dispatched ?? []).flatMap(({ item: each }) => [each.id, NEW_INSTANCE]),
  ];
}

// Concerned: whom an item may change, by id.

import type { CommitItem } from "../../src/core/provider/index.ts";
import type { ModelStore } from "./model-store.ts";

/** Stands for whoever is born: who of two in one group is the first, and so the first in line, is left open. */
const NEWBORN = "whoever is born";

/** Those that it names, with their parents and all below them. */
export function concerned(store: ModelStore, item: CommitItem): readonly string[] {
  const ids = new Set(named(store, item));
  for (const id of ids) {
    const parent = store.instances.get(id)?.record.parent;
    if (parent !== undefined && parent !== null) ids.add(parent.id);
    for (const { record } of store.instances.values()) {
      if (record.parent?.id === id) ids.add(record.id);
    }
  }
  return [...ids];
}

function named(store: ModelStore, item: CommitItem): readonly string[] {
  const byKey = (key: number): string => store.byKey(key)?.record.id ?? `missing ${key}`;
  if (item.kind === "start") return [item.id, NEWBORN];
  if ("id" in item) return [item.id];
  if ("task" in item) return [byKey(item.task.key)];
  if (item.kind === "fork") return [item.instance.id, NEWBORN];
  if (item.kind !== "turn") return [byKey(item.key)];
  return [
    byKey(item.key),
    ...item.finished.map(({ key }) => byKey(key)),
    ...item.starts.flatMap(({ id }) => [id, NEWBORN]),
    ...item.sends.map(({ to }) => to.id),
  ];
}

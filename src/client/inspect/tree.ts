// The tree of an instance: the instance with all its descendants.

import type { FoundInstance, InstanceStatus } from "../../core/provider/index.ts";
import type { Store } from "../store.ts";

/** An instance with all its descendants. */
export interface InstanceTree {
  readonly id: string;
  readonly status: InstanceStatus;
  readonly children: readonly InstanceTree[];
}

export async function treeOf(
  store: Store,
  record: Pick<FoundInstance, "id" | "status">,
): Promise<InstanceTree> {
  const children: InstanceTree[] = [];
  const list = await store.read((provider) => provider.listChildren(record.id));
  for (const child of list) children.push(await treeOf(store, child));
  return { id: record.id, status: record.status, children };
}

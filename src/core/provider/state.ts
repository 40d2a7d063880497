// Visible state of an instance: custom status, key-values, attributes.
//   - provider.state.1: It is written with the turn that changed it, or not at all (I1).
//   - provider.state.2: Every commit that sets the status increases its version by one, also across
//     executions. It never goes back, so a watcher can tell whether it has seen a change.
//   - provider.state.3: Key-values and status belong to the instance: they survive continueAsNew and
//     pruning, stay readable after the end, and are deleted with the instance. A restart begins without
//     them (I11).

import type { StoredAttributes } from "../define/attributes.ts";

/** One change; changes apply in order. A null value deletes the key; a null key means all keys. */
export interface KeyValueChange {
  readonly key: string | null;
  readonly value: string | null;
}
/** The changes of a turn to the visible state of its instance. */
export interface StateChange {
  readonly status: { readonly value: string | null } | null;
  /** All attributes after the change. */
  readonly attributes: StoredAttributes | null;
  readonly keyValues: readonly KeyValueChange[];
}
/** One key-value of an instance; the value is codec text. */
export interface KeyValueRecord {
  readonly key: string;
  readonly value: string;
  readonly updatedAt: number;
}

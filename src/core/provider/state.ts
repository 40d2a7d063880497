// Visible state of an instance: custom status, key-values, attributes.
//   ST1. Written with the turn that changed it, or not at all (I1).
//   ST2. The status's version grows by one with every commit that sets it, over executions too, and never
//        goes back; so a watcher can tell whether it has seen a change.
//   ST3. Key-values and status belong to the instance: they survive continueAsNew and pruning, are readable
//        after the end, and go with the instance. A restart begins without them (I11).

/** One change, in order. A null value deletes; a null key means all keys. */
export interface KeyValueChange {
  readonly key: string | null;
  readonly value: string | null;
}
/** What a turn changes of its instance's visible state. */
export interface StateChange {
  readonly status: { readonly value: string | null } | null;
  /** All of them, as they are now. */
  readonly attributes: Readonly<Record<string, string>> | null;
  readonly keyValues: readonly KeyValueChange[];
}
/** One key-value of an instance; the value is codec text. */
export interface KeyValueRecord {
  readonly key: string;
  readonly value: string;
  readonly updatedAt: number;
}

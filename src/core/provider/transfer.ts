// Transfer: the rows of a store in a database-independent form, so that a whole store can move to another
// one.
//   - The tables below move in this order, each ordered by its key. Cells are numbers up to 2^53, times
//     in milliseconds, texts as they are stored, flags, and lists of texts. Leases and runtimes do not
//     move: a store that moves has no runtimes, and the leases of dead ones were freed.
//   - provider.transfer.1: A mark freezes a store: every other write fails with STORE_MOVED. The database
//     itself enforces this, so clients, runtimes and other versions of this package cannot bypass it.
//     Reading still works.
//   - provider.transfer.2: Rows are written in the transaction that also writes the progress of the copy,
//     and only if the stored progress is what the writer expects. So an interrupted copy resumes from
//     there, and two copies cannot mix. Emptying and releasing a target follow the same rule.
//   - provider.transfer.3: The last numbers assigned to instances and messages move too, because no
//     number may be assigned twice (provider.instances.1). A frozen store may still assign numbers, for
//     writes that it refuses. Numbers are only compared for order.
//   - provider.transfer.4: The id of the store moves too, so that the tokens of callbacks stay valid. A target that is
//     emptied gets a new id.

/** Changes with every change of a table, a column or a meaning. Both stores must have the same format. */
export const TRANSFER_FORMAT = 4;

/** "texts": a list of texts. */
export type CellType = "integer" | "real" | "text" | "flag" | "texts";
/** One value of a row. */
export type Cell = number | string | boolean | null | readonly string[];
/** The cells in the order of the table's columns. */
export type TransferRow = readonly Cell[];

/** A table in the form in which it moves, independent of how a store keeps it. */
export interface TransferTable {
  readonly name: TransferName;
  /** The columns that order its rows: numbers by value, texts by their bytes. */
  readonly key: readonly string[];
  readonly columns: Readonly<Record<string, CellType>>;
}

/** The names of the tables that move. */
export type TransferName =
  | "instances"
  | "history"
  | "kv"
  | "inbox"
  | "tasks"
  | "queues"
  | "sessions"
  | "requests"
  | "kept"
  | "streams"
  | "stream_calls"
  | "stream_chunks"
  | "enqueue_keys";

/** All tables that move, in order. */
export const TRANSFER_TABLES: readonly TransferTable[] = [
  {
    name: "instances",
    key: ["key"],
    columns: {
      key: "integer",
      id: "text",
      run_id: "text",
      name: "text",
      version: "text",
      status: "text",
      execution: "integer",
      last_event: "integer",
      last_commit: "integer",
      suspicion: "integer",
      steps_open: "flag",
      status_version: "integer",
      copied_until: "integer",
      past_executions: "integer",
      past_events: "integer",
      priority: "real",
      created_at: "integer",
      updated_at: "integer",
      completed_at: "integer",
      delete_after: "integer",
      replay_version: "integer",
      parent_id: "text",
      parent_run_id: "text",
      parent_execution: "integer",
      parent_sequence: "integer",
      on_parent_close: "text",
      paused: "text",
      blocked: "text",
      blocked_by: "text",
      cancel_requested: "text",
      attributes: "text",
      custom_status: "text",
      output: "text",
      error: "text",
    },
  },
  {
    name: "history",
    key: ["instance", "execution", "first"],
    columns: {
      instance: "integer",
      execution: "integer",
      first: "integer",
      last: "integer",
      data: "text",
    },
  },
  {
    name: "kv",
    key: ["instance", "key"],
    columns: { instance: "integer", key: "text", value: "text", updated_at: "integer" },
  },
  {
    name: "inbox",
    key: ["id"],
    columns: {
      id: "integer",
      instance: "integer",
      visible_at: "integer",
      priority: "real",
      target: "text",
      parked: "flag",
      execution: "integer",
      sequence: "integer",
      kind: "text",
      name: "text",
      key: "text",
      data: "text",
    },
  },
  {
    name: "tasks",
    key: ["instance", "execution", "sequence"],
    columns: {
      instance: "integer",
      execution: "integer",
      sequence: "integer",
      available_at: "integer",
      priority: "real",
      attempt: "integer",
      deaths: "integer",
      suspect: "flag",
      name: "text",
      session: "text",
      tags: "texts",
      options: "text",
      last_failure: "text",
      avoid: "text",
      heartbeat: "text",
      progress: "text",
      deferred_until: "integer",
      queue_key: "text",
      weight: "real",
      holds_slot: "flag",
      input: "text",
    },
  },
  {
    name: "queues",
    key: ["name"],
    columns: {
      name: "text",
      rule: "text",
      limits_slots: "flag",
      limits_keys: "flag",
      rate_ms: "integer",
      declared_by: "text",
      declared_at: "integer",
      paused: "text",
    },
  },
  {
    name: "sessions",
    key: ["id"],
    columns: {
      id: "text",
      owner: "text",
      token: "integer",
      until: "integer",
      last_activity_at: "integer",
    },
  },
  {
    name: "requests",
    key: ["instance", "kind", "id"],
    columns: {
      instance: "integer",
      kind: "text",
      id: "text",
      outcome: "text",
      execution: "integer",
      created_at: "integer",
      digest: "text",
      answer: "text",
      asker: "text",
    },
  },
  {
    name: "kept",
    key: ["number"],
    columns: {
      number: "integer",
      id: "text",
      key: "text",
      created_at: "integer",
      name: "text",
      data: "text",
      digest: "text",
      expires_at: "integer",
      expired_at: "integer",
    },
  },
  {
    name: "streams",
    key: ["instance", "name"],
    columns: {
      instance: "integer",
      name: "text",
      first: "integer",
      next: "integer",
      closed: "flag",
      updated_at: "integer",
    },
  },
  {
    name: "stream_calls",
    key: ["instance", "execution", "call", "name"],
    columns: {
      instance: "integer",
      execution: "integer",
      call: "integer",
      name: "text",
      run: "text",
      since: "integer",
      run_since: "integer",
      written: "integer",
      last: "integer",
      settled: "flag",
    },
  },
  {
    name: "stream_chunks",
    key: ["instance", "name", "first"],
    columns: {
      instance: "integer",
      name: "text",
      first: "integer",
      count: "integer",
      execution: "integer",
      call: "integer",
      kind: "text",
      data: "text",
    },
  },
  {
    name: "enqueue_keys",
    key: ["name", "kind", "key"],
    columns: {
      name: "text",
      kind: "text",
      key: "text",
      instance: "integer",
      id: "text",
      next: "integer",
      next_id: "text",
      next_due: "integer",
      opened_at: "integer",
      until: "integer",
      next_until: "integer",
    },
  },
];

/** What moves in addition to the rows. */
export interface LastNumbers {
  /** The last numbers that were assigned; 0: none. */
  readonly instances: number;
  readonly messages: number;
  /** The id of the store (provider.transfer.4). */
  readonly storeId: string;
}

/** The mark of a store that takes part in a move. */
export interface MoveMark {
  /** The id of the move, equal in both stores. */
  readonly id: string;
  readonly role: "source" | "target";
  /** "broken": the copy in this target does not match its source and cannot be used. */
  readonly state: "moving" | "moved" | "broken";
  /** The address of the other store. */
  readonly other: string;
  /** When the mark was set, by the store's clock. */
  readonly at: number;
  /** The progress of the copy into a target; null: it has not begun. */
  readonly progress: string | null;
}

/** Which rows of a table to read next. */
export interface ReadRowsRequest {
  readonly table: TransferTable;
  /** The key of the last row that was read; null: from the first row. */
  readonly after: readonly Cell[] | null;
  readonly limit: number;
}
/** Rows to write, with the progress of the copy. */
export interface WriteRowsRequest {
  readonly move: string;
  readonly table: TransferTable;
  readonly rows: readonly TransferRow[];
  /** The progress of the copy before and after these rows (provider.transfer.2). */
  readonly before: string | null;
  readonly after: string;
}
/** Which copy to empty or finish. */
export interface ClearRequest {
  readonly move: string;
  /** The expected progress; absent: any. */
  readonly before?: string | null;
  readonly after: string | null;
}

/** The part of a provider that lets its store move. */
export interface TransferStore {
  readonly format: number;
  /** The address of the store, for people, without secrets. */
  place(): Promise<string>;
  readMark(): Promise<MoveMark | null>;
  /**
   * Freezes the store under a mark (provider.transfer.1), or changes its mark with the same id. In one
   * transaction:
   * throws STORE_IN_USE if any runtime has a row, STORE_MOVED if the store has another mark, and
   * STORE_NOT_EMPTY if
   * a new target is not empty.
   */
  mark(mark: Omit<MoveMark, "at" | "progress">): Promise<void>;
  /**
   * Removes the mark with this id, so that the store can be used. With `progress`: only if the copy has
   * this progress (provider.transfer.2).
   */
  unmark(id: string, progress?: string): Promise<void>;
  count(table: TransferTable): Promise<number>;
  /** Up to `limit` rows, ordered by key. */
  readRows(request: ReadRowsRequest): Promise<readonly TransferRow[]>;
  /** Throws STORE_IN_USE if the progress of the copy is not `before`. */
  writeRows(request: WriteRowsRequest): Promise<void>;
  readNumbers(): Promise<LastNumbers>;
  /**
   * Called after all tables. The next numbers of a target are greater than these, and than those of its
   * rows.
   */
  writeNumbers(request: ClearRequest, numbers: LastNumbers): Promise<void>;
  /** Empties a target. */
  clear(request: ClearRequest): Promise<void>;
}

/** The error message for writes to a marked store. */
export function moveMarkMessage({
  role,
  state,
  other,
}: Pick<MoveMark, "role" | "state" | "other">): string {
  if (role === "target") {
    return `This store is the unfinished copy of ${other}. Finish the move, or empty this store with perdure migrate --unmark.`;
  }
  const what = state === "moved" ? `was moved to ${other}` : `is being moved to ${other}`;
  return `This store ${what}. Use that store, or undo the move with perdure migrate --unmark.`;
}

/** The key of a row: the cells of its key columns. */
export function keyOf(table: TransferTable, row: TransferRow): readonly Cell[] {
  const columns = Object.keys(table.columns);
  return table.key.map((name) => row[columns.indexOf(name)] ?? null);
}

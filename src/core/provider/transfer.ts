// Transfer: a store's rows in a form that belongs to no database, so that a whole store can move to another one.
//   TR1. What moves is the tables below, in this order, each by its key. Cells are numbers of at most 2^53, times in
//        milliseconds, texts as they are stored, flags, and lists of texts. Leases are no part of it: a store that
//        moves has no runtimes, and what dead ones held was freed as always. Nor are runtimes themselves.
//   TR2. A mark freezes a store: whoever else writes to it is refused with STORE_MOVED, in the database itself, so
//        that neither clients nor runtimes nor other versions of this package get past it. Reading goes on.
//   TR3. Rows are written in the transaction that writes how far the copy has come, and only where the copy stands
//        where the writer believes it does: a copy that was cut off goes on from there, and two cannot mix. Emptying
//        a target and letting it go are bound to that, too.
//   TR4. The last numbers that were given to instances and to messages go along, because none is given again (N1).
//        A store may count on while it is frozen, for writes that it refuses: numbers are only compared for order.

/** Changes when a table, a column or a meaning of the format does; two stores must agree. */
export const TRANSFER_FORMAT = 1;

/** "texts": a list of them. */
export type CellType = "integer" | "real" | "text" | "flag" | "texts";
/** One value of a row. */
export type Cell = number | string | boolean | null | readonly string[];
/** In the order of its table's columns. */
export type TransferRow = readonly Cell[];

/** A table as it moves, whatever a store keeps it in. */
export interface TransferTable {
  readonly name: TransferName;
  /** What orders its rows: by number, texts by their bytes. */
  readonly key: readonly string[];
  readonly columns: Readonly<Record<string, CellType>>;
}

/** The names of the tables that move. */
export type TransferName =
  "instances" | "history" | "kv" | "inbox" | "tasks" | "sessions" | "requests" | "kept";

/** All that moves, in the order in which it does. */
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
      input: "text",
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
    },
  },
];

/** The last numbers that were given; 0: none. */
export interface LastNumbers {
  readonly instances: number;
  readonly messages: number;
}

/** What a store that takes part in a move says about it. */
export interface MoveMark {
  /** The move's; both stores have the same. */
  readonly id: string;
  readonly role: "source" | "target";
  /** "broken": what arrived in this target is not what was sent; it is of no use. */
  readonly state: "moving" | "moved" | "broken";
  /** Where the other store is. */
  readonly other: string;
  /** When it was set, by the store's clock. */
  readonly at: number;
  /** How far the copy into a target has come; null: it has not begun. */
  readonly progress: string | null;
}

/** Which rows of a table are read next. */
export interface ReadRowsRequest {
  readonly table: TransferTable;
  /** The key of the last row that was read; null: from the first. */
  readonly after: readonly Cell[] | null;
  readonly limit: number;
}
/** Rows of a table that are written, and how far the move has come with them. */
export interface WriteRowsRequest {
  readonly move: string;
  readonly table: TransferTable;
  readonly rows: readonly TransferRow[];
  /** How far the copy had come, and how far it has with these rows (TR3). */
  readonly before: string | null;
  readonly after: string;
}
/** What of a copy that is begun again is taken away. */
export interface ClearRequest {
  readonly move: string;
  /** As above; absent: wherever it stands. */
  readonly before?: string | null;
  readonly after: string | null;
}

/** The part of a provider that lets its store move. */
export interface TransferStore {
  readonly format: number;
  /** Where the store is, for people; without secrets. */
  place(): Promise<string>;
  readMark(): Promise<MoveMark | null>;
  /**
   * Freezes the store under a mark (TR2), or changes the mark that it has under the same id. In one transaction:
   * STORE_IN_USE if any runtime has a row, STORE_MOVED if it has another mark, STORE_NOT_EMPTY if a new target holds
   * anything.
   */
  mark(mark: Omit<MoveMark, "at" | "progress">): Promise<void>;
  /** Takes the mark of that id away: the store can be used. With `progress`: only if its copy stands there (TR3). */
  unmark(id: string, progress?: string): Promise<void>;
  count(table: TransferTable): Promise<number>;
  /** Up to `limit` rows, in the order of their keys. */
  readRows(request: ReadRowsRequest): Promise<readonly TransferRow[]>;
  /** STORE_IN_USE if the copy stands elsewhere than `before` says. */
  writeRows(request: WriteRowsRequest): Promise<void>;
  readNumbers(): Promise<LastNumbers>;
  /** After all tables: the next numbers of a target are greater than these, and than those of its rows. */
  writeNumbers(request: ClearRequest, numbers: LastNumbers): Promise<void>;
  /** Empties a target. */
  clear(request: ClearRequest): Promise<void>;
}

/** What whoever writes to a marked store is told. */
export function toldByMark({
  role,
  state,
  other,
}: Pick<MoveMark, "role" | "state" | "other">): string {
  if (role === "target") {
    return `This store is the unfinished copy of ${other}: finish the move, or empty it with perdure migrate --unmark.`;
  }
  const what = state === "moved" ? `was moved to ${other}` : `is being moved to ${other}`;
  return `This store ${what}: use that one. The way back is perdure migrate --unmark.`;
}

/** Where a cell stands in a table's rows. */
export function keyOf(table: TransferTable, row: TransferRow): readonly Cell[] {
  const columns = Object.keys(table.columns);
  return table.key.map((name) => row[columns.indexOf(name)] ?? null);
}

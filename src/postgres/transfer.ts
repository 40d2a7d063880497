// Transfer: the store's rows in the form that belongs to no database (core/provider/transfer.ts), read and written.
//   How the format maps: tables and columns have its names. A list of tags is text[], beside its `tag_set`. The last
//   numbers are those of the sequences; that of `kept` counts on from its last row.
//   What is not in the format, and why: see OWN_TABLES and OWN_COLUMNS; a test compares them with the schema.
//   TF1. A row is read with its checksums, and refused if it is not what was written; a row is written with new ones.
//   TF2. A batch travels as one list a column (column-arrays.ts); rows are read by the index of their key.

import { PerdureError } from "../core/errors.ts";
import {
  TRANSFER_FORMAT,
  type Cell,
  type CellType,
  type ClearRequest,
  type LastNumbers,
  type MoveMark,
  type ReadRowsRequest,
  type TransferRow,
  type TransferStore,
  type TransferTable,
  type WriteRowsRequest,
} from "../core/provider/transfer.ts";
import { isTerminalStatus, type InstanceStatus } from "../core/provider/instances.ts";
import type { Arrivals } from "./arrivals.ts";
import { checksumColumns, checksumsOf } from "./checksums.ts";
import { ColumnArrays, type ColumnType } from "./column-arrays.ts";
import { flag, integer, integerOrNull, only, text, textOrNull, type Row } from "./columns.ts";
import { told, type Connection } from "./connection.ts";
import { Freeze, MOVED_TABLES } from "./freeze.ts";
import type { Statement, Value } from "./pipeline.ts";
import { tagColumns, tagsOf } from "./task-rows.ts";

/** Tables that stay behind. */
export const OWN_TABLES: Readonly<Record<string, string>> = {
  meta: "the schema's own: its version, and when it was made",
  move: "the mark itself",
  tallies: "kept by triggers while instances arrive",
  runtimes: "none is alive on a store that moves",
  arrivals: "brought into inboxes before the store is marked",
  barred: "of connections that were lost; a store that moves has none",
};
/** Columns that stay behind, and what they are in a store that has arrived. */
export const OWN_COLUMNS: Readonly<Record<string, string>> = {
  lease_token: "NULL: leases end with their runtimes",
  lease_until: "NULL, as above",
  lease_owner: "NULL, as above",
  failed: "made from the status",
  tag_set: "made from the tags",
  batch: "0: its transaction is long over",
  ...Object.fromEntries(
    MOVED_TABLES.flatMap(checksumColumns).map((column) => [column, "made of what has arrived"]),
  ),
};

const SEQUENCES = { instances: "instance_keys", messages: "message_ids" } as const;
const TYPES: Readonly<Record<CellType, ColumnType>> = {
  integer: "bigint",
  real: "double precision",
  text: "text",
  flag: "boolean",
  texts: "text",
};
/** Columns that the format lacks, by table. */
const MADE: Readonly<Partial<Record<string, Readonly<Record<string, ColumnType>>>>> = {
  instances: { failed: "boolean" },
  tasks: { tag_set: "text" },
  requests: { batch: "bigint" },
};
/** Making triggers, and copying a batch, may have to wait for whoever writes last. */
const LOCK_MS = 10_000;

type Cells = Readonly<Record<string, string | number | boolean | null>>;

export class Transfer implements TransferStore {
  readonly format = TRANSFER_FORMAT;
  readonly #connection: Connection;
  readonly #freeze: Freeze;
  readonly #arrivals: Arrivals;

  constructor(connection: Connection, arrivals: Arrivals) {
    this.#connection = connection;
    this.#arrivals = arrivals;
    this.#freeze = new Freeze(connection);
  }

  async place(): Promise<string> {
    const [row] = await this.#run(`
      SELECT current_database() AS name, host(inet_server_addr()) AS host,
        inet_server_port()::text AS port`);
    const { schema } = this.#connection;
    const found = only(row === undefined ? [] : [row]);
    const host = textOrNull(found, "host") ?? "";
    const port = host === "" ? "" : `:${text(found, "port")}`;
    return `postgres://${host.includes(":") ? `[${host}]` : host}${port}/${text(found, "name")} (schema ${schema})`;
  }

  readMark(): Promise<MoveMark | null> {
    const run = (statement: Statement, values?: readonly Value[]): Promise<Row[]> =>
      this.#connection.read(statement, values);
    return this.#freeze.read({ run });
  }

  async mark(mark: Omit<MoveMark, "at" | "progress">): Promise<void> {
    if ((await this.readMark()) === null) await this.#arrivals.bringAll();
    await told(
      this.#connection.transact({ lockMs: LOCK_MS }, (statements) =>
        this.#freeze.set(statements, mark),
      ),
    );
  }

  async unmark(id: string, progress?: string): Promise<void> {
    await told(
      this.#connection.transact({ lockMs: LOCK_MS }, (statements) =>
        this.#freeze.unset(statements, id, progress),
      ),
    );
  }

  async count(table: TransferTable): Promise<number> {
    const rows = await this.#run(`SELECT count(*) AS rows FROM @${table.name}`);
    return integer(only(rows), "rows");
  }

  async readRows({ table, after, limit }: ReadRowsRequest): Promise<readonly TransferRow[]> {
    const columns = Object.entries(table.columns);
    const key = list(table.key);
    const place = (name: string, index: number): string =>
      `$${index + 2}::${TYPES[table.columns[name] ?? "text"]}`;
    const from = after === null ? "" : `WHERE (${key}) > (${table.key.map(place).join(", ")})`;
    const shown = columns.map(([name, type]) =>
      type === "texts" ? `array_to_json("${name}")::text AS "${name}"` : `"${name}"`,
    );
    const sums = checksumColumns(table.name);
    const sql = `
      SELECT ${[...shown, ...sums].join(", ")} FROM @${table.name} ${from} ORDER BY ${key} LIMIT $1::bigint`;
    const rows = await this.#run(sql, [limit, ...(after ?? []).map(toValue)]);
    return rows.map((row) => {
      const cells = columns.map(([name, type]) => toCell(row, name, type));
      verify(table, row, cells);
      return cells;
    });
  }

  async writeRows({ move, table, rows, before, after }: WriteRowsRequest): Promise<void> {
    await told(
      this.#connection.transact({ lockMs: LOCK_MS }, async (statements) => {
        await this.#freeze.pass(statements, { move, before, after });
        if (rows.length > 0) await statements.run(...this.#insert(table, rows));
      }),
    );
  }

  async readNumbers(): Promise<LastNumbers> {
    const last = (sequence: string): string =>
      `(SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM @${sequence})`;
    const row = only(
      await this.#run(
        `SELECT ${last(SEQUENCES.instances)} AS instances, ${last(SEQUENCES.messages)} AS messages`,
      ),
    );
    return { instances: integer(row, "instances"), messages: integer(row, "messages") };
  }

  async writeNumbers(request: ClearRequest, numbers: LastNumbers): Promise<void> {
    // The next is one more than the last; of none it is 1.
    const set = (sequence: string): Statement =>
      this.#connection.prepare(
        `SELECT setval('@${sequence}', greatest($1::bigint, 1), $1::bigint > 0)`,
      );
    const ofKept = this.#connection.prepare(`
      SELECT setval(pg_get_serial_sequence('@kept', 'number'), coalesce(max(number), 0) + 1, false)
      FROM @kept`);
    await told(
      this.#connection.transact({ lockMs: LOCK_MS }, async (statements) => {
        await this.#freeze.pass(statements, request);
        await statements.run(set(SEQUENCES.instances), [numbers.instances]);
        await statements.run(set(SEQUENCES.messages), [numbers.messages]);
        await statements.run(ofKept);
      }),
    );
  }

  async clear(request: ClearRequest): Promise<void> {
    await told(
      this.#connection.transact({ lockMs: LOCK_MS }, async (statements) => {
        await this.#freeze.pass(statements, request);
        for (const table of MOVED_TABLES) {
          await statements.run(this.#connection.prepare(`DELETE FROM @${table}`));
        }
      }),
    );
  }

  #insert(
    table: TransferTable,
    rows: readonly TransferRow[],
  ): readonly [Statement, readonly Value[]] {
    const types: Record<string, ColumnType> = { ...MADE[table.name] };
    for (const name of checksumColumns(table.name)) types[name] = "bigint";
    for (const [name, type] of Object.entries(table.columns)) types[name] = TYPES[type];
    const arrays = new ColumnArrays(types);
    const names = Object.keys(types);
    const shown = names.map((name) =>
      table.columns[name] === "texts"
        ? `CASE WHEN t."${name}" IS NULL THEN '{}' ELSE ARRAY(SELECT json_array_elements_text(t."${name}"::json)) END`
        : `t."${name}"`,
    );
    const sql = `
      INSERT INTO @${table.name} (${list(names)}) SELECT ${shown.join(", ")} FROM ${arrays.from("t")}`;
    return [this.#connection.prepare(sql), arrays.values(rows.map((row) => toCells(table, row)))];
  }

  #run(sql: string, values: readonly Value[] = []): Promise<Row[]> {
    return this.#connection.read(this.#connection.prepare(sql), values);
  }
}

function list(columns: readonly string[]): string {
  return columns.map((column) => `"${column}"`).join(", ");
}

function toCell(row: Row, column: string, type: CellType): Cell {
  if (row[column] === null) return null;
  switch (type) {
    case "integer":
    case "real":
      return integer(row, column);
    case "flag":
      return flag(row, column);
    case "text":
      return text(row, column);
    case "texts":
      return tagsOf(row) ?? [];
  }
}

function toValue(cell: Cell): Value {
  return typeof cell === "object" && cell !== null ? JSON.stringify(cell) : cell;
}

/** A row by its columns, with those that are made here. */
function toCells(table: TransferTable, row: TransferRow): Cells {
  const cells: Record<string, string | number | boolean | null> = {};
  for (const [index, name] of Object.keys(table.columns).entries()) {
    const cell = row[index] ?? null;
    if (typeof cell !== "object" || cell === null) cells[name] = cell;
    else Object.assign(cells, tagColumns(cell));
  }
  if (table.name === "instances") cells["failed"] = isFailed(cells["status"]);
  if (table.name === "requests") cells["batch"] = 0;
  return { ...cells, ...checksumsOf(table.name, cells) };
}

/** TF1 */
function verify(table: TransferTable, row: Row, cells: TransferRow): void {
  const wanted = toCells(table, cells);
  for (const column of checksumColumns(table.name)) {
    const found = integerOrNull(row, column);
    if (found === wanted[column]) continue;
    const key = table.key.map((name) => `${name} ${String(wanted[name])}`).join(", ");
    const message = `A row of ${table.name} (${key}) is not what was written: its ${column} differs or is missing. Nothing is moved while it is there: delete its instance, or bring it back from a copy.`;
    throw new PerdureError("HISTORY_CORRUPT", message);
  }
}

function isFailed(status: Cells[string] | undefined): boolean {
  return status !== "completed" && isTerminalStatus(status as InstanceStatus); // one of its words
}

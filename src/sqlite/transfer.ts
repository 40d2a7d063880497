// Transfer: the store's rows in the form that belongs to no database (core/provider/transfer.ts), read and written.
//   How the format maps: tables and columns have its names. A flag is 0 or 1. A list of tags is JSON text, the empty
//   text for none (task-rows.ts). The last numbers are those of sqlite_sequence; `kept` counts on from its last row.
//   TF1. A row is read with its checksums, and refused if it is not what was written; a row is written with new ones.
//   What is not in the format, and why: see OWN_TABLES and OWN_COLUMNS; a test compares them with the schema.

import { realpathSync } from "node:fs";
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
import { checksumColumns, checksumsOf } from "./checksums.ts";
import { integer, integerOrNull, type Row } from "./columns.ts";
import type { Connection } from "./connection.ts";
import { Freeze, MOVED_TABLES } from "./freeze.ts";
import { IN_MEMORY } from "./location.ts";
import { tagsOf, tagsText } from "./task-rows.ts";

/** Tables that stay behind. */
export const OWN_TABLES: Readonly<Record<string, string>> = {
  meta: "the file's own: its schema version, when it was made, how much news there was",
  move: "the mark itself",
  tallies: "kept by triggers while instances arrive",
  runtimes: "none is alive on a store that moves",
};
/** Columns that stay behind, and what they are in a store that has arrived. */
export const OWN_COLUMNS: Readonly<Record<string, string>> = {
  lease_token: "NULL: leases end with their runtimes",
  lease_until: "NULL, as above",
  lease_owner: "NULL, as above",
  ...Object.fromEntries(
    MOVED_TABLES.flatMap(checksumColumns).map((column) => [column, "made of what has arrived"]),
  ),
};

/** The tables whose last numbers SQLite remembers. */
const NUMBERED = { instances: "instances", messages: "inbox" } as const;

export class Transfer implements TransferStore {
  readonly format = TRANSFER_FORMAT;
  readonly #connection: Connection;
  readonly #freeze: Freeze;

  constructor(connection: Connection) {
    this.#connection = connection;
    this.#freeze = new Freeze(connection);
  }

  async place(): Promise<string> {
    const { path } = this.#connection;
    return `sqlite:${path === null ? IN_MEMORY : realpathSync(path)}`;
  }

  readMark(): Promise<MoveMark | null> {
    return this.#connection.read(() => this.#freeze.read());
  }

  mark(mark: Omit<MoveMark, "at" | "progress">): Promise<void> {
    return this.#connection.write(() => this.#freeze.set(mark));
  }

  unmark(id: string, progress?: string): Promise<void> {
    return this.#connection.write(() => this.#freeze.unset(id, progress));
  }

  count(table: TransferTable): Promise<number> {
    const sql = `SELECT count(*) AS rows FROM ${table.name}`;
    return this.#connection.read(() => integer(this.#connection.prepare(sql).get() ?? {}, "rows"));
  }

  readRows({ table, after, limit }: ReadRowsRequest): Promise<readonly TransferRow[]> {
    return this.#connection.read(() => {
      const key = list(table.key);
      const from = after === null ? "" : `WHERE (${key}) > (${marks(after)})`;
      const sql = `
        SELECT ${list([...Object.keys(table.columns), ...checksumColumns(table.name)])} FROM ${table.name}
        ${from} ORDER BY ${key} LIMIT ?`;
      const values = [...(after ?? []).map(toValue), limit];
      const types = Object.entries(table.columns);
      return this.#connection
        .prepare(sql)
        .all(...values)
        .map((row) => {
          verify(table, row);
          return types.map(([column, type]) => toCell(row, column, type));
        });
    });
  }

  writeRows({ move, table, rows, before, after }: WriteRowsRequest): Promise<void> {
    return this.#connection.write(() => {
      this.#freeze.through({ move, before, after }, () => {
        const columns = Object.keys(table.columns);
        const all = [...columns, ...checksumColumns(table.name)];
        const insert = this.#connection.prepare(
          `INSERT INTO ${table.name} (${list(all)}) VALUES (${marks(all)})`,
        );
        for (const row of rows) {
          const values = row.map(toValue);
          const cells = Object.fromEntries(
            columns.map((column, place) => [column, values[place] ?? null]),
          );
          insert.run(...values, ...checksumsOf(table.name, cells));
        }
      });
    });
  }

  readNumbers(): Promise<LastNumbers> {
    return this.#connection.read(() => {
      const select = this.#connection.prepare("SELECT seq FROM sqlite_sequence WHERE name = ?");
      const last = (table: string): number => integer(select.get(table) ?? { seq: 0 }, "seq");
      return { instances: last(NUMBERED.instances), messages: last(NUMBERED.messages) };
    });
  }

  writeNumbers(request: ClearRequest, numbers: LastNumbers): Promise<void> {
    return this.#connection.write(() => {
      this.#freeze.through(request, () => {
        const forget = this.#connection.prepare("DELETE FROM sqlite_sequence WHERE name = ?");
        const note = this.#connection.prepare("INSERT INTO sqlite_sequence VALUES (?, ?)");
        for (const name of ["instances", "messages"] as const) {
          forget.run(NUMBERED[name]);
          note.run(NUMBERED[name], numbers[name]);
        }
      });
    });
  }

  clear(request: ClearRequest): Promise<void> {
    return this.#connection.write(() => {
      this.#freeze.through(request, () => {
        for (const table of MOVED_TABLES) this.#connection.database.exec(`DELETE FROM ${table}`);
      });
    });
  }
}

function list(columns: readonly string[]): string {
  return columns.map((column) => `"${column}"`).join(", ");
}

function marks(values: readonly unknown[]): string {
  return values.map(() => "?").join(", ");
}

function toCell(row: Row, column: string, type: CellType): Cell {
  const value = row[column];
  if (value === null) return null;
  if (type === "flag") return integer(row, column) === 1;
  if (typeof value === "string" && type === "texts") {
    const tags = tagsOf(value);
    if (tags !== undefined) return tags ?? [];
    const where = `of task ${integer(row, "instance")}/${integer(row, "execution")}/${integer(row, "sequence")}`;
    throw new PerdureError("HISTORY_CORRUPT", `The tags ${where} cannot be read: ${value}`);
  }
  if (typeof value === (type === "text" ? "string" : "number")) return value as string | number;
  throw strange(column);
}

/** TF1 */
function verify(table: TransferTable, row: Row): void {
  const wanted = checksumsOf(table.name, row);
  for (const [place, column] of checksumColumns(table.name).entries()) {
    const found = integerOrNull(row, column);
    if (found === wanted[place]) continue;
    const key = table.key.map((name) => `${name} ${String(row[name])}`).join(", ");
    const message = `A row of ${table.name} (${key}) is not what was written: its ${column} differs or is missing. Nothing is moved while it is there: delete its instance, or bring it back from a copy.`;
    throw new PerdureError("HISTORY_CORRUPT", message);
  }
}

function toValue(cell: Cell): string | number | null {
  if (typeof cell === "boolean") return cell ? 1 : 0;
  return typeof cell === "object" && cell !== null ? tagsText(cell) : cell;
}

function strange(what: string): PerdureError {
  return new PerdureError("STORE_INVALID", `Column ${what} holds what is not of its type.`);
}

// Transfer: reads and writes the store's rows in the database-independent format of
// core/provider/transfer.ts.
//   - Tables and columns have the names of the format. The numbers of `kept` continue after its last row.
//   - sql.transfer.1: A row is read with its checksums, and a mismatch raises an error. A row is written
//       with new checksums.
//   - Rows are read through the index of their key.

import { isPerdureError, PerdureError } from "../../core/errors/errors.ts";
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
} from "../../core/provider/transfer.ts";
import { flag, integer, integerOrNull, integers, only, text, type Row } from "../columns.ts";
import { readStoreId } from "../read/store-id.ts";
import { tagsOf } from "../rows/task-rows.ts";
import { run, type Script } from "../script/script.ts";
import { Statement, type Value } from "../script/statement.ts";
import type { ScriptStore } from "../script/store.ts";
import { checksumColumns, checksumsOf, type Cells, type CoveredMessages } from "./checksums.ts";
import { MOVED_TABLES, MoveLock, type MoveParts, type NewMark } from "./move-lock.ts";

/** What differs between the stores. */
export interface TransferParts extends MoveParts {
  readonly covered: CoveredMessages;
  /** The last numbers: instances, messages. */
  readonly selectNumbers: Statement;
  place(): Promise<string>;
  /** Called before a store without a mark is marked. */
  beforeMark(): Promise<void>;
  writeNumbers(numbers: LastNumbers): Script<void>;
  /** A random id for the store. */
  newStoreId(): string;
  /** The cells of a list of tags, and of columns that follow from it. */
  tagCells(tags: readonly string[]): Cells;
  /** Columns of a table that are not in the format. */
  ownCells(table: string, cells: Cells): Cells;
  /** Writes rows; every row has the same columns. */
  insert(table: TransferTable, rows: readonly Cells[]): Script<void>;
}

/** SQL types of cells. A list of texts is sent as JSON text. */
export const CELL_TYPES = {
  integer: "bigint",
  real: "double precision",
  text: "text",
  flag: "boolean",
  texts: "text",
} as const satisfies Readonly<Record<CellType, string>>;
/** Columns that no store moves, and their values in the target store. */
export const OWN_COLUMNS: Readonly<Record<string, string>> = {
  lease_token: "NULL: leases end with their runtimes",
  lease_until: "NULL, as above",
  lease_owner: "NULL, as above",
  ...Object.fromEntries(
    MOVED_TABLES.flatMap(checksumColumns).map((column) => [column, "computed from the copied row"]),
  ),
};
/** How often a mark is read again that was removed meanwhile. */
const READ_TRIES = 5;
/** Creating triggers and copying a batch may have to wait for the last writer. */
const PATIENT = { lockMs: 10_000 };
const COUNTS: ReadonlyMap<string, Statement> = new Map(
  MOVED_TABLES.map((table) => [table, new Statement(`SELECT count(*) AS rows FROM @${table}`)]),
);
const CLEARS: readonly Statement[] = MOVED_TABLES.map(
  (table) => new Statement(`DELETE FROM @${table}`),
);

const SET_STORE_ID = new Statement("UPDATE @store SET id = $1");

export class Transfer implements TransferStore {
  readonly format = TRANSFER_FORMAT;
  readonly #store: Pick<ScriptStore, "read" | "write">;
  readonly #parts: TransferParts;
  readonly #moveLock: MoveLock;

  constructor(store: Pick<ScriptStore, "read" | "write">, parts: TransferParts) {
    this.#store = store;
    this.#parts = parts;
    this.#moveLock = new MoveLock(parts);
  }

  place(): Promise<string> {
    return this.#parts.place();
  }

  /**
   * On PostgreSQL the table of the mark may be dropped between the statement that finds it and the one that reads it.
   * The store had no mark then, and may have another one by now.
   */
  async readMark(): Promise<MoveMark | null> {
    for (let left = READ_TRIES; ; left--) {
      try {
        return await this.#store.read(() => this.#moveLock.read());
      } catch (error) {
        if (left === 0 || !isPerdureError(error, "STORE_INVALID")) throw error;
      }
    }
  }

  async mark(mark: NewMark): Promise<void> {
    if ((await this.readMark()) === null) await this.#parts.beforeMark();
    await this.#store.write(() => this.#moveLock.set(mark), PATIENT);
  }

  unmark(id: string, progress?: string): Promise<void> {
    return this.#store.write(() => this.#moveLock.unset(id, progress), PATIENT);
  }

  count(table: TransferTable): Promise<number> {
    return this.#store.read(function* () {
      return integer(only(yield* run(COUNTS.get(table.name) ?? notMoved(table))), "rows");
    });
  }

  readRows(request: ReadRowsRequest): Promise<readonly TransferRow[]> {
    return this.#store.read(() => this.#readRows(request));
  }

  writeRows({ move, table, rows, before, after }: WriteRowsRequest): Promise<void> {
    const cells = rows.map((row) => this.#cellsOf(table, row));
    const insert = () => this.#parts.insert(table, cells);
    return this.#writeAsCopy({ move, before, after }, insert);
  }

  readNumbers(): Promise<LastNumbers> {
    const { selectNumbers } = this.#parts;
    return this.#store.read(function* () {
      const numbers = integers(only(yield* run(selectNumbers)), "instances", "messages");
      return { ...numbers, storeId: yield* readStoreId() };
    });
  }

  writeNumbers(request: ClearRequest, numbers: LastNumbers): Promise<void> {
    const { writeNumbers } = this.#parts;
    return this.#writeAsCopy(request, function* () {
      yield* writeNumbers(numbers);
      yield* run(SET_STORE_ID, numbers.storeId);
    });
  }

  clear(request: ClearRequest): Promise<void> {
    const newStoreId = this.#parts.newStoreId();
    return this.#writeAsCopy(request, function* () {
      for (const statement of CLEARS) yield* run(statement);
      yield* run(SET_STORE_ID, newStoreId);
    });
  }

  #writeAsCopy(request: ClearRequest, work: () => Script<void>): Promise<void> {
    return this.#store.write(() => this.#moveLock.writeAsCopy(request, work), PATIENT);
  }

  *#readRows({ table, after, limit }: ReadRowsRequest): Script<readonly TransferRow[]> {
    const columns = Object.entries(table.columns);
    const key = list(table.key);
    const place = (name: string, index: number): string =>
      `$${index + 2}::${CELL_TYPES[table.columns[name] ?? "text"]}`;
    const from = after === null ? "" : `WHERE (${key}) > (${table.key.map(place).join(", ")})`;
    const shown = columns.map(([name, type]) =>
      type === "texts" ? `array_to_json("${name}")::text AS "${name}"` : `"${name}"`,
    );
    const statement = new Statement(`
      SELECT ${[...shown, ...checksumColumns(table.name)].join(", ")} FROM @${table.name} ${from}
      ORDER BY ${key} LIMIT $1::bigint`);
    const rows = yield* run(statement, limit, ...(after ?? []).map(toValue));
    return rows.map((row) => {
      const cells = columns.map(([name, type]) => toCell(row, name, type));
      this.#verify(table, row, cells);
      return cells;
    });
  }

  /** A row by column name, with the columns that are not in the format. */
  #cellsOf(table: TransferTable, row: TransferRow): Cells {
    const cells: Record<string, Cells[string]> = {};
    for (const [index, name] of Object.keys(table.columns).entries()) {
      const cell = row[index] ?? null;
      if (typeof cell !== "object" || cell === null) cells[name] = cell;
      else Object.assign(cells, this.#parts.tagCells(cell));
    }
    const sums = checksumsOf(table.name, cells, this.#parts.covered);
    return { ...cells, ...this.#parts.ownCells(table.name, cells), ...sums };
  }

  /** sql.transfer.1 */
  #verify(table: TransferTable, row: Row, cells: TransferRow): void {
    const wanted = this.#cellsOf(table, cells);
    for (const column of checksumColumns(table.name)) {
      if (integerOrNull(row, column) === wanted[column]) continue;
      const key = table.key.map((name) => `${name} ${String(wanted[name])}`).join(", ");
      const message = `A row of ${table.name} (${key}) is damaged: its ${column} does not match or is missing. The store cannot be moved with this row. Delete its instance, or restore the row from a backup.`;
      throw new PerdureError("HISTORY_CORRUPT", message);
    }
  }
}

export function list(columns: readonly string[]): string {
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
      return toTags(row);
  }
}

function toTags(row: Row): readonly string[] {
  const tags = tagsOf(row);
  if (tags !== undefined) return tags ?? [];
  const where = `of task ${integer(row, "instance")}/${integer(row, "execution")}/${integer(row, "sequence")}`;
  const message = `The tags ${where} cannot be read: ${text(row, "tags")}`;
  throw new PerdureError("HISTORY_CORRUPT", message);
}

function toValue(cell: Cell): Value {
  return typeof cell === "object" && cell !== null ? JSON.stringify(cell) : cell;
}

function notMoved({ name }: TransferTable): never {
  throw new Error(`Table ${name} is not moved.`);
}

// Freeze: the mark of a store that takes part in a move, and what keeps everybody else from writing to it.
//   FZ1. The table of the mark and the triggers are made when a store is marked, and gone when it is not: a store
//        that never moves pays nothing for them. A trigger holds for every process, whatever its version.
//   FZ2. Whoever marks a store has looked, in the same transaction, that no runtime has a row; none can get one.
//   FZ3. The copy itself writes in transactions that take the triggers away and put them back before they end:
//        nobody else ever sees the store without them.

import { PerdureError } from "../core/errors.ts";
import {
  TRANSFER_TABLES,
  toldByMark,
  type ClearRequest,
  type MoveMark,
} from "../core/provider/transfer.ts";
import { integer, text, textOrNull, word } from "./columns.ts";
import type { Connection } from "./connection.ts";
import { MOVED } from "./errors.ts";

/** Tables of SQLite's that hold what moves. */
export const MOVED_TABLES = TRANSFER_TABLES.map(({ name }) => name);
const TABLES = [...MOVED_TABLES, "runtimes"];
const OPERATIONS = ["INSERT", "UPDATE", "DELETE"];
const CREATE_MARK = `
  CREATE TABLE IF NOT EXISTS move (
    id TEXT PRIMARY KEY, role TEXT NOT NULL, state TEXT NOT NULL, other TEXT NOT NULL,
    at INTEGER NOT NULL, progress TEXT
  ) STRICT, WITHOUT ROWID`;

export class Freeze {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Within a read or a write. */
  read(): MoveMark | null {
    const { database } = this.#connection;
    const exists = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'move'").get();
    if (exists === undefined) return null;
    const row = database.prepare("SELECT * FROM move").get();
    if (row === undefined) return null;
    return {
      id: text(row, "id"),
      role: word(row, "role", ["source", "target"]),
      state: word(row, "state", ["moving", "moved", "broken"]),
      other: text(row, "other"),
      at: integer(row, "at"),
      progress: textOrNull(row, "progress"),
    };
  }

  /** Within a write. */
  set(mark: Omit<MoveMark, "at" | "progress">): void {
    const { database } = this.#connection;
    const found = this.read();
    if (found !== null && found.id !== mark.id) {
      throw new PerdureError("STORE_MOVED", toldByMark(found));
    }
    if (this.#holds("runtimes")) {
      throw new PerdureError("STORE_IN_USE", "A runtime is registered on the SQLite store.");
    }
    if (found === null && mark.role === "target") this.#assertEmpty();
    database.exec(CREATE_MARK);
    database
      .prepare(
        `INSERT INTO move (id, role, state, other, at) VALUES (?, ?, ?, ?, ?)
         ON CONFLICT (id) DO UPDATE SET state = excluded.state, other = excluded.other`,
      )
      .run(mark.id, mark.role, mark.state, mark.other, this.#connection.now());
    this.#thaw();
    this.#freeze(mark);
  }

  /** Within a write. */
  unset(id: string, progress?: string): void {
    const found = this.read();
    if (found?.id !== id) return;
    if (progress !== undefined && progress !== found.progress) throw taken();
    this.#thaw();
    this.#connection.database.exec("DROP TABLE move");
  }

  /** Within a write, as the move of that id; what the copy has come to is noted with it (TR3). */
  through({ move, before, after }: ClearRequest, work: () => void): void {
    const mark = this.read();
    if (mark?.id !== move || mark.role !== "target") throw taken();
    if (before !== undefined && mark.progress !== before) throw taken();
    this.#connection.prepare("UPDATE move SET progress = ? WHERE id = ?").run(after, move);
    this.#thaw();
    work();
    this.#freeze(mark);
  }

  #freeze(mark: Omit<MoveMark, "at" | "progress">): void {
    const said = `'${(MOVED + toldByMark(mark)).replaceAll("'", "''")}'`;
    for (const [name, table, operation] of triggers()) {
      this.#connection.database.exec(
        `CREATE TRIGGER ${name} BEFORE ${operation} ON ${table} BEGIN SELECT RAISE(ABORT, ${said}); END`,
      );
    }
  }

  #thaw(): void {
    for (const [name] of triggers()) {
      this.#connection.database.exec(`DROP TRIGGER IF EXISTS ${name}`);
    }
  }

  #assertEmpty(): void {
    const full = MOVED_TABLES.find((table) => this.#holds(table));
    if (full === undefined) return;
    const message = `The SQLite store is not empty: there are rows in ${full}. Move to a new one.`;
    throw new PerdureError("STORE_NOT_EMPTY", message);
  }

  #holds(table: string): boolean {
    const { database } = this.#connection;
    return database.prepare(`SELECT 1 FROM ${table} LIMIT 1`).get() !== undefined;
  }
}

function triggers(): [name: string, table: string, operation: string][] {
  return TABLES.flatMap((table) =>
    OPERATIONS.map((operation): [string, string, string] => [
      `frozen_${table}_${operation.toLowerCase()}`,
      table,
      operation,
    ]),
  );
}

function taken(): PerdureError {
  return new PerdureError("STORE_IN_USE", "Another process is at work on this move.");
}

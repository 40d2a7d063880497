// Batch insert: inserts rows of one table, several per statement.
//   - To begin a statement costs more than to insert a small row: ten rows per statement take two thirds of the time.

import type { SQLInputValue, StatementSync } from "node:sqlite";

const BATCH = 10;

/** The text of a batch, and of a single row. `into`: the table and its columns; `row`: the values of one row. */
export function batchTexts(into: string, row: string, after = ""): readonly [string, string] {
  const start = `INSERT INTO ${into} VALUES`;
  return [`${start} ${row}${`, ${row}`.repeat(BATCH - 1)} ${after}`, `${start} ${row} ${after}`];
}

export class BatchInsert {
  readonly #batch: StatementSync;
  readonly #one: StatementSync;

  constructor(batch: StatementSync, one: StatementSync) {
    this.#batch = batch;
    this.#one = one;
  }

  /** Inserts the rows in their order. Returns the last rowid; null if a row was not inserted (`after`). */
  run(rows: readonly (readonly SQLInputValue[])[]): number | null {
    let last = 0;
    for (let index = 0; index < rows.length;) {
      const count = rows.length - index < BATCH ? 1 : BATCH;
      const values = count === 1 ? (rows[index] ?? []) : rows.slice(index, index + count).flat();
      const { changes, lastInsertRowid } = (count === 1 ? this.#one : this.#batch).run(...values);
      if (changes !== count) return null;
      last = Number(lastInsertRowid);
      index += count;
    }
    return last;
  }
}

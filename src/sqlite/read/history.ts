// History: rows of events, one row per commit.
//   - Rows are only appended (I4). The fence of a turn prevents gaps and overlaps.
//   - Texts are returned as stored (provider.3). A row that fails its checksum is marked as damaged.

import { checksumOfCopy } from "../../core/values/checksum.ts";
import type { HistoryRow } from "../../core/history/rows.ts";
import { toHistoryRow } from "../../sql/rows/history-rows.ts";
import { BatchInsert, batchTexts } from "../sql/batch-insert.ts";
import { Subject } from "../connection/subject.ts";

/** The first row of the first execution of an instance. */
export interface FirstRow {
  readonly key: number;
  readonly row: HistoryRow;
}

/** A batch of rows, and one. */
const [INSERT_BATCH, INSERT_ONE] = batchTexts("history", "(?, 1, ?, ?, ?, ?)");

export class History extends Subject {
  readonly #insert = this.prepare("INSERT INTO history VALUES (?, ?, ?, ?, ?, ?)");
  readonly #insertFirst = new BatchInsert(this.prepare(INSERT_BATCH), this.prepare(INSERT_ONE));
  readonly #select = this.prepare(`
    SELECT instance, execution, first, last, data, checksum FROM history
    WHERE instance = ? AND execution = ? ORDER BY first`);

  append(key: number, execution: number, row: HistoryRow): void {
    const { first, last, data } = row;
    const checksum = checksumOfCopy(row, key, execution, first, last, data);
    this.#insert.run(key, execution, first, last, data, checksum);
  }

  appendFirst(rows: readonly FirstRow[]): void {
    this.#insertFirst.run(
      rows.map(({ key, row }) => {
        const { first, last, data } = row;
        return [key, first, last, data, checksumOfCopy(row, key, 1, first, last, data)];
      }),
    );
  }

  read(key: number, execution: number): HistoryRow[] {
    return this.#select.all(key, execution).map(toHistoryRow);
  }
}

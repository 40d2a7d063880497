// History: rows of events, one row per commit.
//   - Rows are only appended (I4). The fence of a turn prevents gaps and overlaps.
//   - Texts are returned as stored (provider.3). A row that fails its checksum is marked as damaged.

import { checksumOfCopy } from "../../core/values/checksum.ts";
import type { HistoryRow } from "../../core/history/rows.ts";
import { toHistoryRow } from "../../sql/rows/history-rows.ts";
import { ColumnArrays, columns } from "../sql/column-arrays.ts";
import { integer } from "../../sql/columns.ts";
import { Subject } from "../connection/subject.ts";
import type { Answer, Pipeline } from "../connection/pipeline.ts";
import { indexEquals } from "../../sql/index-lookup.ts";

const ROWS = new ColumnArrays({
  ...columns("bigint", "instance", "execution", "first", "last", "checksum"),
  data: "text",
});
const EXECUTIONS = new ColumnArrays({ instance: "bigint", execution: "bigint" });

/** Columns of a row `h`, read by `rowsOf`. */
export const COLUMNS = "h.instance, h.execution, h.first, h.last, h.data, h.checksum";

export interface NewHistoryRow extends HistoryRow {
  readonly instance: number;
  readonly execution: number;
}

export class History extends Subject {
  readonly #insert = this.prepare(`
    INSERT INTO @history (instance, execution, first, last, data, checksum)
    SELECT h.instance, h.execution, h.first, h.last, h.data, h.checksum FROM ${ROWS.from("h")}`);
  readonly #select = this.prepare(`
    SELECT ${COLUMNS}
    FROM ${EXECUTIONS.from("e")}
    JOIN @history AS h ON ${indexEquals("h.instance", "e.instance")} AND h.execution = e.execution
    ORDER BY e.n, h.first`);

  append(pipeline: Pipeline, rows: readonly NewHistoryRow[]): void {
    if (rows.length === 0) return;
    const summed = rows.map((row) => {
      const { instance, execution, first, last, data } = row;
      const checksum = checksumOfCopy(row, instance, execution, first, last, data);
      return { instance, execution, first, last, data, checksum };
    });
    pipeline.add(this.#insert, ROWS.values(summed));
  }

  /** Selects the rows of these executions; `rowsOf` reads the answer. */
  select(
    pipeline: Pipeline,
    executions: readonly { readonly instance: number; readonly execution: number }[],
  ): Answer | null {
    if (executions.length === 0) return null;
    return pipeline.add(this.#select, EXECUTIONS.values(executions));
  }
}

/** The answer to `select`, by instance. */
export function rowsOf(answer: Answer | null): Map<number, HistoryRow[]> {
  const found = Map.groupBy(answer?.rows ?? [], (row) => integer(row, "instance"));
  return new Map(found.entries().map(([instance, rows]) => [instance, rows.map(toHistoryRow)]));
}

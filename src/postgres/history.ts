// History: rows of events, one a commit.
//   H1. Rows are only ever added here, at the end (I4); the fence of a turn forbids gaps and overlaps.
//   H2. Texts are handed over as they are (S4); a row that is not what was written says so.

import { checksumFor, isDamaged } from "../core/checksum.ts";
import type { HistoryRow } from "../core/history-row.ts";
import type { ExecutionRecord } from "../core/provider/instances.ts";
import { ColumnArrays } from "./column-arrays.ts";
import { integer, integerOrNull, text, type Row } from "./columns.ts";
import type { Connection, Statements } from "./connection.ts";
import type { Answer, Pipeline, Statement } from "./pipeline.ts";
import { probe } from "./probing.ts";

const ROWS = new ColumnArrays({
  instance: "bigint",
  execution: "bigint",
  first: "bigint",
  last: "bigint",
  checksum: "bigint",
  data: "text",
});
const EXECUTIONS = new ColumnArrays({ instance: "bigint", execution: "bigint" });

/** Of a row `h`; read by `rowsOf`. */
export const COLUMNS = "h.instance, h.execution, h.first, h.last, h.data, h.checksum";

export interface NewHistoryRow extends HistoryRow {
  readonly instance: number;
  readonly execution: number;
}

export class History {
  readonly #connection: Connection;
  readonly #insert: Statement;
  readonly #select: Statement;
  readonly #selectEnds: Statement;

  constructor(connection: Connection) {
    this.#connection = connection;
    this.#insert = connection.prepare(`
      INSERT INTO @history (instance, execution, first, last, data, checksum)
      SELECT h.instance, h.execution, h.first, h.last, h.data, h.checksum FROM ${ROWS.from("h")}`);
    this.#select = connection.prepare(`
      SELECT ${COLUMNS}
      FROM ${EXECUTIONS.from("e")}
      JOIN @history AS h ON ${probe("h.instance", "e.instance")} AND h.execution = e.execution
      ORDER BY e.n, h.first`);
    this.#selectEnds = connection.prepare(`
      SELECT ends.execution, ends.last, ends.head AS head_first, head.last AS head_last,
        head.data AS head, head.checksum AS head_checksum, ends.tail AS tail_first,
        tail.last AS tail_last, tail.data AS tail, tail.checksum AS tail_checksum
      FROM (
        SELECT execution, min(first) AS head, max(first) AS tail, max(last) AS last
        FROM @history WHERE instance = $1 GROUP BY execution
      ) AS ends
      JOIN @history AS head
        ON head.instance = $1 AND head.execution = ends.execution AND head.first = ends.head
      JOIN @history AS tail
        ON tail.instance = $1 AND tail.execution = ends.execution AND tail.first = ends.tail
      ORDER BY ends.execution`);
  }

  append(pipeline: Pipeline, rows: readonly NewHistoryRow[]): void {
    if (rows.length === 0) return;
    const summed = rows.map((row) => {
      const { instance, execution, first, last, data } = row;
      const checksum = checksumFor(row, instance, execution, first, last, data);
      return { instance, execution, first, last, data, checksum };
    });
    pipeline.add(this.#insert, ROWS.values(summed));
  }

  /** The rows of these executions; read by `rowsOf`. */
  select(
    pipeline: Pipeline,
    executions: readonly { readonly instance: number; readonly execution: number }[],
  ): Answer | null {
    if (executions.length === 0) return null;
    return pipeline.add(this.#select, EXECUTIONS.values(executions));
  }

  async read(instance: number, execution: number): Promise<HistoryRow[]> {
    const values = EXECUTIONS.values([{ instance, execution }]);
    return (await this.#connection.read(this.#select, values)).map(toHistoryRow);
  }

  async readExecutions(key: number, statements?: Statements): Promise<ExecutionRecord[]> {
    const rows = await (statements === undefined
      ? this.#connection.read(this.#selectEnds, [key])
      : statements.run(this.#selectEnds, [key]));
    return rows.map((row) => {
      const tail = text(row, "tail");
      const execution = integer(row, "execution");
      const isWrong = (end: string): boolean => {
        const range = [integer(row, `${end}_first`), integer(row, `${end}_last`)] as const;
        const checksum = integerOrNull(row, `${end}_checksum`);
        return isDamaged(checksum, key, execution, ...range, text(row, end));
      };
      return {
        execution,
        startedAt: timeOf(text(row, "head")),
        lastEvent: integer(row, "last"),
        lastBody: lastBodyOf(tail),
        lastAt: timeOf(tail),
        ...(isWrong("head") || isWrong("tail") ? { damaged: true } : {}),
      };
    });
  }
}

/** The answer to `select`, by instance. */
export function rowsOf(answer: Answer | null): Map<number, HistoryRow[]> {
  const rows = new Map<number, HistoryRow[]>();
  for (const row of answer?.rows ?? []) {
    const instance = integer(row, "instance");
    const list = rows.get(instance);
    if (list === undefined) rows.set(instance, [toHistoryRow(row)]);
    else list.push(toHistoryRow(row));
  }
  return rows;
}

function toHistoryRow(row: Row): HistoryRow {
  const [first, last, data] = [integer(row, "first"), integer(row, "last"), text(row, "data")];
  const address = [integer(row, "instance"), integer(row, "execution")] as const;
  const checksum = integerOrNull(row, "checksum");
  if (isDamaged(checksum, ...address, first, last, data)) {
    return { first, last, data, damaged: true };
  }
  return { first, last, data };
}

/** A row's time, from its head (R1 in history-row.ts); 0 if the row cannot be read. */
function timeOf(data: string): number {
  return Number(/^\{"v":\d+,"at":(\d+),/.exec(data)?.[1] ?? 0);
}

/** The last event's body; the whole text if the row cannot be read. */
function lastBodyOf(data: string): string {
  try {
    const { e: bodies }: { e?: unknown } = JSON.parse(data);
    const last: unknown = Array.isArray(bodies) ? bodies.at(-1) : undefined;
    return last === undefined ? data : JSON.stringify(last);
  } catch {
    return data;
  }
}

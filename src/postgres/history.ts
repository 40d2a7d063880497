// History: rows of events, one a commit.
//   H1. Rows are only ever added here, at the end (I4); the fence of a turn forbids gaps and overlaps.
//   H2. Texts are handed over as they are (S4).

import type { HistoryRow } from "../core/history-row.ts";
import type { ExecutionRecord } from "../core/provider/instances.ts";
import { ColumnArrays } from "./column-arrays.ts";
import { integer, text, type Row } from "./columns.ts";
import type { Connection, Statements } from "./connection.ts";
import type { Answer, Pipeline, Statement } from "./pipeline.ts";
import { probe } from "./probing.ts";

const ROWS = new ColumnArrays({
  instance: "bigint",
  execution: "bigint",
  first: "bigint",
  last: "bigint",
  data: "text",
});
const EXECUTIONS = new ColumnArrays({ instance: "bigint", execution: "bigint" });

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
      INSERT INTO @history (instance, execution, first, last, data)
      SELECT h.instance, h.execution, h.first, h.last, h.data FROM ${ROWS.from("h")}`);
    this.#select = connection.prepare(`
      SELECT h.instance, h.first, h.last, h.data
      FROM ${EXECUTIONS.from("e")}
      JOIN @history AS h ON ${probe("h.instance", "e.instance")} AND h.execution = e.execution
      ORDER BY e.n, h.first`);
    this.#selectEnds = connection.prepare(`
      SELECT ends.execution, ends.last, head.data AS head, tail.data AS tail
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
    if (rows.length > 0) pipeline.add(this.#insert, ROWS.values(rows));
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
      return {
        execution: integer(row, "execution"),
        startedAt: timeOf(text(row, "head")),
        lastEvent: integer(row, "last"),
        lastBody: lastBodyOf(tail),
        lastAt: timeOf(tail),
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
  return { first: integer(row, "first"), last: integer(row, "last"), data: text(row, "data") };
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

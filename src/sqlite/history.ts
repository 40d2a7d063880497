// History: rows of events, one a commit.
//   H1. Rows are only ever added here, at the end (I4); the fence of a turn forbids gaps and overlaps.
//   H2. Texts are handed over as they are (S4); a row that is not what was written says so.

import type { StatementSync } from "node:sqlite";
import { checksumFor, isDamaged } from "../core/checksum.ts";
import type { HistoryRow } from "../core/history-row.ts";
import type { ExecutionRecord } from "../core/provider/instances.ts";
import { integer, integerOrNull, text, type Row } from "./columns.ts";
import type { Connection } from "./connection.ts";

export class History {
  readonly #insert: StatementSync;
  readonly #select: StatementSync;
  readonly #selectEnds: StatementSync;

  constructor(connection: Connection) {
    this.#insert = connection.prepare("INSERT INTO history VALUES (?, ?, ?, ?, ?, ?)");
    this.#select = connection.prepare(`
      SELECT instance, execution, first, last, data, checksum FROM history
      WHERE instance = ? AND execution = ? ORDER BY first`);
    this.#selectEnds = connection.prepare(`
      SELECT ends.execution, ends.last, ends.head AS head_first, head.last AS head_last,
        head.data AS head, head.checksum AS head_checksum, ends.tail AS tail_first,
        tail.last AS tail_last, tail.data AS tail, tail.checksum AS tail_checksum
      FROM (
        SELECT execution, min(first) AS head, max(first) AS tail, max(last) AS last
        FROM history WHERE instance = ?1 GROUP BY execution
      ) AS ends
      CROSS JOIN history AS head -- in this order: two look-ups an execution
        ON head.instance = ?1 AND head.execution = ends.execution AND head.first = ends.head
      CROSS JOIN history AS tail
        ON tail.instance = ?1 AND tail.execution = ends.execution AND tail.first = ends.tail
      ORDER BY ends.execution`);
  }

  append(key: number, execution: number, row: HistoryRow): void {
    const { first, last, data } = row;
    const checksum = checksumFor(row, key, execution, first, last, data);
    this.#insert.run(key, execution, first, last, data, checksum);
  }

  read(key: number, execution: number): HistoryRow[] {
    return this.#select.all(key, execution).map(toHistoryRow);
  }

  readExecutions(key: number): ExecutionRecord[] {
    return this.#selectEnds.all(key).map((row) => {
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

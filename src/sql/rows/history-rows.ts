// History rows: maps rows of history to the records of the contract.
//   - Texts are returned as stored (provider.3). A row that fails its checksum is marked as damaged.

import type { HistoryRow } from "../../core/history/rows.ts";
import { isDamaged } from "../../core/values/checksum.ts";
import type { ExecutionRecord } from "../../core/provider/instances.ts";
import { integer, integerOrNull, text, type Row } from "../columns.ts";

export function toHistoryRow(row: Row): HistoryRow {
  const [first, last, data] = [integer(row, "first"), integer(row, "last"), text(row, "data")];
  const address = [integer(row, "instance"), integer(row, "execution")] as const;
  const checksum = integerOrNull(row, "checksum");
  if (isDamaged(checksum, ...address, first, last, data)) {
    return { first, last, data, damaged: true };
  }
  return { first, last, data };
}

/** Reads the first (`head`) and the last (`tail`) row of an execution of the instance `key`. */
export function toExecution(row: Row, key: number): ExecutionRecord {
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
}

/** The time of a row, from the start of its text (rows.1); 0 if the row cannot be read. */
function timeOf(data: string): number {
  return Number(/^\{"v":\d+,"at":(\d+),/.exec(data)?.[1] ?? 0);
}

/** The body of the last event; the whole text if the row cannot be read. */
function lastBodyOf(data: string): string {
  try {
    const { e: bodies }: { e?: unknown } = JSON.parse(data);
    const last: unknown = Array.isArray(bodies) ? bodies.at(-1) : undefined;
    return last === undefined ? data : JSON.stringify(last);
  } catch {
    return data;
  }
}

// Columns: typed readers of result rows.
//   C1. Everything comes as text, so that no parser of the process, its own or a user's, stands between the
//       database and a value. Numbers are those of JavaScript: every one we store is at most 2^53 (N1).
//   C2. A value of another type than its column's is STORE_INVALID, never a guess.

import { PerdureError } from "../core/errors.ts";

export type Row = Readonly<Record<string, string | null>>;

export function integer(row: Row, column: string): number {
  const value = row[column];
  const number = typeof value === "string" ? Number(value) : NaN;
  return Number.isNaN(number) ? unexpected(column, value) : number;
}

export function integerOrNull(row: Row, column: string): number | null {
  return row[column] === null ? null : integer(row, column);
}

export function text(row: Row, column: string): string {
  const value = row[column];
  return typeof value === "string" ? value : unexpected(column, value);
}

export function textOrNull(row: Row, column: string): string | null {
  return row[column] === null ? null : text(row, column);
}

export function flag(row: Row, column: string): boolean {
  const value = row[column];
  return value === "t" || (value === "f" ? false : unexpected(column, value));
}

/** One of a fixed list of words. */
export function word<Word extends string>(row: Row, column: string, words: readonly Word[]): Word {
  const value = row[column];
  return words.find((known) => known === value) ?? unexpected(column, value);
}

/** JSON text that this provider wrote itself; undefined if it cannot be read back. */
export function json<Value>(
  row: Row,
  column: string,
  isValue: (value: unknown) => value is Value,
): Value | undefined {
  try {
    const value: unknown = JSON.parse(text(row, column));
    return isValue(value) ? value : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Of a statement that answers with exactly one row. */
export function only(rows: readonly Row[]): Row {
  const [row] = rows;
  if (row === undefined) throw new PerdureError("STORE_INVALID", "A statement answered nothing.");
  return row;
}

function unexpected(column: string, value: unknown): never {
  throw new PerdureError(
    "STORE_INVALID",
    `Column ${column} holds ${typeof value} ${String(value)}.`,
  );
}

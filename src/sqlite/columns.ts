// Columns: typed readers of result rows.
//   C1. A value of another type than its column's is STORE_INVALID, never a guess. The tables are STRICT, so
//       only a statement that reads what it did not select comes here.

import type { SQLOutputValue, StatementResultingChanges } from "node:sqlite";
import { PerdureError } from "../core/errors.ts";

export type Row = Readonly<Record<string, SQLOutputValue>>;

export function integer(row: Row, column: string): number {
  const value = row[column];
  return typeof value === "number" ? value : unexpected(column, value);
}

export function integerOrNull(row: Row, column: string): number | null {
  const value = row[column];
  return value === null || typeof value === "number" ? value : unexpected(column, value);
}

export function text(row: Row, column: string): string {
  const value = row[column];
  return typeof value === "string" ? value : unexpected(column, value);
}

export function textOrNull(row: Row, column: string): string | null {
  const value = row[column];
  return value === null || typeof value === "string" ? value : unexpected(column, value);
}

/** Of whatever type our columns have. */
export function cell(row: Row, column: string): string | number | null {
  const value = row[column] ?? null;
  if (value === null || typeof value === "string" || typeof value === "number") return value;
  return unexpected(column, value);
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

/** Whether a statement changed anything. */
export function changed(result: StatementResultingChanges): boolean {
  return result.changes > 0;
}

function unexpected(column: string, value: unknown): never {
  throw new PerdureError(
    "STORE_INVALID",
    `Column ${column} holds ${typeof value} ${String(value)}.`,
  );
}

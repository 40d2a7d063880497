// Columns: typed readers of result rows, for the drivers of both stores.
//   - columns.1: PostgreSQL sends every value as text, so no type parser of the process or of the user is
//     involved. SQLite returns numbers and texts. The readers accept both. Numbers fit JavaScript's: every
//     stored integer is at most 2^53 (provider.instances.1).
//   - A value of the wrong type throws STORE_INVALID.

import { PerdureError } from "../core/errors/errors.ts";

export type Row = Readonly<Record<string, unknown>>;

export function integer(row: Row, column: string): number {
  const value = row[column];
  if (typeof value === "number") return value;
  const number = typeof value === "string" ? Number(value) : NaN;
  return Number.isNaN(number) ? unexpected(column, value) : number;
}

/** Several integers, by column. */
export function integers<Column extends string>(
  row: Row,
  ...columns: readonly Column[]
): Readonly<Record<Column, number>> {
  const entries = columns.map((column) => [column, integer(row, column)] as const);
  return Object.fromEntries(entries) as Record<Column, number>; // one entry per column
}

export function integerOrNull(row: Row, column: string): number | null {
  return row[column] === null ? null : integer(row, column);
}

export function flag(row: Row, column: string): boolean {
  const value = row[column];
  if (value === 1 || value === "t") return true;
  return value === 0 || value === "f" ? false : unexpected(column, value);
}

export function text(row: Row, column: string): string {
  const value = row[column];
  return typeof value === "string" ? value : unexpected(column, value);
}

export function textOrNull(row: Row, column: string): string | null {
  return row[column] === null ? null : text(row, column);
}

/** One of a fixed list of words. */
export function word<Word extends string>(row: Row, column: string, words: readonly Word[]): Word {
  const value = row[column];
  return words.find((known) => known === value) ?? unexpected(column, value);
}

/** JSON text that this provider wrote; undefined if it is damaged. */
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

export function isTextList(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((member) => typeof member === "string");
}

/** The row of a statement that returns exactly one. */
export function only(rows: readonly Row[]): Row {
  const [row] = rows;
  if (row === undefined)
    throw new PerdureError("STORE_INVALID", "A statement that must return a row returned none.");
  return row;
}

export function unexpected(column: string, value: unknown): never {
  const message = `Column "${column}" has an unexpected value: ${String(value)} (${typeof value}).`;
  throw new PerdureError("STORE_INVALID", message);
}

// Column arrays: many rows as one statement's parameters, a list a column.
//   A1. `unnest` makes rows of them again, in their order, without parsing more than the numbers.
//   A2. Lists of text are sent in binary: nothing in them needs escaping, and nothing is looked at twice.

import type { Value } from "./pipeline.ts";

export type ColumnType = "bigint" | "double precision" | "boolean" | "text";

type ValueOf<Type extends ColumnType> = Type extends "text"
  ? string | null
  : Type extends "boolean"
    ? boolean | null
    : number | null;

export class ColumnArrays<Types extends Readonly<Record<string, ColumnType>>> {
  readonly #columns: readonly (readonly [name: string, type: ColumnType])[];

  constructor(types: Types) {
    this.#columns = Object.entries(types);
  }

  /** How many parameters the columns take. */
  get width(): number {
    return this.#columns.length;
  }

  /** The rows as a table named `alias`; its first parameter is `$first`. Column `n` is their order. */
  from(alias: string, first = 1): string {
    const arrays = this.#columns.map(([, type], place) => `$${first + place}::${type}[]`);
    const names = this.#columns.map(([name]) => name);
    return `unnest(${arrays.join(", ")}) WITH ORDINALITY AS ${alias} (${names.join(", ")}, n)`;
  }

  values(rows: readonly { readonly [Name in keyof Types]: ValueOf<Types[Name]> }[]): Value[] {
    return this.#columns.map(([name, type]) => {
      const column: (string | number | boolean | null)[] = [];
      let isEmpty = true;
      for (const row of rows) {
        const value = row[name] ?? null;
        isEmpty &&= value === null;
        column.push(value);
      }
      if (isEmpty) return NOTHING; // `unnest` makes up for what a list is shorter than the others
      return type === "text" ? texts(column) : plain(column);
    });
  }
}

const NOTHING = "{}";

/** A list of numbers or booleans, as the server writes it. */
export function plain(values: readonly (string | number | boolean | null)[]): string {
  let list = "{";
  for (const [index, value] of values.entries()) {
    if (index > 0) list += ",";
    list += value === null ? "NULL" : String(value);
  }
  return `${list}}`;
}

const HEADER_BYTES = 20;
const TEXT_OID = 25;
const NULL_LENGTH = -1;

/** A list of texts, in the server's binary format. */
export function texts(values: readonly (string | number | boolean | null)[]): Buffer {
  const lengths = values.map((value) =>
    value === null ? NULL_LENGTH : Buffer.byteLength(String(value)),
  );
  let size = HEADER_BYTES + 4 * values.length;
  for (const length of lengths) size += Math.max(length, 0);
  const buffer = Buffer.allocUnsafe(size);
  const header = [1, 1, TEXT_OID, values.length, 1]; // dimensions, may hold NULL, type, length, first index
  for (const [place, number] of header.entries()) buffer.writeInt32BE(number, 4 * place);
  let at = HEADER_BYTES;
  for (const [index, value] of values.entries()) {
    const length = lengths[index] ?? NULL_LENGTH;
    at = buffer.writeInt32BE(length, at);
    if (value !== null) at += buffer.write(String(value), at);
  }
  return buffer;
}

/** The same list as text, for whoever can send nothing else. */
export function literalOf(list: Buffer): string {
  const parts: string[] = [];
  for (let at = HEADER_BYTES; at < list.length;) {
    const length = list.readInt32BE(at);
    at += 4;
    if (length === NULL_LENGTH) {
      parts.push("NULL");
      continue;
    }
    const value = list.toString("utf8", at, at + length);
    parts.push(`"${value.replaceAll(/["\\]/g, "\\$&")}"`);
    at += length;
  }
  return `{${parts.join(",")}}`;
}

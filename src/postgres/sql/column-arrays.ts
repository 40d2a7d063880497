// Column arrays: pass many rows as the parameters of one statement, one array per column.
//   - `unnest` turns them back into rows, in their order.
//   - Arrays travel in PostgreSQL's binary format. The rows are read when the array is written to the socket
//     (wire.ts), so no array is built in memory.

import type { Value } from "../connection/pipeline.ts";
import type { Wire, WireValue } from "../connection/wire.ts";

export type ColumnType = "bigint" | "double precision" | "boolean" | "text";

type ValueOf<Type extends ColumnType> = Type extends "text"
  ? string | null
  : Type extends "boolean"
    ? boolean | null
    : number | null;
type Cell = string | number | boolean | null;

export class ColumnArrays<Types extends Readonly<Record<string, ColumnType>>> {
  readonly #columns: readonly (readonly [name: string, type: ColumnType])[];

  constructor(types: Types) {
    this.#columns = Object.entries(types);
  }

  /** The number of parameters. */
  get width(): number {
    return this.#columns.length;
  }

  /**
   * SQL of the rows as a table named `alias`; its first parameter is `$first`. Column `n` numbers the rows
   * from 1.
   */
  from(alias: string, first = 1): string {
    const names = this.#columns.map(([name]) => name);
    return `unnest(${this.arrays(first)}) WITH ORDINALITY AS ${alias} (${names.join(", ")}, n)`;
  }

  /** SQL of the parameters; the first one is `$first`. */
  arrays(first: number): string {
    return this.#columns.map(([, type], index) => `$${first + index}::${type}[]`).join(", ");
  }

  /** The rows must not change until the statement is answered. */
  values(rows: readonly { readonly [Name in keyof Types]: ValueOf<Types[Name]> }[]): Value[] {
    return this.#columns.map(([name, type]) => new Column(rows, name, type));
  }
}

/**
 * Rows that differ in some columns and have the others in common. Only the former are arrays, which is faster than an
 * array for each column.
 */
export class SimilarRows<
  Types extends Readonly<Record<string, ColumnType>>,
  Common extends Readonly<Record<string, ColumnType>>,
> {
  readonly #arrays: ColumnArrays<Types>;
  readonly #types: Types;
  readonly #common: readonly (readonly [name: string, type: ColumnType])[];

  constructor(types: Types, common: Common) {
    this.#types = types;
    this.#arrays = new ColumnArrays(types);
    this.#common = Object.entries(common);
  }

  /** SQL of the rows: tables `t` with the columns that differ and `c` with the common ones. Its first parameter is $1. */
  get from(): string {
    const lists = Object.entries(this.#types).map(
      ([name, type], index) => `unnest($${index + 1}::${type}[]) AS ${name}`,
    );
    const values = this.#common.map(
      ([name, type], index) => `$${this.#arrays.width + index + 1}::${type} AS ${name}`,
    );
    return `(SELECT ${lists.join(", ")}) AS t, (SELECT ${values.join(", ")}) AS c`;
  }

  /** The common columns are taken from the first row. The rows must not change until the statement is answered. */
  values(
    rows: readonly {
      readonly [Name in keyof (Types & Common)]: ValueOf<(Types & Common)[Name]>;
    }[],
  ): Value[] {
    const [first] = rows as readonly { readonly [name: string]: Cell | undefined }[];
    return [...this.#arrays.values(rows), ...this.#common.map(([name]) => first?.[name] ?? null)];
  }
}

/** Columns of one type, in their order. */
export function columns<Type extends ColumnType, Name extends string>(
  type: Type,
  ...names: readonly Name[]
): Readonly<Record<Name, Type>> {
  return Object.fromEntries(names.map((name) => [name, type])) as Record<Name, Type>; // one entry per name
}

/** An array of numbers or booleans in PostgreSQL's text format. */
export function plain(values: readonly Cell[]): string {
  let list = "{";
  for (const [index, value] of values.entries()) {
    if (index > 0) list += ",";
    list += value === null ? "NULL" : String(value);
  }
  return `${list}}`;
}

/** An array of texts. */
export function texts(values: readonly Cell[]): Value {
  return new Column(
    values.map((value) => ({ value })),
    "value",
    "text",
  );
}

const NULL_LENGTH = -1;
const TYPE_IDS: Readonly<Record<ColumnType, number>> = {
  boolean: 16,
  bigint: 20,
  text: 25,
  "double precision": 701,
};

/** One column of some rows, as an array. */
class Column implements WireValue {
  readonly #rows: readonly { readonly [name: string]: Cell | undefined }[];
  readonly #name: string;
  readonly #type: ColumnType;

  constructor(
    rows: readonly { readonly [name: string]: Cell | undefined }[],
    name: string,
    type: ColumnType,
  ) {
    this.#rows = rows;
    this.#name = name;
    this.#type = type;
  }

  writeTo(wire: Wire): boolean {
    const start = wire.position;
    wire.int32(1); // dimensions
    wire.int32(1); // it may contain NULL
    wire.int32(TYPE_IDS[this.#type]);
    wire.int32(this.#rows.length);
    wire.int32(1); // the index of the first element
    let isEmpty = true;
    for (const row of this.#rows) {
      const cell = row[this.#name] ?? null;
      if (cell === null) wire.int32(NULL_LENGTH);
      else if (this.#writeCell(wire, cell)) isEmpty = false;
      else {
        // The server must refuse the value, as it refuses any value of a wrong type.
        wire.rewind(start);
        wire.string(this.toLiteral());
        return false;
      }
    }
    if (!isEmpty) return true;
    wire.rewind(start + 12); // no dimensions: `unnest` fills shorter arrays with NULL
    wire.setInt32(start, 0);
    return true;
  }

  /** False: the binary format of the column's type cannot hold the value. */
  #writeCell(wire: Wire, cell: string | number | boolean): boolean {
    switch (this.#type) {
      case "text":
        wire.text(String(cell));
        return true;
      case "bigint":
        if (!Number.isSafeInteger(cell)) return false;
        wire.int32(8);
        wire.int64(Number(cell));
        return true;
      case "double precision":
        if (typeof cell !== "number") return false;
        wire.int32(8);
        wire.float64(cell);
        return true;
      case "boolean":
        if (typeof cell !== "boolean") return false;
        wire.int32(1);
        wire.byte(cell ? 1 : 0);
        return true;
    }
  }

  toLiteral(): string {
    const cells = this.#rows.map((row) => row[this.#name] ?? null);
    if (cells.every((cell) => cell === null)) return "{}"; // as `writeTo`
    if (this.#type !== "text") return plain(cells);
    const quoted = cells.map((cell) =>
      cell === null ? "NULL" : `"${String(cell).replaceAll(/["\\]/g, "\\$&")}"`,
    );
    return `{${quoted.join(",")}}`;
  }
}

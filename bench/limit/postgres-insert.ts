// An INSERT of many rows that sets the columns that a program needs; the schema's other columns get a minimal value.
//   The counterpart of insert.ts, for the same reason.

import type pg from "pg";
import { ColumnArrays, type ColumnType } from "../../src/postgres/sql/column-arrays.ts";
import { Statement } from "../../src/postgres/connection/pipeline.ts";

/** The values that an INSERT takes for each row, and SQL expressions by column, which may use those values as `t.…`. */
export interface Shape<Types> {
  readonly rows: Types;
  readonly values: Readonly<Record<string, string>>;
}

export interface Insert<Types extends Readonly<Record<string, ColumnType>>> {
  readonly statement: Statement;
  readonly columns: ColumnArrays<Types>;
}

/** Tables are found through the connection's search path. */
export async function prepareInsert<Types extends Readonly<Record<string, ColumnType>>>(
  client: pg.Client,
  table: string,
  { rows, values }: Shape<Types>,
): Promise<Insert<Types>> {
  const all = new Map(Object.entries(values));
  const found = await client.query<{ name: string; type: string }>(
    `SELECT column_name AS name, data_type AS type FROM information_schema.columns
     WHERE table_schema = current_schema AND table_name = $1
       AND is_nullable = 'NO' AND column_default IS NULL AND is_identity = 'NO'`,
    [table],
  );
  for (const { name, type } of found.rows) if (!all.has(name)) all.set(name, least(type));
  const columns = new ColumnArrays(rows);
  const names = [...all.keys()].join(", ");
  const expressions = [...all.values()].join(", ");
  const text = `INSERT INTO ${table} (${names}) SELECT ${expressions} FROM ${columns.from("t")}`;
  return { statement: new Statement(text), columns };
}

function least(type: string): string {
  if (type === "text") return "''";
  if (type === "ARRAY") return "'{}'";
  return type === "boolean" ? "false" : "0";
}

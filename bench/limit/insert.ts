// An INSERT that sets the columns that a program needs; the schema's other columns get a minimal value.
//   A new column in the schema then costs the limit as much as it costs the engine, and does not break the limit.

import type { DatabaseSync, StatementSync } from "node:sqlite";

/** `values` are SQL expressions, such as `?1` or `'limit'`, by column. */
export function prepareInsert(
  database: DatabaseSync,
  table: string,
  values: Readonly<Record<string, string>>,
): StatementSync {
  const all = new Map(Object.entries(values));
  for (const column of database.prepare("SELECT * FROM pragma_table_info(?)").all(table)) {
    const name = String(column["name"]);
    const isOptional = column["notnull"] === 0 || column["dflt_value"] !== null;
    if (all.has(name) || isOptional) continue;
    all.set(name, column["type"] === "TEXT" ? "''" : "0");
  }
  const columns = [...all.keys()].join(", ");
  const expressions = [...all.values()].join(", ");
  return database.prepare(`INSERT INTO ${table} (${columns}) VALUES (${expressions})`);
}

// New stores: how an empty database gets its tables.
//   - Applying every migration takes most of the time of opening a store, because SQLite parses the whole schema again
//       after each change of a table. A process applies them to its first new store, reads back what they have created,
//       and creates its further new stores from that. Test suites create thousands.
//   - The result is the same, except for the time of creation and the random id of the store.

import type { DatabaseSync, SQLInputValue } from "node:sqlite";
import { text } from "../sql/columns.ts";

interface NewStore {
  readonly schema: string;
  readonly rows: readonly { readonly insert: string; readonly values: readonly SQLInputValue[] }[];
}

/** What the migrations create; null: this process has not applied them yet. */
let known: NewStore | null = null;

/** Reads back what the migrations have created in a database that was empty. */
export function rememberNewStore(database: DatabaseSync): void {
  known ??= { schema: schemaOf(database), rows: rowsOf(database) };
}

/** Creates everything in an empty database. False: the migrations must be applied. */
export function createFromMemory(database: DatabaseSync, now: number): boolean {
  if (known === null) return false;
  database.exec(known.schema);
  for (const { insert, values } of known.rows) database.prepare(insert).run(...values);
  database.prepare("UPDATE meta SET value = ? WHERE name = 'created_at'").run(now);
  database.exec("UPDATE store SET id = lower(hex(randomblob(16)))");
  return true;
}

const SELECT_SCHEMA = `
  SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'
  ORDER BY type = 'trigger', type = 'index', rowid`;

function schemaOf(database: DatabaseSync): string {
  const parts = database.prepare(SELECT_SCHEMA).all();
  return parts.map((row) => `${text(row, "sql")};`).join("\n");
}

function rowsOf(database: DatabaseSync): NewStore["rows"] {
  const tables = database.prepare(SELECT_SCHEMA).all();
  return tables
    .filter((row) => text(row, "type") === "table")
    .flatMap((row) => {
      const table = text(row, "name");
      const rows = database.prepare(`SELECT * FROM ${table}`).all();
      return rows.map((each) => {
        const values = Object.values(each);
        const insert = `INSERT INTO ${table} VALUES (${values.map(() => "?").join(", ")})`;
        return { insert, values };
      });
    });
}

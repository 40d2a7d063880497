// Every table and column of the schemas either moves, or is listed with the reason why it does not.

import { DatabaseSync } from "node:sqlite";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { TRANSFER_TABLES } from "../../../src/core/provider/transfer.ts";
import { PostgresProvider } from "../../../src/postgres/index.ts";
import * as inPostgres from "../../../src/postgres/admin/transfer.ts";
import { SqliteProvider } from "../../../src/sqlite/index.ts";
import * as inSqlite from "../../../src/sqlite/admin/transfer.ts";
import { dropSchema, freshSchema, postgres } from "../../support/postgres.ts";

interface Own {
  readonly OWN_TABLES: Readonly<Record<string, string>>;
  readonly OWN_COLUMNS: Readonly<Record<string, string>>;
}

/** Columns that neither move nor are listed, columns that are missing, and listed tables that do not exist. */
function forgotten(columns: readonly (readonly [table: string, column: string])[], own: Own) {
  const moved = new Set(
    TRANSFER_TABLES.flatMap(({ name, columns: of }) => Object.keys(of).map((c) => `${name}.${c}`)),
  );
  const has = new Set(columns.map(([table, column]) => `${table}.${column}`));
  const left = columns
    .filter(([table]) => !Object.hasOwn(own.OWN_TABLES, table))
    .filter(([table, column]) => !moved.has(`${table}.${column}`))
    .filter(([, column]) => !Object.hasOwn(own.OWN_COLUMNS, column))
    .map(([table, column]) => `${table}.${column}`);
  const missing = [...moved].filter((name) => !has.has(name));
  const tables = new Set(columns.map(([table]) => table));
  const unknown = Object.keys(own.OWN_TABLES).filter(
    (name) => !tables.has(name) && name !== "move",
  );
  return { left, missing, unknown };
}
const NOTHING = { left: [], missing: [], unknown: [] };

test("every table and column of SQLite's schema moves, or is listed", async () => {
  const folder = mkdtempSync(join(tmpdir(), "perdure-schema-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "store.db");
  await (await SqliteProvider.open(file)).close();
  using database = new DatabaseSync(file);
  const rows = database
    .prepare(
      `SELECT t.name AS "table", c.name AS "column" FROM sqlite_schema AS t, pragma_table_info(t.name) AS c
       WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%'`,
    )
    .all();
  const columns = rows.map((row) => [String(row["table"]), String(row["column"])] as const);
  expect(columns.length).toBeGreaterThan(80);
  expect(forgotten(columns, inSqlite)).toEqual(NOTHING);
  // The check finds new columns and tables.
  expect(forgotten([...columns, ["instances", "extra"], ["extras", "id"]], inSqlite).left).toEqual([
    "instances.extra",
    "extras.id",
  ]);
});

test("every table, column and sequence of PostgreSQL's schema moves, or is listed", async () => {
  const schema = freshSchema();
  onTestFinished(() => dropSchema(schema));
  const { url, query } = await postgres();
  await PostgresProvider.migrate(url, { schema });
  const rows = await query(
    `SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = $1`,
    [schema],
  );
  const columns = rows.map(
    (row) => [String(row["table_name"]), String(row["column_name"])] as const,
  );
  expect(columns.length).toBeGreaterThan(90);
  expect(forgotten(columns, inPostgres)).toEqual(NOTHING);
  const sequences = await query(
    `SELECT relname FROM pg_class WHERE relnamespace = $1::regnamespace AND relkind = 'S' ORDER BY relname`,
    [schema],
  );
  // The sequences of instances and messages move. The sequence of kept messages is set after its rows. A marked store has
  // no arrivals.
  expect(sequences.map(({ relname }) => relname)).toEqual([
    "arrivals_number_seq",
    "instance_keys",
    "kept_number_seq",
    "message_ids",
  ]);
});

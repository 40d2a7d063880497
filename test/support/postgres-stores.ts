// Stores in PostgreSQL for many tests of one process.
//   The tests share a pool, and schemas that are emptied between tests, so that statements are planned once. Planning
//   would otherwise take most of the time.

import pg from "pg";
import { PostgresProvider, type PostgresOptions } from "../../src/postgres/index.ts";
import { dropSchema, freshSchema, postgres } from "./postgres.ts";

const CONNECTIONS_MAX = 12;
const SEQUENCES = ["instance_keys", "message_ids"];

const wiped: string[] = [];
let pool: Promise<pg.Pool> | null = null;

/** The name of a missing or empty schema. */
export function takeSchema(): string {
  return wiped.pop() ?? freshSchema();
}

/** Empties a schema that is no longer used, for the next test. */
export async function giveBackSchema(schema: string): Promise<void> {
  await wipe(schema);
  wiped.push(schema);
}

/** A provider on the process's pool. */
export async function openOnPool(
  schema: string,
  options: Omit<PostgresOptions, "schema"> = {},
): Promise<PostgresProvider> {
  pool ??= postgres().then(
    ({ url }) => new pg.Pool({ connectionString: url, max: CONNECTIONS_MAX }),
  );
  return PostgresProvider.open(await pool, { ...options, schema });
}

/** Drops the used schemas and closes the pool, so that the process can end. */
export async function closePool(): Promise<void> {
  for (const schema of wiped.splice(0)) await dropSchema(schema);
  await (await pool)?.end();
  pool = null;
}

/** A copy of a schema from one snapshot, as pg_dump and a restore would create it. */
export async function copySchema(schema: string): Promise<string> {
  const copy = freshSchema();
  const { url, query } = await postgres();
  await PostgresProvider.migrate(url, { schema: copy });
  const tables = await tablesOf(schema);
  const steps = tables.map(
    (table) =>
      `DELETE FROM ${copy}.${table}; INSERT INTO ${copy}.${table} SELECT * FROM ${schema}.${table}`,
  );
  const numbers = SEQUENCES.map(
    (name) => `SELECT setval('${copy}.${name}', (SELECT last_value FROM ${schema}.${name}))`,
  );
  const snapshot = "BEGIN ISOLATION LEVEL REPEATABLE READ";
  await query([snapshot, ...steps, ...numbers, "COMMIT"].join("; "));
  return copy;
}

/** Replaces the contents of the schema by those of the copy, including sequences, in one transaction. */
export async function restoreSchema(schema: string, copy: string): Promise<void> {
  const { query } = await postgres();
  const tables = await tablesOf(schema);
  const locks = `LOCK TABLE ${tables.map((table) => `${schema}.${table}`).join(", ")}`;
  const steps = tables.map(
    (table) =>
      `DELETE FROM ${schema}.${table}; INSERT INTO ${schema}.${table} SELECT * FROM ${copy}.${table}`,
  );
  const numbers = SEQUENCES.map(
    (name) => `SELECT setval('${schema}.${name}', (SELECT last_value FROM ${copy}.${name}))`,
  );
  await query(["BEGIN", locks, ...steps, ...numbers, "COMMIT"].join("; "));
}

async function wipe(schema: string): Promise<void> {
  const { query } = await postgres();
  const tables = await tablesOf(schema);
  if (tables.length === 0) return; // the schema was never opened
  const deletes = tables.map((table) => `DELETE FROM ${schema}.${table}`);
  const numbers = SEQUENCES.map((name) => `ALTER SEQUENCE ${schema}.${name} RESTART`);
  await query([...deletes, ...numbers].join("; "));
}

/** The tables with user data. Tallies come last, because triggers write them when rows of instances change. */
async function tablesOf(schema: string): Promise<readonly string[]> {
  const { query } = await postgres();
  const rows = await query(
    `SELECT relname FROM pg_class
     WHERE relnamespace = to_regnamespace($1) AND relkind = 'r' AND relname NOT IN ('meta', 'store')
     ORDER BY relname = 'tallies', relname`,
    [schema],
  );
  return rows.map(({ relname }) => String(relname));
}

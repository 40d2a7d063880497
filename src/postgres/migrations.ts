// Migrations: numbered .sql files that create the tables, applied in order, each in the store's schema.
//   - They run in one transaction, under an advisory lock named after the schema. Of many processes that
//       start at once, one applies a file and the others find it applied.
//   - A schema that is neither empty nor a Perdure store raises an error before anything is written. So
//       does a store that a newer version of Perdure has written.
//   - "verify" writes nothing, so a role without the right to create tables can open the store.
//   - Timeouts of the role do not apply: a process waits for the lock as long as another one needs.

import { readFileSync } from "node:fs";
import type pg from "pg";
import { PerdureError } from "../core/errors/errors.ts";
import { fillChecksums } from "./admin/fill-checksums.ts";
import {
  checkRights,
  withRights,
  withRightToCreate,
  type RightsOptions,
} from "./connection/rights.ts";

/** "apply" creates missing tables. "verify" raises an error if tables are missing or old. */
export type Migrate = "apply" | "verify";

/** After this file, `fillChecksums` does what SQL alone cannot do. */
const CHECKSUMS_FILE = "0006-every-checksum.sql";

/** In order. A file's index plus one is the schema version after it was applied. */
const FILES = [
  "0001-initial.sql",
  "0002-arrivals.sql",
  "0003-checksums.sql",
  "0004-request-digests.sql",
  "0005-retention.sql",
  CHECKSUMS_FILE,
  "0007-waiting-events.sql",
  "0008-tallies.sql",
  "0009-id-prefixes.sql",
  "0010-begun.sql",
  "0011-lease-checks.sql",
  "0012-payload-compression.sql",
  "0013-asks.sql",
  "0014-kept-messages.sql",
  "0015-callbacks.sql",
  "0016-streams.sql",
  "0017-jobs.sql",
  "0018-queues.sql",
  "0019-enqueue-keys.sql",
  "0020-search.sql",
  "0021-tallies-of-one-turn.sql",
  "0022-rare-steps.sql",
];
export const SCHEMA_VERSION = FILES.length;

/** "Perd". This number in the table `meta` marks a schema as a Perdure store. */
const APPLICATION_ID = 0x50657264;

const NO_TIMEOUTS = `
  SELECT set_config(name, '0', true) FROM pg_settings WHERE name IN
    ('statement_timeout', 'transaction_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout')`;

export async function migrate(
  client: pg.ClientBase,
  options: RightsOptions & { readonly migrate: Migrate },
): Promise<void> {
  const { name, schema } = options;
  const found = await withRights(client, options, () => readVersion(client, name, schema));
  if (found !== SCHEMA_VERSION) {
    if (options.migrate === "verify") throw outdated(name, found);
    await withRightToCreate(client, options, () => applyMissing(client, options));
  }
  await checkRights(client, options);
}

async function applyMissing(client: pg.ClientBase, { name, schema }: RightsOptions): Promise<void> {
  await inTransaction(client, async () => {
    await client.query(NO_TIMEOUTS);
    await client.query("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", [
      `${schema}:migrations`,
    ]);
    const version = await readVersion(client, name, schema);
    if (version === SCHEMA_VERSION) return;
    if (!(await exists(client, name))) await client.query(`CREATE SCHEMA ${schema}`);
    await client.query(`SET LOCAL search_path TO ${schema}`);
    if (version === 0) await createMeta(client);
    for (const file of FILES.slice(version)) {
      await client.query(read(file));
      if (file === CHECKSUMS_FILE) await fillChecksums(client);
    }
    await client.query("UPDATE meta SET value = $1 WHERE name = 'schema_version'", [
      SCHEMA_VERSION,
    ]);
  });
}

/**
 * Returns the schema version; 0 means that the schema is missing or empty. Throws unless it is a known
 * version.
 */
async function readVersion(client: pg.ClientBase, name: string, schema: string): Promise<number> {
  const { rows } = await client.query<{ relname: string }>(
    `SELECT relname FROM pg_class WHERE relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = $1)
     ORDER BY relname = 'meta' DESC LIMIT 1`,
    [name],
  );
  const [first] = rows;
  if (first === undefined) return 0;
  if (first.relname !== "meta") throw foreign(name);
  const meta = await readMeta(client, schema);
  if (Number(meta.get("application_id")) !== APPLICATION_ID) throw foreign(name);
  const version = Number(meta.get("schema_version"));
  if (version > SCHEMA_VERSION) {
    const message = `Schema "${name}" has version ${version}; this version of Perdure supports up to ${SCHEMA_VERSION}. Update Perdure.`;
    throw new PerdureError("SCHEMA_NEWER", message);
  }
  return version;
}

/** Returns an empty map if the table `meta` belongs to another program. */
async function readMeta(client: pg.ClientBase, schema: string): Promise<Map<string, string>> {
  try {
    const sql = `SELECT name, value::text AS value FROM ${schema}.meta WHERE value IS NOT NULL`;
    const { rows } = await client.query<{ name: string; value: string }>(sql);
    return new Map(rows.map((row) => [row.name, row.value]));
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "42703") return new Map();
    throw error;
  }
}

async function exists(client: pg.ClientBase, name: string): Promise<boolean> {
  const { rows } = await client.query("SELECT 1 FROM pg_namespace WHERE nspname = $1", [name]);
  return rows.length > 0;
}

async function createMeta(client: pg.ClientBase): Promise<void> {
  await client.query(`CREATE TABLE meta (name text PRIMARY KEY, value bigint NOT NULL)`);
  await client.query(
    `INSERT INTO meta VALUES ('application_id', $1), ('schema_version', 0),
       ('created_at', floor(date_part('epoch', clock_timestamp()) * 1000)::bigint)`,
    [APPLICATION_ID],
  );
}

function read(file: string): string {
  return readFileSync(new URL(`./migrations/${file}`, import.meta.url), "utf8");
}

async function inTransaction(client: pg.ClientBase, work: () => Promise<void>): Promise<void> {
  // A process that waited for the lock must then see what the previous holder committed.
  await client.query("BEGIN ISOLATION LEVEL READ COMMITTED");
  try {
    await work();
    await client.query("COMMIT");
  } catch (error) {
    await client.query("ROLLBACK").catch(() => undefined); // the first error is more useful
    throw error;
  }
}

function foreign(name: string): PerdureError {
  const message = `Schema "${name}" holds tables of another program. Give Perdure a separate schema.`;
  return new PerdureError("STORE_INVALID", message);
}

function outdated(name: string, version: number): PerdureError {
  const what =
    version === 0
      ? "has no Perdure tables"
      : `has version ${version}; this version of Perdure needs ${SCHEMA_VERSION}`;
  const names = FILES.slice(version).join(", ");
  const message = `Schema "${name}" ${what}. Missing: ${names}. Run perdure migrate, or call PostgresProvider.migrate, as a role that may create tables, or open with migrate: "apply".`;
  return new PerdureError("STORE_INVALID", message);
}

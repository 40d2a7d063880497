// Migrations: numbered .sql files that create the tables, applied in order.
//   - The version is read again under the write lock. Of many processes that start at once, one applies a
//       file and the others find it applied.
//   - migrations.1: A database that is neither empty nor a Perdure store raises an error before anything is
//       written. So does a store that a newer version of Perdure has written.
//   - "verify" writes nothing: a process that only inspects a store must not change the schema under
//       running workers.

import { readFileSync } from "node:fs";
import type { DatabaseSync, SQLInputValue } from "node:sqlite";
import { checksumOf, type ChecksumPart } from "../core/values/checksum.ts";
import { PerdureError } from "../core/errors/errors.ts";
import { integer, type Row } from "../sql/columns.ts";
import { inTransaction } from "./connection/in-transaction.ts";
import { createFromMemory, rememberNewStore } from "./new-store.ts";

/** "apply" creates missing tables. "verify" raises an error if tables are missing or old. */
export type Migrate = "apply" | "verify";

/** In order. A file's index plus one is the schema version after it was applied. */
const FILES = [
  "0001-initial.sql",
  "0002-checksums.sql",
  "0003-request-digests.sql",
  "0004-clock.sql",
  "0005-retention.sql",
  "0006-every-checksum.sql",
  "0007-waiting-events.sql",
  "0008-tallies.sql",
  "0009-begun.sql",
  "0010-lease-checks.sql",
  "0011-history-rows.sql",
  "0012-events-of-turns.sql",
  "0013-asks.sql",
  "0014-kept-messages.sql",
  "0015-callbacks.sql",
  "0016-streams.sql",
  "0017-jobs.sql",
  "0018-queues.sql",
  "0019-enqueue-keys.sql",
  "0020-search.sql",
];
export const SCHEMA_VERSION = FILES.length;

/** "Perd". The application id in SQLite's file header marks a file as a Perdure store. */
const APPLICATION_ID = 0x50657264;

/** Throws unless the database is empty or a Perdure store of a known version. Writes nothing. */
export function refuseForeign(database: DatabaseSync, path: string, how: Migrate): void {
  // One snapshot, because another process may be creating the tables at this moment.
  const version = inTransaction(database, "BEGIN", () => readVersion(database, path));
  if (how === "verify" && version < SCHEMA_VERSION) throw outdated(path, version);
}

export function migrate(database: DatabaseSync, path: string, now: number): void {
  const found = inTransaction(database, "BEGIN", () => readVersion(database, path));
  if (found === SCHEMA_VERSION) return;
  inTransaction(database, "BEGIN IMMEDIATE", () => {
    const version = readVersion(database, path);
    if (version === 0) {
      database.exec(`PRAGMA application_id = ${APPLICATION_ID}`);
      if (createFromMemory(database, now)) return;
      createMeta(database, now);
    }
    defineFunctions(database);
    for (const file of FILES.slice(version)) database.exec(read(file));
    database.exec(`UPDATE meta SET value = ${SCHEMA_VERSION} WHERE name = 'schema_version'`);
    if (version === 0) rememberNewStore(database);
  });
}

/** Defines the SQL functions that the files use. */
function defineFunctions(database: DatabaseSync): void {
  const options = { deterministic: true, directOnly: true, varargs: true } as const;
  database.function("row_checksum", options, (...parts) => checksumOf(...parts.map(toCovered)));
}

function toCovered(part: SQLInputValue): ChecksumPart {
  if (part === null || typeof part === "string" || typeof part === "number") return part;
  const message = `A checksummed column must hold text, a number or NULL; got ${typeof part}.`;
  throw new PerdureError("STORE_INVALID", message);
}

/** Returns the schema version; 0 means that the database is empty. Throws as migrations.1 says. */
export function readVersion(database: DatabaseSync, path: string): number {
  const applicationId = integer(one(database, "PRAGMA application_id"), "application_id");
  const objects = integer(
    one(database, "SELECT count(*) AS objects FROM sqlite_schema"),
    "objects",
  );
  if (objects === 0 && applicationId === 0) return 0;
  if (applicationId !== APPLICATION_ID) {
    const message = `${path} is a database of another program. Give Perdure a separate file.`;
    throw new PerdureError("STORE_INVALID", message);
  }
  const row = one(database, "SELECT value FROM meta WHERE name = 'schema_version'");
  const version = integer(row, "value");
  if (version > SCHEMA_VERSION) {
    const message = `${path} has schema version ${version}; this version of Perdure supports up to ${SCHEMA_VERSION}. Update Perdure.`;
    throw new PerdureError("SCHEMA_NEWER", message);
  }
  return version;
}

function outdated(path: string, version: number): PerdureError {
  const what =
    version === 0
      ? "has no Perdure tables"
      : `has schema version ${version}; this version of Perdure needs ${SCHEMA_VERSION}`;
  const names = FILES.slice(version).join(", ");
  const way = 'Run perdure migrate, or open with migrate: "apply".';
  return new PerdureError("STORE_INVALID", `${path} ${what}. Missing: ${names}. ${way}`);
}

function createMeta(database: DatabaseSync, now: number): void {
  database.exec(
    "CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID",
  );
  database
    .prepare("INSERT INTO meta VALUES ('schema_version', 0), ('created_at', ?), ('news', 0)")
    .run(now);
}

function read(file: string): string {
  return readFileSync(new URL(`./migrations/${file}`, import.meta.url), "utf8");
}

function one(database: DatabaseSync, sql: string): Row {
  const row = database.prepare(sql).get();
  if (row === undefined)
    throw new PerdureError("STORE_INVALID", `The statement "${sql}" returned no row.`);
  return row;
}

// Migrations: numbered .sql files that make the tables, applied in order.
//   M1. The version is read again under the write lock, so that of many processes that start at once one
//       applies a file and the others find it done.
//   M2. A database that is neither empty nor ours is refused before anything is written to it; so is one that
//       a newer version has written.
//   M3. "verify" writes nothing: whoever only looks changes no schema under those who work.

import { readFileSync } from "node:fs";
import type { DatabaseSync, SQLInputValue } from "node:sqlite";
import { checksumOf, type Covered } from "../core/checksum.ts";
import { PerdureError } from "../core/errors.ts";
import { integer, type Row } from "./columns.ts";

/** "apply": what is missing is made. "verify": it is refused. */
export type Migrate = "apply" | "verify";

/** In order; the place in the list plus one is the schema version that a file leads to. */
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
];
export const SCHEMA_VERSION = FILES.length;

/** "Perd", in SQLite's header: tells our files from those of others. */
const APPLICATION_ID = 0x50657264;

/** Throws unless the database is empty, or ours and of a version that is known. Writes nothing. */
export function refuseForeign(database: DatabaseSync, path: string, how: Migrate): void {
  // One snapshot: another process may be making the tables at this moment.
  const version = inTransaction(database, "BEGIN", () => readVersion(database, path));
  if (how === "verify" && version < SCHEMA_VERSION) throw missing(path, version);
}

export function migrate(database: DatabaseSync, path: string, now: number): void {
  const found = inTransaction(database, "BEGIN", () => readVersion(database, path));
  if (found === SCHEMA_VERSION) return;
  inTransaction(database, "BEGIN IMMEDIATE", () => {
    const version = readVersion(database, path);
    if (version === 0) createMeta(database, now);
    defineFunctions(database);
    for (const file of FILES.slice(version)) database.exec(read(file));
    database.exec(`UPDATE meta SET value = ${SCHEMA_VERSION} WHERE name = 'schema_version'`);
  });
}

/** SQL functions that the files use. */
function defineFunctions(database: DatabaseSync): void {
  const options = { deterministic: true, directOnly: true, varargs: true } as const;
  database.function("row_checksum", options, (...parts) => checksumOf(...parts.map(toCovered)));
}

function toCovered(part: SQLInputValue): Covered {
  if (part === null || typeof part === "string" || typeof part === "number") return part;
  throw new PerdureError("STORE_INVALID", `A column to be checksummed holds a ${typeof part}.`);
}

/** 0: the database is empty. Throws what M2 says. */
export function readVersion(database: DatabaseSync, path: string): number {
  const mark = integer(one(database, "PRAGMA application_id"), "application_id");
  const objects = integer(
    one(database, "SELECT count(*) AS objects FROM sqlite_schema"),
    "objects",
  );
  if (objects === 0 && mark === 0) return 0;
  if (mark !== APPLICATION_ID) {
    const message = `${path} is a database of another program. Give Perdure a file of its own.`;
    throw new PerdureError("STORE_INVALID", message);
  }
  const row = one(database, "SELECT value FROM meta WHERE name = 'schema_version'");
  const version = integer(row, "value");
  if (version > SCHEMA_VERSION) {
    const message = `${path} has schema version ${version}; this Perdure knows ${SCHEMA_VERSION}. Update it.`;
    throw new PerdureError("SCHEMA_NEWER", message);
  }
  return version;
}

function missing(path: string, version: number): PerdureError {
  const what =
    version === 0
      ? "has no tables of Perdure"
      : `has schema version ${version}, and this Perdure needs ${SCHEMA_VERSION}`;
  const names = FILES.slice(version).join(", ");
  const way = 'Run perdure migrate, or open with migrate: "apply".';
  return new PerdureError("STORE_INVALID", `${path} ${what}. Missing: ${names}. ${way}`);
}

function createMeta(database: DatabaseSync, now: number): void {
  database.exec(`PRAGMA application_id = ${APPLICATION_ID}`);
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
  if (row === undefined) throw new PerdureError("STORE_INVALID", `Nothing answers "${sql}".`);
  return row;
}

function inTransaction<T>(database: DatabaseSync, begin: string, work: () => T): T {
  database.exec(begin);
  try {
    const result = work();
    database.exec("COMMIT");
    return result;
  } catch (error) {
    if (database.isTransaction) database.exec("ROLLBACK");
    throw error;
  }
}

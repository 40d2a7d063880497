// Inspection: a store's file, looked at from outside, for those who want to know whether it is in order.
//   IN1. Nothing is written: the file is opened for reading only, beside whoever works with it.

import { statfsSync, statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { miscountTexts } from "../core/provider/tallies.ts";
import { toOpenError } from "./errors.ts";
import { integer, text, type Row } from "./columns.ts";
import { readVersion, SCHEMA_VERSION } from "./migrations.ts";
import { SELECT_MISCOUNTS, toTally } from "./tallies.ts";

export interface Inspection {
  readonly sqliteVersion: string;
  readonly schema: { readonly found: number; readonly known: number };
  readonly journalMode: string;
  readonly bytes: number;
  /** Of pages that hold nothing. */
  readonly freeBytes: number;
  readonly walBytes: number;
  /** Of the file system; undefined where the host does not tell. */
  readonly diskFreeBytes: number | undefined;
  /** A file system that is shared over a network, by name: its locks cannot be trusted. */
  readonly networkFileSystem: string | undefined;
  /** What SQLite's own check found; undefined: it was not asked. */
  readonly damage: readonly string[] | undefined;
  /** Figures of metrics that differ from a count of instances; undefined: they were not compared. */
  readonly miscounts: readonly string[] | undefined;
}

/** By the magic numbers of Linux's statfs. */
const NETWORK_FILE_SYSTEMS: ReadonlyMap<number, string> = new Map([
  [0x6969, "NFS"],
  [0xff534d42, "CIFS"],
  [0xfe534d42, "SMB"],
  [0x517b, "SMB"],
  [0x01021997, "9P"],
]);

/** `thorough`: every page is read, which takes its time. */
export function inspectFile(path: string, options: { readonly thorough: boolean }): Inspection {
  try {
    using database = new DatabaseSync(path, { readOnly: true });
    const pageSize = integer(row(database, "PRAGMA page_size"), "page_size");
    const disk = diskOf(path);
    const found = readVersion(database, path);
    const isKnown = found === SCHEMA_VERSION;
    return {
      sqliteVersion: text(row(database, "SELECT sqlite_version() AS version"), "version"),
      schema: { found, known: SCHEMA_VERSION },
      journalMode: text(row(database, "PRAGMA journal_mode"), "journal_mode"),
      bytes: integer(row(database, "PRAGMA page_count"), "page_count") * pageSize,
      freeBytes: integer(row(database, "PRAGMA freelist_count"), "freelist_count") * pageSize,
      walBytes: statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0,
      diskFreeBytes: disk?.freeBytes,
      networkFileSystem: disk === undefined ? undefined : NETWORK_FILE_SYSTEMS.get(disk.type),
      damage: options.thorough ? damageOf(database) : undefined,
      miscounts: options.thorough && isKnown ? miscountsOf(database) : undefined,
    };
  } catch (error) {
    throw toOpenError(path, error);
  }
}

function damageOf(database: DatabaseSync): readonly string[] {
  const rows = database.prepare("PRAGMA quick_check(20)").all();
  return rows.map((found) => text(found, "quick_check")).filter((line) => line !== "ok");
}

/** The statement reads both sides in one snapshot. */
function miscountsOf(database: DatabaseSync): readonly string[] {
  return database
    .prepare(SELECT_MISCOUNTS)
    .all()
    .flatMap((found) => miscountTexts(toTally(found)));
}

function row(database: DatabaseSync, sql: string): Row {
  return database.prepare(sql).get() ?? {};
}

function diskOf(path: string): { type: number; freeBytes: number } | undefined {
  try {
    const { type, bavail, bsize } = statfsSync(path);
    return { type, freeBytes: bavail * bsize };
  } catch {
    return undefined;
  }
}

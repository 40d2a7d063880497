// Inspection: examines a store's file without opening it as a store.
//   - Nothing is written: the file is opened read-only, while other processes may work with it.

import { statfsSync, statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { miscountTexts, selectMiscounts } from "../../core/provider/tallies.ts";
import { toTally } from "../../sql/rows/tallies.ts";
import { toOpenError } from "../connection/errors.ts";
import { integer, text, type Row } from "../../sql/columns.ts";
import { readVersion, SCHEMA_VERSION } from "../migrations.ts";

export interface Inspection {
  readonly sqliteVersion: string;
  readonly schema: { readonly found: number; readonly known: number };
  readonly journalMode: string;
  readonly bytes: number;
  /** The bytes of unused pages. */
  readonly freeBytes: number;
  readonly walBytes: number;
  /** Free bytes of the file system; undefined if the host does not report them. */
  readonly diskFreeBytes: number | undefined;
  /** The name of a network file system, whose locks are unreliable; undefined for a local one. */
  readonly networkFileSystem: string | undefined;
  /** What `PRAGMA quick_check` found; undefined if it did not run. */
  readonly damage: readonly string[] | undefined;
  /** Metrics that differ from a count of instances; undefined if they were not compared. */
  readonly miscounts: readonly string[] | undefined;
}

/** Names of network file systems by their magic number in statfs (Linux). */
const NETWORK_FILE_SYSTEMS: ReadonlyMap<number, string> = new Map([
  [0x6969, "NFS"],
  [0xff534d42, "CIFS"],
  [0xfe534d42, "SMB"],
  [0x517b, "SMB"],
  [0x01021997, "9P"],
]);

/** With `thorough`, every page is read, which takes long for a large file. */
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
    .prepare(selectMiscounts(""))
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

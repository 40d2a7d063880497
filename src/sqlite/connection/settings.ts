// Settings: the pragmas that durability and speed depend on.
//   - Each pragma that decides durability is read back after it was set; another value raises STORE_INVALID
//       (P1).
//   - A weaker durability must be requested by name.

import type { DatabaseSync } from "node:sqlite";
import { PerdureError } from "../../core/errors/errors.ts";

/**
 * "full": when a write returns, it is on disk. "normal": a power failure may undo the last commits, but the
 * file stays intact.
 */
export type Durability = "full" | "normal";

const SYNCHRONOUS: Readonly<Record<Durability, number>> = { full: 2, normal: 1 };

/**
 * A commit that finds the WAL at this number of pages checkpoints it, which blocks the event loop. The number
 * bounds the WAL.
 */
const CHECKPOINT_PAGES = 8_000;
/**
 * The same in a process with a liveness thread, which checkpoints earlier (sqlite/liveness-thread.ts). While
 * the main thread writes without a pause, the thread cannot restart the WAL. Then a commit of the main thread
 * copies the few pages that the thread has not copied. The number is below `LOG_LIMIT`, so that the file keeps
 * its size.
 */
const CHECKPOINT_PAGES_WITH_THREAD = 15_000;
const CACHE_KIB = 16_384;
/**
 * The size to which the WAL is truncated when it restarts after a checkpoint. A long read makes the WAL
 * grow without bound, and without this limit it stays that large. Every handle that writes must set the
 * limit, because the handle that restarts the WAL truncates it.
 */
export const LOG_LIMIT = `PRAGMA journal_size_limit = ${64 * 1024 * 1024}`;

export function applySettings(
  database: DatabaseSync,
  options: { readonly path: string; readonly inMemory: boolean; readonly durability: Durability },
): void {
  const expect = (name: string, wanted: string | number): void =>
    setAndRead(database, options.path, name, wanted);
  if (!options.inMemory) expect("journal_mode", "wal");
  expect("synchronous", SYNCHRONOUS[options.durability]);
  if (process.platform === "darwin") {
    expect("fullfsync", 1);
    expect("checkpoint_fullfsync", 1);
  }
  database.exec(`PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
  database.exec(LOG_LIMIT);
  database.exec(`PRAGMA cache_size = -${CACHE_KIB}`);
  database.exec("PRAGMA temp_store = memory");
}

/**
 * For a handle whose commits the caller syncs (connection/log-sync.ts). SQLite still syncs where the order of
 * writes decides about damage: the log before a checkpoint copies it, the database after that, and the header
 * of a log that restarts.
 */
export function leaveSyncsToCaller(database: DatabaseSync, path: string): void {
  setAndRead(database, path, "synchronous", SYNCHRONOUS.normal);
}

/** For a handle of a process in which a liveness thread checkpoints the WAL. */
export function leaveCheckpointsToThread(database: DatabaseSync): void {
  database.exec(`PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES_WITH_THREAD}`);
}

function setAndRead(
  database: DatabaseSync,
  path: string,
  name: string,
  wanted: string | number,
): void {
  database.exec(`PRAGMA ${name} = ${wanted}`);
  const found = Object.values(database.prepare(`PRAGMA ${name}`).get() ?? {})[0];
  if (found === wanted) return;
  const message = `${path} cannot be made durable: PRAGMA ${name} must be ${wanted}; got ${String(found)}.`;
  throw new PerdureError("STORE_INVALID", message);
}

/** The durability in words, for `status` (P1). */
export function describeDurability(inMemory: boolean, durability: Durability): string {
  if (inMemory) return "none: in memory, lost when the process ends";
  if (durability === "full") return "full: WAL, every commit is synced before it is acknowledged";
  return "normal: WAL, synchronous=NORMAL, a power failure may undo the last commits";
}

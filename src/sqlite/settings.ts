// Settings: the pragmas that durability and speed rest on.
//   S1. What decides durability is read back after it was set; another value is STORE_INVALID (P1).
//   S2. A weaker durability is only had by its name.

import type { DatabaseSync } from "node:sqlite";
import { PerdureError } from "../core/errors.ts";

/** "normal": a power cut may undo the last commits; the file stays whole. */
export type Durability = "full" | "normal";

const SYNCHRONOUS: Readonly<Record<Durability, number>> = { full: 2, normal: 1 };

/** A backstop for stores without a heart, whose thread does the checkpoints (heart-thread.ts). */
const CHECKPOINT_PAGES = 8_000;
const CACHE_KIB = 16_384;
/**
 * What the log is cut to when it begins again after a checkpoint. A long reader makes it grow without a bound, and
 * without this limit it stays that large. Every handle that writes must set it: the one that begins the log again cuts.
 */
export const LOG_LIMIT = `PRAGMA journal_size_limit = ${64 * 1024 * 1024}`;

export function applySettings(
  database: DatabaseSync,
  options: { readonly path: string; readonly inMemory: boolean; readonly durability: Durability },
): void {
  const expect = (name: string, wanted: string | number): void => {
    database.exec(`PRAGMA ${name} = ${wanted}`);
    const found = Object.values(database.prepare(`PRAGMA ${name}`).get() ?? {})[0];
    if (found === wanted) return;
    const message = `${options.path} cannot be made durable: ${name} is ${String(found)}, not ${wanted}.`;
    throw new PerdureError("STORE_INVALID", message);
  };
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

/** In words, for status (P1). */
export function describeDurability(inMemory: boolean, durability: Durability): string {
  if (inMemory) return "none: in memory, gone with the process";
  if (durability === "full") return "full: WAL, synchronous=FULL";
  return "normal: WAL, synchronous=NORMAL, a power cut may undo the last commits";
}

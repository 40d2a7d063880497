// Backup: a copy of a store's file, made while processes work on it.
//   BK1. The copy is of one moment. The source holds one read transaction from the first page to the last: without
//        it SQLite starts the copy again after every commit of another process, and under load it never ends.
//   BK2. Writers do not wait: in WAL mode a reader blocks no writer. The log grows until the copy is complete.
//   BK3. The copy runs outside the event loop, in steps, with flat memory. A signal stops it between two steps.

import { backup, DatabaseSync } from "node:sqlite";
import { PerdureError } from "../core/errors.ts";
import { toPerdureError } from "./errors.ts";

/** 4 MiB per step at the usual page size. */
const PAGES_PER_STEP = 1_024;
const BUSY_TIMEOUT_MS = 5_000;

export interface BackupOptions {
  readonly signal: AbortSignal;
  /** Shares of 1. */
  readonly onProgress: (share: number) => void;
}

/** Copies the store at `source` over the file `target`, which must be empty. Rejects with the signal's reason. */
export async function backUpFile(
  source: string,
  target: string,
  { signal, onProgress }: BackupOptions,
): Promise<void> {
  try {
    using database = new DatabaseSync(source, { readOnly: true, timeout: BUSY_TIMEOUT_MS });
    database.exec("BEGIN");
    database.prepare("SELECT count(*) FROM sqlite_schema").get(); // BK1: BEGIN alone takes no snapshot
    await backup(database, target, {
      rate: PAGES_PER_STEP,
      progress: ({ totalPages, remainingPages }) => {
        signal.throwIfAborted();
        onProgress(1 - remainingPages / totalPages);
      },
    });
    signal.throwIfAborted();
  } catch (error) {
    signal.throwIfAborted();
    const { code, message } = toPerdureError(error);
    const text = `${source} could not be copied to ${target}: ${message}`;
    throw new PerdureError(code, text, { cause: error });
  }
}

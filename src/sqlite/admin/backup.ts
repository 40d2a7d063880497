// Backup: copies a store's file while processes work on it.
//   - backup.1: The copy is a snapshot. The source holds one read transaction from the first page to the
//       last. Without it, SQLite restarts the copy after every commit of another process, and under load
//       the copy never ends.
//   - Writers do not wait: in WAL mode a reader blocks no writer. The WAL grows until the copy is complete.
//   - The copy runs in steps outside the event loop, with constant memory. A signal stops it between two
//       steps.

import { backup, DatabaseSync } from "node:sqlite";
import { PerdureError } from "../../core/errors/errors.ts";
import { toPerdureError } from "../connection/errors.ts";

/** 4 MiB per step at the usual page size. */
const PAGES_PER_STEP = 1_024;
const BUSY_TIMEOUT_MS = 5_000;

export interface BackupOptions {
  readonly signal: AbortSignal;
  /** Called with the finished share, from 0 to 1. */
  readonly onProgress: (share: number) => void;
}

/**
 * Copies the store at `source` over the file `target`, which must be empty. Rejects with the signal's
 * reason.
 */
export async function backUpFile(
  source: string,
  target: string,
  { signal, onProgress }: BackupOptions,
): Promise<void> {
  try {
    using database = new DatabaseSync(source, { readOnly: true, timeout: BUSY_TIMEOUT_MS });
    database.exec("BEGIN");
    database.prepare("SELECT count(*) FROM sqlite_schema").get(); // backup.1: BEGIN alone takes no snapshot
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

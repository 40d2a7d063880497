// Same file: checks that the path still leads to the files that this process has open.
//   - A file that was deleted or replaced under an open handle still accepts reads and writes, and all of
//       them are lost: no other process sees them, and they vanish when the last handle closes.
//   - The files are compared by device and inode, at most once per CHECK_MS. Where the host provides no
//       inode, only a missing file is detected.
//   - A loss is final: a file that reappears under the path may be a different file or an older state.

import { statSync, type BigIntStats } from "node:fs";
import type { Environment } from "../../core/time/environment.ts";
import { StoreLostError } from "../../core/provider/store-lost.ts";

const CHECK_MS = 250;
/** The database, its WAL, and the WAL index, through which processes see each other's locks. */
const SUFFIXES = ["", "-wal", "-shm"];

interface Known {
  readonly path: string;
  readonly stats: BigIntStats;
}

export class SameFile {
  readonly #environment: Environment;
  readonly #path: string | null;
  #known: readonly Known[];
  #checkedAt: number;
  #lost: StoreLostError | null = null;

  /** Expects the database at that path to be open in WAL mode. Null means a database in memory. */
  constructor(path: string | null, environment: Environment) {
    this.#environment = environment;
    this.#path = path;
    this.#checkedAt = environment.monotonic();
    this.#known = path === null ? [] : SUFFIXES.flatMap((suffix) => known(`${path}${suffix}`));
  }

  /** Throws if the path does not lead to the open files any more. */
  assert(): void {
    if (this.#path === null) return;
    if (this.#lost !== null) throw this.#lost;
    const now = this.#environment.monotonic();
    if (now - this.#checkedAt < CHECK_MS) return;
    this.#checkedAt = now;
    for (const file of this.#known) {
      const what = changeOf(file);
      if (what === null) continue;
      this.#lost = lost(file.path, what, this.#path);
      this.#known = [];
      throw this.#lost;
    }
  }
}

function known(path: string): Known[] {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stats === undefined ? [] : [{ path, stats }];
}

/** How the file changed; null if it did not, or if it cannot be examined. */
function changeOf({ path, stats }: Known): "deleted" | "replaced by another file" | null {
  let found: BigIntStats | undefined;
  try {
    found = statSync(path, { bigint: true, throwIfNoEntry: false });
  } catch {
    return null;
  }
  if (found === undefined) return "deleted";
  if (stats.ino === 0n || found.ino === 0n) return null;
  const isSame = found.ino === stats.ino && found.dev === stats.dev;
  return isSame ? null : "replaced by another file";
}

function lost(path: string, what: string, store: string): StoreLostError {
  const message = `${path} was ${what} while this process had it open, so nothing that this process writes reaches the store any more. Stop every process that uses ${store}, put the right files in place (docs/operations.md#backup), and start them again.`;
  return new StoreLostError(message);
}

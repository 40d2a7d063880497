// Same file: whether the path still leads to the files that this process has open.
//   SF1. A file that was deleted or replaced under an open handle still takes reads and writes, and all of them are
//        lost: no other process sees them, and they are gone when the last handle closes.
//   SF2. The files are compared by device and inode, at most once per CHECK_MS. Where the host gives no inode, only
//        a missing file is found.
//   SF3. Once found, it stays: a file that comes back under the path may be a different one, or an older state.

import { statSync, type BigIntStats } from "node:fs";
import type { Environment } from "../core/environment.ts";
import { StoreLostError } from "../core/provider/store-lost.ts";

const CHECK_MS = 250;
/** The database, its log, and the index of the log, without which processes do not see each other's locks. */
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

  /** The database at that path is open, in WAL mode. Null: it is in memory. */
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

/** A file that cannot be looked at tells nothing. */
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

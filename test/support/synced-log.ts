// Follows how much of a SQLite store's log (-wal) Perdure has synced: the length that the log had when the last sync
// that has ended began. Syncs by SQLite itself do not count.

import { fstatSync, statSync } from "node:fs";
import { disk } from "../../src/sqlite/connection/disk.ts";

export interface SyncedLog {
  /** The length of the log now. */
  readonly bytes: number;
  /** How much of it is on disk. A power cut may lose the rest. */
  readonly syncedBytes: number;
}

/** By inode. */
const synced = new Map<number, number>();
let isFollowing = false;

/** The log of the open store at `path`, which must not restart meanwhile. */
export function followSyncs(path: string): () => SyncedLog {
  const log = `${path}-wal`;
  const { ino } = statSync(log);
  synced.set(ino, 0); // the inode may have belonged to another file
  follow();
  return () => ({ bytes: statSync(log).size, syncedBytes: synced.get(ino) ?? 0 });
}

function follow(): void {
  if (isFollowing) return;
  isFollowing = true;
  const { sync, startSync } = disk;
  disk.sync = (descriptor) => {
    const end = begin(descriptor);
    sync(descriptor);
    end();
  };
  disk.startSync = (descriptor, done) => {
    const end = begin(descriptor);
    startSync(descriptor, (error) => {
      if (error === null) end();
      done(error);
    });
  };
}

function begin(descriptor: number): () => void {
  const { ino, size } = fstatSync(descriptor);
  return () => void synced.set(ino, Math.max(synced.get(ino) ?? 0, size));
}

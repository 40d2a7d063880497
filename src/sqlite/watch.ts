// Watch: noticing that somebody wrote to the write-ahead log.
//   W1. At most one look per LOOK_MS, however many writes there are, and one after the last of them.
//   W2. A hint and no more: where the host cannot watch a file, nothing is noticed, and pollers find it (W2 of
//       the contract).

import { watch, type FSWatcher } from "node:fs";
import type { Environment, TimerHandle } from "../core/environment.ts";

const LOOK_MS = 2;

export interface LogWatch {
  close(): void;
}

/** Calls `look` soon after the log of the database at `path` was written to. */
export function watchLog(path: string, environment: Environment, look: () => void): LogWatch {
  let lastLook = -Infinity;
  let timer: TimerHandle | null = null;
  const lookNow = (): void => {
    timer = null;
    lastLook = environment.monotonic();
    try {
      look();
    } catch {
      // A database that cannot be read now is found out about by those who need it.
    }
  };
  const onWrite = (): void => {
    if (timer !== null) return;
    const waitMs = lastLook + LOOK_MS - environment.monotonic();
    if (waitMs <= 0) lookNow();
    else timer = environment.setTimer(waitMs, lookNow);
  };
  const watcher = tryWatch(`${path}-wal`, onWrite);
  return {
    close: () => {
      watcher?.close();
      timer?.cancel();
    },
  };
}

function tryWatch(file: string, onWrite: () => void): FSWatcher | null {
  try {
    const watcher = watch(file, { persistent: false }, onWrite);
    watcher.on("error", () => watcher.close());
    return watcher;
  } catch {
    return null;
  }
}

// Watch: noticing that somebody wrote to the write-ahead log.
//   W1. At most one look per LOOK_MS, however many writes there are, and one after the last of them.
//   W3. The file changes when a commit writes the log, which is before the commit has synced it and other processes can
//       see it. So each write is followed by more looks, at the times in AGAIN_MS after the last write.
//   W2. A hint and no more: where the host cannot watch a file, nothing is noticed, and pollers find it (W2 of
//       the contract).

import { watch, type FSWatcher } from "node:fs";
import type { Environment, TimerHandle } from "../core/environment.ts";

const LOOK_MS = 2;
/** The last is shorter than the default poll interval, which finds the rest. */
const AGAIN_MS = [5, 15, 40, 100, 250, 600];

export interface LogWatch {
  close(): void;
}

/** Calls `look` soon after the log of the database at `path` was written to. */
export function watchLog(path: string, environment: Environment, look: () => void): LogWatch {
  let lastLook = -Infinity;
  let timer: TimerHandle | null = null;
  let again: TimerHandle | null = null;
  const lookNow = (): void => {
    lastLook = environment.monotonic();
    try {
      look();
    } catch {
      // A database that cannot be read now is found out about by those who need it.
    }
  };
  const lookAgain = (writtenAt: number, [next, ...later]: readonly number[]): void => {
    again?.cancel();
    again = null;
    if (next === undefined) return;
    again = environment.setTimer(writtenAt + next - environment.monotonic(), () => {
      lookNow();
      lookAgain(writtenAt, later);
    });
  };
  const onWrite = (): void => {
    if (timer !== null) return;
    const now = environment.monotonic();
    const waitMs = lastLook + LOOK_MS - now;
    if (waitMs <= 0) {
      lookNow();
      lookAgain(now, AGAIN_MS);
    } else {
      timer = environment.setTimer(waitMs, () => {
        timer = null;
        onWrite();
      });
    }
  };
  const watcher = tryWatch(`${path}-wal`, onWrite);
  return {
    close: () => {
      watcher?.close();
      timer?.cancel();
      again?.cancel();
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

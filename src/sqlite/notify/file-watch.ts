// File watch: notices writes to the write-ahead log.
//   - It looks at most once per LOOK_MS, however many writes there are, and once after the last of them.
//   - The file changes while a commit writes the log. That is before other processes can see the commit.
//     Therefore more looks follow each write, at the times in AGAIN_MS after the last write.
//   - It is only a hint: where the host cannot watch a file, polling finds the change (notifications.2).

import { watch, type FSWatcher } from "node:fs";
import type { Environment, TimerHandle } from "../../core/time/environment.ts";

const LOOK_MS = 2;
/** The last is shorter than the default poll interval: polling finds what comes later. */
const AGAIN_MS = [5, 15, 40, 100, 250, 600];

export interface LogWatch {
  close(): void;
}

/** Calls `look` soon after a write to the log of the database at `path`. */
export function watchLog(path: string, environment: Environment, look: () => void): LogWatch {
  let lastLook = -Infinity;
  let timer: TimerHandle | null = null;
  let again: TimerHandle | null = null;
  const lookNow = (): void => {
    lastLook = environment.monotonic();
    try {
      look();
    } catch {
      // The database cannot be read now; the next use of the store reports the error.
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

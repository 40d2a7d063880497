// Waiting for results that must be polled: polls the oldest until it is there, then the next.
//   For peers that would otherwise have hundreds of pollers at once, which would slow down the work itself.

import { setTimeout as pause } from "node:timers/promises";

/** `look` returns undefined while there is no result. */
export function oldestFirst<T>(
  look: (key: string) => Promise<T | undefined>,
  everyMs: number,
): (key: string) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (key) => {
    const found = last.then(async () => {
      for (;;) {
        const result = await look(key);
        if (result !== undefined) return result;
        await pause(everyMs);
      }
    });
    last = found.catch(() => undefined); // the caller gets the error; the next result is polled anyway
    return found;
  };
}

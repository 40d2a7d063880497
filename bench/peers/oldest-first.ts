// Waiting for results that can only be asked for: the oldest is asked for until it is there, then the next.
//   For peers that would otherwise have hundreds of waiters ask at once and slow down what they wait for.

import { setTimeout as pause } from "node:timers/promises";

/** `look` answers undefined while there is no result. */
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
    last = found.catch(() => undefined); // whoever asked is told; the next is asked for all the same
    return found;
  };
}

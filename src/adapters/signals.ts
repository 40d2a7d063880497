// SIGTERM and SIGINT close the application in order; then the process ends as it would have without the listener.
//   - The first signal runs `close`. A second one does not wait for it.
//   - If the application has listeners of its own for the signal, they decide when the process exits, but not before `close`
//       has ended (exit-hold.ts).

import { holdExit } from "./exit-hold.ts";

const SIGNALS = ["SIGTERM", "SIGINT"] as const;
type Signal = (typeof SIGNALS)[number];

/**
 * Returns a function that removes the listeners. `close` must not reject. `exitRequested` resolves when another listener
 * has called `process.exit`.
 */
export function closeOnSignals(close: (exitRequested: Promise<void>) => Promise<void>): () => void {
  let isClosing = false;
  const remove = (): void => {
    for (const name of SIGNALS) process.off(name, listener);
  };
  const end = (signal: Signal): void => {
    remove();
    if (process.listenerCount(signal) === 0) process.kill(process.pid, signal);
  };
  const listener = (signal: Signal): void => {
    if (isClosing) return end(signal);
    isClosing = true;
    const hold = holdExit();
    void close(hold.requested).then(() => {
      hold.release();
      end(signal);
    });
  };
  for (const name of SIGNALS) process.on(name, listener);
  return remove;
}

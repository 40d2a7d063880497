// SIGTERM and SIGINT close the application in order; then the process ends as it would have without the listener.
//   - The first signal runs `close`. A second one does not wait for it.
//   - If the application has listeners of its own for the signal, they decide when the process exits.

const SIGNALS = ["SIGTERM", "SIGINT"] as const;
type Signal = (typeof SIGNALS)[number];

/** Returns a function that removes the listeners. `close` must not reject. */
export function closeOnSignals(close: () => Promise<void>): () => void {
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
    void close().then(() => end(signal));
  };
  for (const name of SIGNALS) process.on(name, listener);
  return remove;
}

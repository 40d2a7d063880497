// Timers of the server: pauses and repetition. The timers do not keep the process alive.

/** Resolves after `ms`, or immediately when the signal aborts. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    timer.unref();
    signal.addEventListener("abort", done, { once: true });
  });
}

/** Calls `act` repeatedly; `act` returns the delay until its next call. The returned function stops this. */
export function repeat(act: () => Promise<number>): () => void {
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  const next = (afterMs: number): void => {
    if (stopped) return;
    timer = setTimeout(() => void act().then(next), afterMs);
    timer.unref();
  };
  next(0);
  return () => {
    stopped = true;
    clearTimeout(timer);
  };
}

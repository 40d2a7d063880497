// Waiting in the server: for a while, or until somebody has gone. Its timers keep no process alive.

import { PerdureError } from "../core/errors.ts";

/** Resolves after the time, or at once when the signal is or becomes aborted. */
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

/** The outcome, if it comes in time. What comes later is nobody's: a change may still be made. */
export async function inTime<T>(work: Promise<T>, ms: number): Promise<T> {
  const { promise: over, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    const message =
      "The store did not answer in time. Whether a change was made is not known: " +
      "repeat the request with the same Idempotency-Key.";
    reject(new PerdureError("TIMEOUT", message));
  }, ms);
  timer.unref();
  try {
    return await Promise.race([work, over]);
  } finally {
    clearTimeout(timer);
  }
}

/** Calls again and again, the next time after the last one has ended; call the result to stop. */
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

// Timers of the server: pauses, timeouts and repetition. The timers do not keep the process alive.

import { PerdureError } from "../../core/errors/errors.ts";

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

/** Rejects with TIMEOUT if `work` takes longer than `ms`. The work continues: a change may still happen. */
export async function inTime<T>(work: Promise<T>, ms: number): Promise<T> {
  const { promise: over, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    const message =
      "The store did not respond in time. It is not known whether the change was made: " +
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

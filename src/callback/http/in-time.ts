// A time limit on the work of a request. Its timer does not keep the process alive.

import { PerdureError } from "../../core/errors/errors.ts";

/**
 * Rejects with TIMEOUT if `work` takes longer than `ms`. The work continues: a change may still happen. `repeat` says
 * how the caller can repeat its request safely.
 */
export async function inTime<T>(work: Promise<T>, ms: number, repeat: string): Promise<T> {
  const { promise: over, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    const message = `The store did not respond in time. It is not known whether the change was made: ${repeat}`;
    reject(new PerdureError("TIMEOUT", message));
  }, ms);
  timer.unref();
  try {
    return await Promise.race([work, over]);
  } finally {
    clearTimeout(timer);
  }
}

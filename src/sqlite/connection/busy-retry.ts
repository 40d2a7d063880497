// Busy retry: retries a call while another connection locks the database, without blocking the event loop.
//   - The first retries wait one macrotask each, because most locks are held for less than a millisecond.
//       Later pauses grow, with jitter, so that two processes do not collide repeatedly.
//   - After `busyMs` the call fails with STORE_UNAVAILABLE, and the caller decides what to do.

import type { Environment } from "../../core/time/environment.ts";
import { PerdureError } from "../../core/errors/errors.ts";
import { isBusy } from "./errors.ts";

export interface BusyRetryOptions {
  readonly environment: Environment;
  readonly busyMs: number;
}

const SPINS = 3;
const PAUSE_MIN_MS = 1;
const PAUSE_MAX_MS = 20;

/** Runs `work` until the database is not busy. Other errors are thrown unchanged. */
export async function retryWhileBusy<T>(options: BusyRetryOptions, work: () => T): Promise<T> {
  const { environment, busyMs } = options;
  let since: number | undefined;
  for (let tries = 0; ; tries += 1) {
    try {
      return work();
    } catch (error) {
      if (!isBusy(error)) throw error;
      since ??= environment.monotonic();
      if (environment.monotonic() - since >= busyMs) throw tooLong(busyMs, error);
    }
    await pause(environment, tries);
  }
}

function pause(environment: Environment, tries: number): Promise<void> {
  if (tries < SPINS) return new Promise((resolve) => environment.immediate(resolve));
  const longest = Math.min(PAUSE_MIN_MS * 2 ** (tries - SPINS), PAUSE_MAX_MS);
  const delayMs = longest * (0.5 + environment.random() / 2);
  return new Promise((resolve) => environment.setTimer(delayMs, resolve));
}

function tooLong(busyMs: number, cause: unknown): PerdureError {
  const message = `The database was locked by another connection for ${busyMs} ms.`;
  return new PerdureError("STORE_UNAVAILABLE", message, { cause });
}

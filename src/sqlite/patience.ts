// Patience: asking a busy database again without standing still.
//   P1. A few macrotasks first, since most locks are held for less than a millisecond; then pauses that
//       grow, with jitter, so that two processes do not meet again and again.
//   P2. Bounded: after `busyMs` the call fails as STORE_UNAVAILABLE and its caller decides.

import type { Environment } from "../core/environment.ts";
import { PerdureError } from "../core/errors.ts";
import { isBusy } from "./errors.ts";

export interface Patience {
  readonly environment: Environment;
  readonly busyMs: number;
}

const SPINS = 3;
const PAUSE_MIN_MS = 1;
const PAUSE_MAX_MS = 20;

/** Runs `work` until the database is not busy. Every other error leaves as it is. */
export async function patiently<T>(patience: Patience, work: () => T): Promise<T> {
  const { environment, busyMs } = patience;
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
  const message = `The database was locked by somebody else for ${busyMs} ms.`;
  return new PerdureError("STORE_UNAVAILABLE", message, { cause });
}

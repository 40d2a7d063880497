// Backoff: the pause before a call of the store is retried.

import type { Environment } from "../time/environment.ts";

const BACKOFF_BASE_MS = 100;
const BACKOFF_MAX_MS = 3_000;

export function backOff(environment: Environment, attempt: number): Promise<void> {
  const delayMs = backOffMs(environment, attempt);
  return new Promise((resolve) => environment.setTimer(delayMs, resolve));
}

/** 100 ms · 2ⁿ, at most 3 s, shortened by a random part of up to a half (P6). */
export function backOffMs(environment: Environment, attempt: number): number {
  const delay = Math.min(BACKOFF_BASE_MS * 2 ** Math.min(attempt, 10), BACKOFF_MAX_MS);
  return delay * (1 - environment.random() / 2);
}

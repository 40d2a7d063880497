// Waiting for something of an instance: looked for at once, and again whenever the instance has changed.
//   WT1. The wait begins before the store is looked at, so that no change falls in between.

import { formatDuration, parseDuration, type Duration } from "../core/duration.ts";
import { PerdureError } from "../core/errors.ts";
import { showValue } from "../core/ids.ts";
import { checkMembers, type Members } from "../core/known-members.ts";
import { Changes } from "./changes.ts";
import type { Store } from "./store.ts";

export interface WaitOptions {
  readonly timeout?: Duration;
  readonly signal?: AbortSignal;
}

const WAIT_OPTIONS: Members<WaitOptions> = { timeout: true, signal: true };

/** Refuses options that are none, before anything is waited for. */
export function checkWait(options: WaitOptions, what: string): void {
  checkMembers(options, WAIT_OPTIONS, what);
  checkSignal(options.signal);
}

export function checkSignal(signal: AbortSignal | undefined): void {
  if (signal === undefined || signal instanceof AbortSignal) return;
  throw new PerdureError("INVALID_ARGUMENT", `signal is an AbortSignal, not ${showValue(signal)}.`);
}

/** What `look` finds; null means not yet. `what` names it when time is over. */
export async function waitUntil<T>(
  store: Store,
  id: string,
  options: WaitOptions,
  look: (until: number) => Promise<T | null>,
  what: string,
): Promise<T> {
  const { environment } = store.provider;
  const timeoutMs =
    options.timeout === undefined ? Infinity : parseDuration(options.timeout, "timeout");
  const until = environment.monotonic() + timeoutMs;
  for (;;) {
    options.signal?.throwIfAborted();
    const change = nextChange(store, id, until, options.signal);
    try {
      const found = await look(until);
      if (found !== null) return found;
      if (until <= environment.monotonic()) {
        const message = `${what} within ${formatDuration(timeoutMs)}; describe() says what it waits for.`;
        throw new PerdureError("TIMEOUT", message);
      }
      await change.woken;
    } finally {
      change.stop();
    }
  }
}

function nextChange(
  store: Store,
  id: string,
  until: number,
  signal: AbortSignal | undefined,
): { readonly woken: Promise<void>; readonly stop: () => void } {
  const { environment } = store.provider;
  const { promise, resolve } = Promise.withResolvers<void>();
  const unwatch = Changes.of(store.provider).watch(id, resolve);
  const leftMs = until - environment.monotonic();
  const timer =
    leftMs === Infinity ? null : environment.setTimer(Math.min(leftMs, 2 ** 31 - 1), resolve);
  const onAbort = (): void => resolve();
  signal?.addEventListener("abort", onAbort, { once: true });
  const stop = (): void => {
    unwatch();
    timer?.cancel();
    signal?.removeEventListener("abort", onAbort);
  };
  return { woken: promise, stop };
}

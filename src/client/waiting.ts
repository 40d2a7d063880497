// Waiting for something of an instance: looked for at once, and again whenever the instance has changed.
//   WT1. The wait begins before the store is looked at, so that no change falls in between.
//   WT2. A worker that dies changes nothing in the instance. With `onBlocked: "throw"` the wait therefore also looks at
//        regular times.

import { formatDuration, parseDuration, type Duration } from "../core/duration.ts";
import { PerdureError } from "../core/errors.ts";
import { showValue } from "../core/ids.ts";
import { checkChoice, checkMembers, type Members } from "../core/known-members.ts";
import { Changes } from "./changes.ts";
import type { Store } from "./store.ts";
import { reasonNow, stuckBy } from "./stuck.ts";

/** How a call waits for something of an instance. */
export interface WaitOptions {
  readonly timeout?: Duration;
  readonly signal?: AbortSignal;
  /**
   * What happens while the instance cannot continue: it is blocked, or no running worker can run it or the activities
   * that it waits for. "wait" (default): wait until it can. "throw": reject with `BLOCKED` or `UNCLAIMED` and the reason.
   */
  readonly onBlocked?: "wait" | "throw";
}

const WAIT_OPTIONS: Members<WaitOptions> = { timeout: true, signal: true, onBlocked: true };
/** WT2 */
const LOOK_AGAIN_MS = 1_000;

/** Refuses unknown or invalid options before the wait begins. `others`: options that the caller checks. */
export function checkWait(options: WaitOptions, what: string, others: object = {}): void {
  checkMembers<WaitOptions>(options, { ...WAIT_OPTIONS, ...others }, what);
  checkSignal(options.signal);
  checkChoice(options.onBlocked, ["wait", "throw"], "onBlocked");
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
  const isPatient = options.onBlocked !== "throw";
  for (;;) {
    options.signal?.throwIfAborted();
    const next = isPatient ? until : Math.min(until, environment.monotonic() + LOOK_AGAIN_MS);
    const change = nextChange(store, id, next, options.signal);
    try {
      const found = await look(until);
      if (found !== null) return found;
      const stuck = isPatient ? undefined : await stuckBy(store, id, until);
      if (stuck !== undefined) {
        const { code, reason } = stuck;
        throw new PerdureError(code, `${what}: ${reason}.`, { reason });
      }
      if (until <= environment.monotonic()) {
        const reason = await reasonNow(store, id, { brief: timeoutMs === 0 });
        throw timeoutError(`${what} within ${formatDuration(timeoutMs)}`, reason);
      }
      await change.woken;
    } finally {
      change.stop();
    }
  }
}

/** `what` did not happen in time. */
export function timeoutError(what: string, reason: string | undefined): PerdureError {
  if (reason === undefined) return new PerdureError("TIMEOUT", `${what}.`);
  return new PerdureError("TIMEOUT", `${what}: ${reason}.`, { reason });
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

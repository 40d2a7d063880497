// Waiting for a result of an instance: reads at once, and again after every change of the instance.
//   - The wait subscribes before it reads, so that a change between the two is not missed.
//   - waiting.1: The death of a worker changes nothing in the instance. With `onBlocked: "throw"` the wait
//        therefore also reads at regular intervals.
//   - waiting.2: If a runtime in this process leases an instance with its start, the instance has not ended
//        until the first notification about it. So the first wait for its result does not read the store. If
//        that notification is lost, the timer of the wait makes it read (changes.1).

import { formatDuration, parseDuration, type Duration } from "../core/time/duration.ts";
import type { InstanceEnd } from "../core/commit/local-ends.ts";
import { PerdureError } from "../core/errors/errors.ts";
import { showValue } from "../core/ids/ids.ts";
import { checkChoice, checkMembers, type Members } from "../core/checks.ts";
import type { StartItem, StartResult } from "../core/provider/commit.ts";
import { Changes } from "./changes.ts";
import { outcomeOf, type Outcome } from "./outcome.ts";
import type { Store } from "./store.ts";
import { reasonNow, findStuck } from "./inspect/stuck.ts";

/** How a call waits for a result of an instance. */
export interface WaitOptions {
  readonly timeout?: Duration;
  readonly signal?: AbortSignal;
  /**
   * What happens while the instance cannot continue: it is blocked, or no running worker can run it or the
   * activities that it waits for. "wait" (default): wait until it can. "throw": reject with `BLOCKED` or
   * `UNCLAIMED` and the reason.
   */
  readonly onBlocked?: "wait" | "throw";
}

const WAIT_OPTIONS: Members<WaitOptions> = { timeout: true, signal: true, onBlocked: true };
/** Interval between reads with `onBlocked: "throw"` (waiting.1). */
const READ_INTERVAL_MS = 1_000;

/**
 * Throws for unknown or invalid options, before the wait begins. `others`: options that the caller checks.
 */
export function checkWait(options: WaitOptions, what: string, others: object = {}): void {
  checkMembers<WaitOptions>(options, { ...WAIT_OPTIONS, ...others }, what);
  checkSignal(options.signal);
  checkChoice(options.onBlocked, ["wait", "throw"], "onBlocked");
}

export function checkSignal(signal: AbortSignal | undefined): void {
  if (signal === undefined || signal instanceof AbortSignal) return;
  const message = `signal must be an AbortSignal; got ${showValue(signal)}.`;
  throw new PerdureError("INVALID_ARGUMENT", message);
}

/** What this process knows about an instance that it started itself. */
interface LocalWait<T> {
  /** The store's number of the instance. */
  readonly key: number;
  /** True: nothing has happened to the instance since its start. False from the second call on (waiting.2). */
  takeUnchanged(): boolean;
  /** The value that the wait returns for an end that this process has committed. */
  outcomeOf(end: InstanceEnd): T | null;
}

/**
 * A start by this process. If this process ends the instance, its end comes from the commit
 * (core/commit/local-ends.ts), whichever runtime held the instance before. A start in a transaction of the user
 * is not covered: it may be rolled back, and its key be used again.
 */
export type LocalStart = LocalWait<Outcome>;

/** Null: the instance existed before. */
export function localStart(
  { provider, codec }: Store,
  { id, name }: StartItem,
  result: StartResult,
): LocalStart | null {
  if (result.kind !== "started") return null;
  const changes = Changes.of(provider);
  if (result.leased !== null || result.due !== undefined) changes.addUnchanged(id); // waiting.2
  return {
    key: result.key,
    takeUnchanged: () => changes.takeUnchanged(id),
    outcomeOf: (end) => outcomeOf({ ...end, id, name }, codec),
  };
}

/**
 * Calls `look` after every change until it returns a value; null means not yet. `what` begins the error
 * message, such as `Instance "a" did not end`.
 */
export async function waitUntil<T>(
  store: Store,
  id: string,
  options: WaitOptions,
  look: (until: number) => Promise<T | null>,
  { what, local = null }: { readonly what: string; readonly local?: LocalWait<T> | null },
): Promise<T> {
  const { environment } = store.provider;
  const timeoutMs =
    options.timeout === undefined ? Infinity : parseDuration(options.timeout, "timeout");
  const until = environment.monotonic() + timeoutMs;
  const waitsWhileStuck = options.onBlocked !== "throw";
  let mayEnd = !(waitsWhileStuck && timeoutMs > 0 && local?.takeUnchanged() === true);
  for (;;) {
    options.signal?.throwIfAborted();
    const nextReadAt = waitsWhileStuck
      ? until
      : Math.min(until, environment.monotonic() + READ_INTERVAL_MS);
    const change = nextChange(store, { id, key: local?.key }, nextReadAt, options.signal);
    try {
      const found = mayEnd ? await look(until) : null;
      mayEnd = true;
      if (found !== null) return found;
      const stuck = waitsWhileStuck ? undefined : await findStuck(store, id, until);
      if (stuck !== undefined) {
        const { code, reason } = stuck;
        throw new PerdureError(code, `${what}: ${reason}.`, { reason });
      }
      if (until <= environment.monotonic()) {
        const reason = await reasonNow(store, id, { brief: timeoutMs === 0 });
        throw timeoutError(`${what} within ${formatDuration(timeoutMs)}`, reason);
      }
      const end = await change.woken;
      const outcome = end === null ? null : (local?.outcomeOf(end) ?? null);
      if (outcome !== null) return outcome;
    } finally {
      change.stop();
    }
  }
}

/**
 * The TIMEOUT error. `what` is the message without its full stop; `reason`: why the instance has not ended.
 */
export function timeoutError(what: string, reason: string | undefined): PerdureError {
  if (reason === undefined) return new PerdureError("TIMEOUT", `${what}.`);
  return new PerdureError("TIMEOUT", `${what}: ${reason}.`, { reason });
}

/**
 * Settles `woken` at the next change, at the time `until`, or when the signal aborts. If this process ends the
 * instance, it settles with the end as soon as the end is committed. Everything else settles it with null.
 */
function nextChange(
  store: Store,
  { id, key }: { readonly id: string; readonly key: number | undefined },
  until: number,
  signal: AbortSignal | undefined,
): { readonly woken: Promise<InstanceEnd | null>; readonly stop: () => void } {
  const { environment } = store.provider;
  const { committer } = store;
  const { promise, resolve } = Promise.withResolvers<InstanceEnd | null>();
  const wake = (): void => resolve(null);
  const unwatchEnd = key === undefined ? null : committer.watchEnd(key, resolve);
  const unwatch = Changes.of(store.provider).watch(id, () => {
    // The store reports a commit before the committer does. The end follows, without a read.
    if (key === undefined || !committer.isEnding(key)) wake();
  });
  const leftMs = until - environment.monotonic();
  const timer =
    leftMs === Infinity ? null : environment.setTimer(Math.min(leftMs, 2 ** 31 - 1), wake);
  signal?.addEventListener("abort", wake, { once: true });
  const stop = (): void => {
    unwatch();
    unwatchEnd?.();
    timer?.cancel();
    signal?.removeEventListener("abort", wake);
  };
  return { woken: promise, stop };
}

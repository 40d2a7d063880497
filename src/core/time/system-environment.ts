// The host's clock, timers and randomness: the only file in core that uses them (environment.1).

import { AsyncLocalStorage } from "node:async_hooks";
import { randomFillSync } from "node:crypto";
import { TIMER_MAX_MS, type Environment } from "./environment.ts";

// Bound at import, so that a guard or a test that replaces the globals later does not affect the engine.
const hostNow = Date.now.bind(Date);
const hostMonotonic = performance.now.bind(performance);
const hostSetTimeout = setTimeout;
const hostClearTimeout = clearTimeout;
const hostSetInterval = setInterval;
const hostClearInterval = clearInterval;
const hostSetImmediate = setImmediate;
const hostRandom = Math.random.bind(Math);
const hostFill = randomFillSync; // a copy: the imported binding itself would follow a guard's replacement
// The engine's callbacks do not belong to a user's request: they run in the async context of this import.
const inRoot = AsyncLocalStorage.snapshot();

/** Random bytes in stock: a call of the host for every id would cost more than the id. */
const stock = Buffer.alloc(4_096);
let used = stock.length;

function randomHex(bytes: number): string {
  if (used + bytes > stock.length) {
    hostFill(stock);
    used = 0;
  }
  used += bytes;
  return stock.toString("hex", used - bytes, used);
}

export const systemEnvironment: Environment = {
  now: hostNow,
  monotonic: hostMonotonic,
  setTimer(delayMs, fn) {
    const bounded = Math.min(Math.max(Math.ceil(delayMs), 0), TIMER_MAX_MS);
    const timer = inRoot(hostSetTimeout, fn, bounded);
    return { cancel: () => hostClearTimeout(timer) };
  },
  immediate(fn) {
    inRoot(hostSetImmediate, fn);
  },
  watchDelay(everyMs, fn) {
    let last = hostMonotonic();
    const look = (): void => {
      const now = hostMonotonic();
      const lateMs = Math.max(now - last - everyMs, 0);
      last = now;
      fn(lateMs);
    };
    const timer = inRoot(hostSetInterval, look, everyMs);
    timer.unref();
    return { cancel: () => hostClearInterval(timer) };
  },
  random: hostRandom,
  randomHex,
};

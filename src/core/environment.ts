// Time and chance, as everything else in Perdure sees them.
//   E1. Nothing in core, runtime or client asks the host for the time, a timer, a macrotask or a random
//       number except through an Environment, so that a whole runtime can run on virtual time.
//   E2. `now` is wall time and may jump; `monotonic` never goes back and measures durations.
//   E3. A host timer may be asked for at most TIMER_MAX_MS; longer waits are re-armed by the timer wheel.

/** The longest delay a host timer takes without firing at once. */
export const TIMER_MAX_MS = 2_147_483_647;

export interface TimerHandle {
  cancel(): void;
}

/** Time and chance: all that Perdure knows of either. */
export interface Environment {
  /** Wall time in milliseconds since 1970. */
  now(): number;
  /** Milliseconds on a clock that never goes back; only differences mean anything. */
  monotonic(): number;
  /** Calls `fn` once, not before `delayMs` have passed. */
  setTimer(delayMs: number, fn: () => void): TimerHandle;
  /**
   * Calls `fn` in a macrotask of its own. Callbacks asked for before any of them ran follow each other
   * with nothing but the microtasks of the one before in between.
   */
  immediate(fn: () => void): void;
  /**
   * Tells again and again how late a timer of `everyMs` came: how long the loop stood still. It keeps no process
   * alive. Absent where time is virtual: there nothing is ever late.
   */
  watchDelay?(everyMs: number, fn: (lateMs: number) => void): TimerHandle;
  /** A number in [0, 1). */
  random(): number;
  /** `bytes` random bytes as lower-case hexadecimal text. */
  randomHex(bytes: number): string;
}

// The environment: the source of time, timers and randomness for all of Perdure.
//   - environment.1: Code in core, runtime and client gets the time, timers, macrotasks and random numbers
//       only from an Environment, so that a whole runtime can run on virtual time.
//   - environment.2: `now` is wall time and may jump. `monotonic` never goes back and measures durations.
//   - environment.3: A host timer waits at most TIMER_MAX_MS. The timer wheel arms a longer wait again.

/** The longest delay of a host timer. With a longer one the host timer would fire at once. */
export const TIMER_MAX_MS = 2_147_483_647;

export interface TimerHandle {
  cancel(): void;
}

/** The only source of time and randomness in Perdure. */
export interface Environment {
  /** Wall time in milliseconds since 1970. */
  now(): number;
  /** Milliseconds on a clock that never goes back; only differences mean anything. */
  monotonic(): number;
  /** Calls `fn` once, after at least `delayMs`. */
  setTimer(delayMs: number, fn: () => void): TimerHandle;
  /**
   * Calls `fn` in a separate macrotask. Callbacks that were requested before any of them ran follow each
   * other, with only the microtasks of the previous callback in between.
   */
  immediate(fn: () => void): void;
  /**
   * Measures stalls of the event loop: calls `fn` every `everyMs` with how late the timer fired. The timer
   * does not keep the process alive. Absent with virtual time, where no timer is late.
   */
  watchDelay?(everyMs: number, fn: (lateMs: number) => void): TimerHandle;
  /**
   * Awaits a promise that a timer of this environment settles. Code of an activity that waits this way does not stop
   * virtual time. Absent: time does not stop for code.
   */
  idleWhile?<T>(wait: Promise<T>): Promise<T>;
  /** A number in [0, 1). */
  random(): number;
  /** `bytes` random bytes as a lower-case hexadecimal text. */
  randomHex(bytes: number): string;
}

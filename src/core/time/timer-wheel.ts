// The timer wheel: many deadlines on one host timer.
//   Owns: which callback is next, and when to wake up.  Does not own: the clock and the host's timers.
//   - timer-wheel.1: No callback runs before its deadline by the host's clock. If the host wakes early, the
//       wheel arms its timer again.
//   - timer-wheel.2: Callbacks run in the order of their deadlines. Callbacks with the same deadline run in
//       the order in which they were scheduled.
//   - timer-wheel.3: At most one host timer is armed, and none while nothing is scheduled. It wakes at or
//       before the earliest deadline, and never asks for a longer wait than the host supports (2^31 - 1 ms).
//   - timer-wheel.4: If a callback throws, the other callbacks still run.
//   - timer-wheel.5: A cancelled callback never runs. The heap holds at most as many cancelled entries as
//       live ones.
//   - timer-wheel.6: A callback that is scheduled while callbacks run waits for the next wake-up, however
//       early its deadline is, so that a callback that schedules itself again cannot starve the event loop.

import { TIMER_MAX_MS, type Environment, type TimerHandle } from "./environment.ts";
import { invalidArgument } from "../checks.ts";
import { showValue } from "../ids/ids.ts";

export type TimerHost = Pick<Environment, "now" | "setTimer">;

export interface TimerWheelOptions {
  /**
   * Receives the error of a callback. Without it the wake-up throws the error after all callbacks have run.
   */
  readonly onError?: (error: unknown) => void;
  /** The longest single wait. It bounds how late a callback runs after the wall clock jumps. Default 24 h. */
  readonly hopMsMax?: number;
}

interface Entry {
  readonly at: number;
  readonly order: number;
  /** `undefined` after the callback ran or was cancelled. */
  fn: (() => void) | undefined;
  /** Whether the entry is in the heap. A due entry leaves the heap before it runs. */
  held: boolean;
}

const HOP_MS_DEFAULT = 86_400_000;

export class TimerWheel {
  readonly #host: TimerHost;
  readonly #onError: ((error: unknown) => void) | undefined;
  readonly #hopMsMax: number;
  /** A binary heap by (at, order). A cancelled entry stays until it reaches the top or a sweep removes it. */
  #heap: Entry[] = [];
  #dead = 0;
  /** The entries that the current wake-up runs; empty between wake-ups. */
  #due: Entry[] = [];
  #nextOrder = 0;
  #firing = false;
  #armed: { readonly wakeAt: number; cancel(): void } | undefined;

  constructor(host: TimerHost, options: TimerWheelOptions = {}) {
    this.#host = host;
    this.#onError = options.onError;
    this.#hopMsMax = Math.min(options.hopMsMax ?? HOP_MS_DEFAULT, TIMER_MAX_MS);
  }

  /** The number of callbacks that wait. */
  get size(): number {
    return this.#heap.length - this.#dead;
  }

  /** The number of entries in memory, including cancelled ones. */
  get held(): number {
    return this.#heap.length;
  }

  /** Calls `fn` at `atMs` or later. Cancelling a callback that has run or was cancelled has no effect. */
  schedule(atMs: number, fn: () => void): TimerHandle {
    if (!Number.isFinite(atMs)) {
      throw invalidArgument(`A deadline must be a finite number; got ${showValue(atMs)}.`);
    }
    const entry: Entry = { at: atMs, order: this.#nextOrder++, fn, held: true };
    this.#heap.push(entry);
    siftUp(this.#heap, this.#heap.length - 1);
    if (this.#armed === undefined || atMs < this.#armed.wakeAt) this.#arm();
    return { cancel: () => this.#cancel(entry) };
  }

  /** Cancels all callbacks, including those due in the current wake-up. The wheel can be used again. */
  clear(): void {
    for (const entry of this.#heap) entry.fn = undefined;
    for (const entry of this.#due) entry.fn = undefined;
    this.#heap = [];
    this.#dead = 0;
    this.#arm();
  }

  #cancel(entry: Entry): void {
    if (entry.fn === undefined) return;
    entry.fn = undefined;
    if (!entry.held) return;
    this.#dead++;
    this.#sweep();
    // The host timer of a cancelled deadline stays armed. One wake-up without work costs less than arming the
    // host timer again for each of the many timeouts that are set and cancelled.
    if (this.#heap.length === 0) this.#arm();
  }

  /**
   * Keeps timer-wheel.5. A sweep is linear and runs after half as many cancels, so its cost per cancel is
   * constant.
   */
  #sweep(): void {
    if (this.#dead * 2 <= this.#heap.length) return;
    this.#heap = this.#heap.filter((entry) => entry.fn !== undefined);
    this.#dead = 0;
    for (let i = (this.#heap.length >>> 1) - 1; i >= 0; i--) siftDown(this.#heap, i);
  }

  #arm(): void {
    if (this.#firing) return; // the wake-up arms the timer at its end
    this.#armed?.cancel();
    this.#armed = undefined;
    const earliest = this.#earliest();
    if (earliest === undefined) return;
    const now = this.#host.now();
    // Rounded up, so that a host that counts whole milliseconds does not wake before the deadline.
    const delayMs = Math.min(Math.max(Math.ceil(earliest.at - now), 0), this.#hopMsMax);
    const timer = this.#host.setTimer(delayMs, this.#wake);
    this.#armed = { wakeAt: now + delayMs, cancel: () => timer.cancel() };
  }

  /** The next live entry. Removes the cancelled entries above it. */
  #earliest(): Entry | undefined {
    for (;;) {
      const top = this.#heap[0];
      if (top === undefined || top.fn !== undefined) return top;
      popTop(this.#heap);
      this.#dead--;
    }
  }

  readonly #wake = (): void => {
    const now = this.#host.now();
    for (let top = this.#earliest(); top !== undefined && top.at <= now; top = this.#earliest()) {
      popTop(this.#heap);
      top.held = false;
      this.#due.push(top);
    }
    const errors: unknown[] = [];
    this.#firing = true;
    for (const entry of this.#due) {
      const fn = entry.fn;
      entry.fn = undefined;
      try {
        fn?.(); // an earlier callback of this wake-up may have cancelled it
      } catch (error) {
        errors.push(error);
      }
    }
    this.#firing = false;
    this.#due = [];
    this.#sweep();
    this.#arm();
    this.#report(errors);
  };

  #report(errors: readonly unknown[]): void {
    if (this.#onError !== undefined) for (const error of errors) this.#onError(error);
    else if (errors.length === 1) throw errors[0];
    else if (errors.length > 1) throw new AggregateError(errors, "several timer callbacks failed");
  }
}

function isBefore(a: Entry, b: Entry): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order);
}

function siftUp(heap: Entry[], start: number): void {
  const entry = heap[start]!;
  let i = start;
  while (i > 0) {
    const parent = (i - 1) >>> 1;
    if (!isBefore(entry, heap[parent]!)) break;
    heap[i] = heap[parent]!;
    i = parent;
  }
  heap[i] = entry;
}

function siftDown(heap: Entry[], start: number): void {
  const entry = heap[start]!;
  let i = start;
  for (;;) {
    let child = 2 * i + 1;
    if (child >= heap.length) break;
    if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child++;
    if (!isBefore(heap[child]!, entry)) break;
    heap[i] = heap[child]!;
    i = child;
  }
  heap[i] = entry;
}

function popTop(heap: Entry[]): void {
  const last = heap.pop();
  if (last === undefined || heap.length === 0) return;
  heap[0] = last;
  siftDown(heap, 0);
}

// Many deadlines on one host timer.
//   Owns: which callback is next and when to be woken.  Does not own: the clock, nor the host's timers.
//   W1. No callback runs before its deadline by the host's clock; a host that wakes early is asked again.
//   W2. Callbacks run by deadline, those of one deadline in the order in which they were scheduled.
//   W3. At most one host timer is armed, and none while nothing is scheduled. It wakes at or before
//       the earliest deadline, and never asks for more than the host can count (2^31 - 1 ms).
//   W4. A callback that throws takes no other with it.
//   W5. A cancelled callback never runs, and at most as many dead entries are held as live ones.
//   W6. What is scheduled while callbacks run waits for the next wake-up, however early its deadline,
//       so that a callback that reschedules itself cannot keep the process to itself.

import { TIMER_MAX_MS, type Environment, type TimerHandle } from "./environment.ts";
import { PerdureError } from "./errors.ts";
import { showValue } from "./ids.ts";

export type TimerHost = Pick<Environment, "now" | "setTimer">;

export interface TimerWheelOptions {
  /** Receives what a callback throws. Without it the wake-up throws it, after all have run. */
  readonly onError?: (error: unknown) => void;
  /** The longest single wait: bounds how late a jump of the clock can make a callback. Default 24 h. */
  readonly hopMsMax?: number;
}

interface Entry {
  readonly at: number;
  readonly order: number;
  /** `undefined` once it has run or was cancelled. */
  fn: (() => void) | undefined;
  /** Whether it is in the heap; a due one is taken out before it runs. */
  held: boolean;
}

const HOP_MS_DEFAULT = 86_400_000;

export class TimerWheel {
  readonly #host: TimerHost;
  readonly #onError: ((error: unknown) => void) | undefined;
  readonly #hopMsMax: number;
  /** A binary heap by (at, order). Cancelled entries stay until they surface or are swept out. */
  #heap: Entry[] = [];
  #dead = 0;
  /** What this wake-up runs; empty between wake-ups. */
  #due: Entry[] = [];
  #nextOrder = 0;
  #firing = false;
  #armed: { readonly wakeAt: number; cancel(): void } | undefined;

  constructor(host: TimerHost, options: TimerWheelOptions = {}) {
    this.#host = host;
    this.#onError = options.onError;
    this.#hopMsMax = Math.min(options.hopMsMax ?? HOP_MS_DEFAULT, TIMER_MAX_MS);
  }

  /** How many callbacks wait. */
  get size(): number {
    return this.#heap.length - this.#dead;
  }

  /** How many entries are in memory, the cancelled ones included. */
  get held(): number {
    return this.#heap.length;
  }

  /** Cancelling what has run, or was cancelled, is harmless. */
  schedule(atMs: number, fn: () => void): TimerHandle {
    if (!Number.isFinite(atMs)) {
      throw new PerdureError("INVALID_ARGUMENT", `deadline ${showValue(atMs)} must be finite`);
    }
    const entry: Entry = { at: atMs, order: this.#nextOrder++, fn, held: true };
    this.#heap.push(entry);
    siftUp(this.#heap, this.#heap.length - 1);
    if (this.#armed === undefined || atMs < this.#armed.wakeAt) this.#arm();
    return { cancel: () => this.#cancel(entry) };
  }

  /** Cancels everything, those due in this very wake-up too; the wheel can be used again. */
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
    // A host timer set for a cancelled deadline is left alone: waking once in vain costs less than
    // arming anew for each of the many timeouts that are set and never needed.
    if (this.#heap.length === 0) this.#arm();
  }

  /** Keeps W5. Linear, but only after half as many cancels: constant for each of them. */
  #sweep(): void {
    if (this.#dead * 2 <= this.#heap.length) return;
    this.#heap = this.#heap.filter((entry) => entry.fn !== undefined);
    this.#dead = 0;
    for (let i = (this.#heap.length >>> 1) - 1; i >= 0; i--) siftDown(this.#heap, i);
  }

  #arm(): void {
    if (this.#firing) return; // the wake-up arms when it is done
    this.#armed?.cancel();
    this.#armed = undefined;
    const earliest = this.#earliest();
    if (earliest === undefined) return;
    const now = this.#host.now();
    // Rounded up, so that a host that counts whole milliseconds does not wake early and in vain.
    const delayMs = Math.min(Math.max(Math.ceil(earliest.at - now), 0), this.#hopMsMax);
    const timer = this.#host.setTimer(delayMs, this.#wake);
    this.#armed = { wakeAt: now + delayMs, cancel: () => timer.cancel() };
  }

  /** The live entry that is next; dead ones above it are let go. */
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
        fn?.(); // an earlier one of this wake-up may have cancelled it
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

// The beat channel: shared memory through which the main thread and the liveness thread communicate.
//   - The main thread writes without waiting. A counter that increases shows that its event loop turns.
//   - beat-channel.1: A thread that sleeps records when it must wake. If it has not woken by then, the
//     whole process was suspended (SIGSTOP, a suspended machine), and the main loop is not the cause.
//   - beat-channel.2: Node's `process.hrtime` is the clock of the system, so all threads read the same time. On Bun and
//     Deno it begins at zero in every thread. There a thread moves its clock by the difference in wall-clock time.
//   - The description of what the main thread runs is only for people. A text that is read while it is
//     written may be garbled, which does no harm.

/** A longer time between two heartbeats than this many intervals is a gap. */
export const GAP_INTERVALS = 2.5;

const ALIVE_MS = 1_000;
/** A thread that wakes within this time of its deadline is on time. */
const LATE_MS = 100;

const STOP = 0;
const TURNS = 1;
const LOST = 2;
const ENTERING_BYTES = 3;
const INTEGERS = 4;

const TEXT_BYTES = 512;
const TIMES_AT = 16; // after the integers, on a multiple of eight
const TIMES = 5;
const TEXT_AT = TIMES_AT + 8 * TIMES;

export class BeatChannel {
  readonly memory: SharedArrayBuffer;
  readonly #integers: Int32Array;
  /**
   * Milliseconds of process.hrtime, which is the same in both threads. In order: since when heartbeats
   * succeed (0: they do not), the time of the last heartbeat, when the sleeping thread must wake (0: it
   * is awake), when it last woke late, and by how much.
   */
  readonly #times: Float64Array;
  readonly #text: Uint8Array;
  readonly #encoder = new TextEncoder();

  constructor(memory = new SharedArrayBuffer(TEXT_AT + TEXT_BYTES)) {
    this.memory = memory;
    this.#integers = new Int32Array(memory, 0, INTEGERS);
    this.#times = new Float64Array(memory, TIMES_AT, TIMES);
    this.#text = new Uint8Array(memory, TEXT_AT, TEXT_BYTES);
  }

  turned(): void {
    Atomics.add(this.#integers, TURNS, 1);
  }

  entering(what: string): void {
    const written = what === "" ? 0 : this.#encoder.encodeInto(what, this.#text).written;
    Atomics.store(this.#integers, ENTERING_BYTES, written);
  }

  /** What the main thread wrote last. */
  read(): { turns: number; entering: string } {
    const bytes = this.#text.slice(0, Atomics.load(this.#integers, ENTERING_BYTES));
    return {
      turns: Atomics.load(this.#integers, TURNS),
      entering: new TextDecoder().decode(bytes),
    };
  }

  get lost(): boolean {
    return Atomics.load(this.#integers, LOST) === 1;
  }

  set lost(lost: boolean) {
    Atomics.store(this.#integers, LOST, lost ? 1 : 0);
  }

  get steadySince(): number {
    return this.#times[0] ?? 0;
  }

  set steadySince(time: number) {
    this.#times[0] = time;
  }

  get lastBeat(): number {
    return this.#times[1] ?? 0;
  }

  set lastBeat(time: number) {
    this.#times[1] = time;
  }

  /** When the thread last woke late, and by how much. */
  get late(): { readonly at: number; readonly ms: number } {
    const [, , , at = 0, ms = 0] = this.#times;
    return { at, ms };
  }

  /** Whether the thread, too, was suspended for most of the last `ms` (beat-channel.1). */
  wasSuspended(ms: number): boolean {
    const now = processMs();
    const wakesAt = this.#times[2] ?? 0;
    const overdueMs = wakesAt === 0 ? 0 : now - wakesAt;
    const { late } = this;
    const lateMs = now - late.at <= ms ? late.ms : 0;
    return Math.max(overdueMs, lateMs) > ms / 2;
  }

  #asleep(ms: number): void {
    this.#times[2] = processMs() + ms;
  }

  #awake(): void {
    const now = processMs();
    const lateMs = now - (this.#times[2] ?? now);
    this.#times[2] = 0;
    if (lateMs < LATE_MS) return;
    this.#times[3] = now;
    this.#times[4] = lateMs;
  }

  stop(): void {
    Atomics.store(this.#integers, STOP, 1);
    Atomics.notify(this.#integers, STOP);
  }

  /**
   * Sleeps; returns true when the thread must stop. It blocks, so it is for a thread with nothing else to
   * do.
   */
  sleep(ms: number): boolean {
    this.#asleep(ms);
    const isOver = Atomics.wait(this.#integers, STOP, 0, ms) !== "timed-out";
    this.#awake();
    return isOver;
  }

  /** Like `sleep` without blocking, for a thread that has a connection. */
  async rest(ms: number): Promise<boolean> {
    const alive = setInterval(() => {}, ALIVE_MS); // waitAsync alone does not keep its thread alive
    this.#asleep(ms);
    try {
      return (await Atomics.waitAsync(this.#integers, STOP, 0, ms).value) !== "timed-out";
    } finally {
      this.#awake();
      clearInterval(alive);
    }
  }
}

let offsetMs = 0;

/** Milliseconds on a clock that all threads of the process share. */
export function processMs(): number {
  return Number(process.hrtime.bigint()) / 1e6 + offsetMs;
}

/** The wall-clock time at which the clock of this thread read zero. */
export function clockEpoch(): number {
  return Date.now() - processMs();
}

/**
 * Makes `processMs` of this thread agree with the thread that has this epoch (beat-channel.2). Must be called first in a
 * thread.
 */
export function shareClock(epochMs: number): void {
  const { bun, deno } = process.versions;
  if (bun !== undefined || deno !== undefined) offsetMs += clockEpoch() - epochMs;
}

// Heart board: what the main thread and the heart's thread tell each other, in shared memory.
//   B1. The main thread writes without waiting: a counter that moves says that its loop turns.
//   B2. A thread that sleeps says until when. If it is not awake by then, the whole process stood still (SIGSTOP, a
//       suspended machine), and the main loop is not to blame.
//   B3. What it is entering is for people; a text read while it is written may be garbled and harms nobody.

/** A longer time between two beats than this many intervals is a gap. */
export const GAP_INTERVALS = 2.5;

const ALIVE_MS = 1_000;
/** A thread that wakes within this time of its deadline is on time. */
const LATE_MS = 100;

const STOP = 0;
const TURNS = 1;
const CALLS_OPEN = 2;
const CALLS_ENDED = 3;
const LOST = 4;
const ENTERING_BYTES = 5;
const INTEGERS = 6;

const TEXT_BYTES = 512;
const TIMES_AT = 32; // after the integers, on a multiple of eight
const TIMES = 5;
const TEXT_AT = TIMES_AT + 8 * TIMES;

export class HeartBoard {
  readonly memory: SharedArrayBuffer;
  readonly #integers: Int32Array;
  /**
   * Milliseconds of process.hrtime, which both threads read alike: since when beats go through, 0 when they do
   * not; when the last one did; when the sleeping thread must be awake again, 0 while it is awake; when it last woke
   * late, and by how much.
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
    const { written } = this.#encoder.encodeInto(what, this.#text);
    Atomics.store(this.#integers, ENTERING_BYTES, written);
  }

  calling(): void {
    Atomics.add(this.#integers, CALLS_OPEN, 1);
  }

  called(): void {
    Atomics.sub(this.#integers, CALLS_OPEN, 1);
    Atomics.add(this.#integers, CALLS_ENDED, 1);
  }

  /** What the main thread has said last. */
  read(): { turns: number; callsOpen: number; callsEnded: number; entering: string } {
    const bytes = this.#text.slice(0, Atomics.load(this.#integers, ENTERING_BYTES));
    return {
      turns: Atomics.load(this.#integers, TURNS),
      callsOpen: Atomics.load(this.#integers, CALLS_OPEN),
      callsEnded: Atomics.load(this.#integers, CALLS_ENDED),
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

  /** Whether the thread, too, stood still for most of the last `ms` (B2). */
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

  /** Sleeps; true when it is time to stop. For a thread that has nothing else to attend to: it blocks. */
  sleep(ms: number): boolean {
    this.#asleep(ms);
    const isOver = Atomics.wait(this.#integers, STOP, 0, ms) !== "timed-out";
    this.#awake();
    return isOver;
  }

  /** The same for a thread that has a connection to attend to: it does not block. */
  async rest(ms: number): Promise<boolean> {
    const alive = setInterval(() => {}, ALIVE_MS); // a wait of this kind does not keep its thread from ending
    this.#asleep(ms);
    try {
      return (await Atomics.waitAsync(this.#integers, STOP, 0, ms).value) !== "timed-out";
    } finally {
      this.#awake();
      clearInterval(alive);
    }
  }
}

/** Milliseconds on a clock that all threads of the process share. */
export function processMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

// Heart board: what the main thread and the heart's thread tell each other, in shared memory.
//   B1. The main thread writes without waiting: a counter that moves says that its loop turns.
//   B2. What it is entering is for people; a text read while it is written may be garbled and harms nobody.

/** A longer time between two beats than this many intervals is a gap. */
export const GAP_INTERVALS = 2.5;

const ALIVE_MS = 1_000;

const STOP = 0;
const TURNS = 1;
const CALLS_OPEN = 2;
const CALLS_ENDED = 3;
const LOST = 4;
const ENTERING_BYTES = 5;
const INTEGERS = 6;

const TEXT_BYTES = 512;
const TIMES_AT = 32; // after the integers, on a multiple of eight
const TEXT_AT = TIMES_AT + 16;

export class HeartBoard {
  readonly memory: SharedArrayBuffer;
  readonly #integers: Int32Array;
  /**
   * Milliseconds of process.hrtime, which both threads read alike: since when beats go through, 0 when they do
   * not; and when the last one did.
   */
  readonly #times: Float64Array;
  readonly #text: Uint8Array;
  readonly #encoder = new TextEncoder();

  constructor(memory = new SharedArrayBuffer(TEXT_AT + TEXT_BYTES)) {
    this.memory = memory;
    this.#integers = new Int32Array(memory, 0, INTEGERS);
    this.#times = new Float64Array(memory, TIMES_AT, 2);
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

  stop(): void {
    Atomics.store(this.#integers, STOP, 1);
    Atomics.notify(this.#integers, STOP);
  }

  /** Sleeps; true when it is time to stop. For a thread that has nothing else to attend to: it blocks. */
  sleep(ms: number): boolean {
    return Atomics.wait(this.#integers, STOP, 0, ms) !== "timed-out";
  }

  /** The same for a thread that has a connection to attend to: it does not block. */
  async rest(ms: number): Promise<boolean> {
    const alive = setInterval(() => {}, ALIVE_MS); // a wait of this kind does not keep its thread from ending
    try {
      return (await Atomics.waitAsync(this.#integers, STOP, 0, ms).value) !== "timed-out";
    } finally {
      clearInterval(alive);
    }
  }
}

/** Milliseconds on a clock that all threads of the process share. */
export function processMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

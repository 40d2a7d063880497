// Payloads of the workloads W10 and W10n: text that no store can compress.
//   - The same seed gives the same texts in every run.

/** Long enough that two payloads rarely share a stretch that a compressor could find. */
const SOURCE_CHARS = 1 << 22;
const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/** Cuts texts out of one long random text. */
export class Payloads {
  readonly #source: string;
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
    const bytes = Buffer.alloc(SOURCE_CHARS);
    for (let i = 0; i < SOURCE_CHARS; i++) bytes[i] = ALPHABET.charCodeAt(this.#next(64));
    this.#source = bytes.toString("latin1");
  }

  /** A text of that many characters; each is one byte in UTF-8. */
  text(chars: number): string {
    const start = this.#next(SOURCE_CHARS - chars);
    return this.#source.slice(start, start + chars);
  }

  /** A whole number from `from` to `to`, both included. */
  between(from: number, to: number): number {
    return from + this.#next(to - from + 1);
  }

  /** A number below `bound` (mulberry32). */
  #next(bound: number): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * bound);
  }
}

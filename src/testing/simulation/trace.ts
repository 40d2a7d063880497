// Trace: the events of a run, line by line, and a hash that is equal for equal runs.
//   - A line holds ids, kinds and counts, no payloads and no stacks. The same run gives the same lines
//        everywhere.
//   - Lines are kept only on request. The hash covers all lines in both cases.

import { textHash } from "./world/seeded-random.ts";

export class Trace {
  readonly lines: string[] = [];
  readonly #keeps: boolean;
  readonly #elapsedMs: () => number;
  #low = 0x811c9dc5;
  #high = 0x01234567;
  #isOver = false;

  constructor(options: { readonly keeps: boolean; readonly elapsedMs: () => number }) {
    this.#keeps = options.keeps;
    this.#elapsedMs = options.elapsedMs;
  }

  note(source: string, what: string): void {
    if (this.#isOver) return;
    const line = `${stamp(this.#elapsedMs())} ${source.padEnd(6)} ${what}`;
    this.#low = textHash(line, this.#low);
    this.#high = Math.imul(this.#high ^ this.#low, 0x85ebca6b) ^ line.length;
    if (this.#keeps) this.lines.push(line);
  }

  /** Adds a choice of the timeline to the hash. */
  step(choice: number): void {
    if (this.#isOver) return;
    this.#low = Math.imul(this.#low ^ choice, 0x01000193);
    this.#high = Math.imul(this.#high ^ this.#low, 0x85ebca6b);
  }

  /** Ends the trace: later lines do not belong to the run. */
  end(): void {
    this.#isOver = true;
  }

  /** 64 bits as hexadecimal text. */
  get hash(): string {
    return [this.#high, this.#low]
      .map((part) => (part >>> 0).toString(16).padStart(8, "0"))
      .join("");
  }
}

/** Hours, minutes, seconds and milliseconds since the start of the run. */
function stamp(ms: number): string {
  const pad = (value: number, digits: number): string => String(value).padStart(digits, "0");
  const seconds = Math.floor(ms / 1_000);
  const clock = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60, seconds % 60];
  return `${clock.map((part) => pad(part, 2)).join(":")}.${pad(ms % 1_000, 3)}`;
}

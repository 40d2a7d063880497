// The trace: what happened, line by line, and a number that two equal runs have in common.
//   TR1. A line holds ids, kinds and counts, no payloads and no stacks: the same run gives the same line anywhere.
//   TR2. Lines are kept only when somebody wants to read them; the number follows from all of them either way.

import { textHash } from "./chance.ts";

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

  note(who: string, what: string): void {
    if (this.#isOver) return;
    const line = `${stamp(this.#elapsedMs())} ${who.padEnd(6)} ${what}`;
    this.#low = textHash(line, this.#low);
    this.#high = Math.imul(this.#high ^ this.#low, 0x85ebca6b) ^ line.length;
    if (this.#keeps) this.lines.push(line);
  }

  /** A choice of the timeline's. */
  step(choice: number): void {
    if (this.#isOver) return;
    this.#low = Math.imul(this.#low ^ choice, 0x01000193);
    this.#high = Math.imul(this.#high ^ this.#low, 0x85ebca6b);
  }

  /** What follows is no part of the run. */
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

/** Hours, minutes, seconds and milliseconds since the beginning. */
function stamp(ms: number): string {
  const pad = (value: number, digits: number): string => String(value).padStart(digits, "0");
  const seconds = Math.floor(ms / 1_000);
  const clock = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60, seconds % 60];
  return `${clock.map((part) => pad(part, 2)).join(":")}.${pad(ms % 1_000, 3)}`;
}

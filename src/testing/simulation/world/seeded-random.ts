// Seeded randomness: all random numbers of a simulation, derived from one seed.
//   - Each subject has a separate stream, so an additional draw of one subject does not change the others. A
//        reduced scenario therefore stays comparable with the original one.

import { hexOf, seededNumbers } from "../../seeded-numbers.ts";

/** Random numbers from a seed, with one stream per subject. */
export class SeededRandom {
  readonly seed: number;
  readonly #subject: string;
  readonly #draw: () => number;

  constructor(seed: number, subject = "") {
    this.seed = seed;
    this.#subject = subject;
    this.#draw = seededNumbers(seed ^ textHash(subject));
  }

  /** The stream of the given subject. */
  of(subject: string): SeededRandom {
    return new SeededRandom(this.seed, `${this.#subject}/${subject}`);
  }

  /** A number in [0, 1). */
  fraction(): number {
    return this.#draw() / 2 ** 32;
  }
  hex(bytes: number): string {
    return hexOf(this.#draw, bytes);
  }
  /** A whole number from 0 to `bound - 1`. */
  below(bound: number): number {
    return Math.floor(this.fraction() * bound);
  }
  /** A whole number, both ends included. */
  between(least: number, most: number): number {
    return least + this.below(most - least + 1);
  }
  likely(probability: number): boolean {
    return this.fraction() < probability;
  }
  pick<T>(list: readonly T[]): T {
    const picked = list[this.below(list.length)];
    if (picked === undefined) throw new RangeError("The list to pick from must not be empty.");
    return picked;
  }
  /** Selects each element with the given probability; keeps their order. */
  some<T>(list: readonly T[], probability: number): T[] {
    return list.filter(() => this.likely(probability));
  }
}

/** FNV-1a over UTF-16 units. */
export function textHash(text: string, from = 0x811c9dc5): number {
  let hash = from;
  for (let i = 0; i < text.length; i++) {
    hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  }
  return hash | 0;
}

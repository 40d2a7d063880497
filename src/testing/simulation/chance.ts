// Chance: everything that a simulation leaves to luck, drawn from one seed.
//   CH1. Each subject draws from a stream of its own, so that one more draw of one subject changes no other: a run
//        from which something was taken away stays comparable with the one before.

import { hexOf, seededNumbers } from "../seeded-numbers.ts";

/** Random numbers that follow from a seed, a stream a subject. */
export class Chance {
  readonly seed: number;
  readonly #subject: string;
  readonly #draw: () => number;

  constructor(seed: number, subject = "") {
    this.seed = seed;
    this.#subject = subject;
    this.#draw = seededNumbers(seed ^ textHash(subject));
  }

  /** The stream of another subject. */
  of(subject: string): Chance {
    return new Chance(this.seed, `${this.#subject}/${subject}`);
  }

  /** A number in [0, 1). */
  random(): number {
    return this.#draw() / 2 ** 32;
  }
  hex(bytes: number): string {
    return hexOf(this.#draw, bytes);
  }
  /** A whole number from 0 to below the bound. */
  below(bound: number): number {
    return Math.floor(this.random() * bound);
  }
  /** A whole number, both ends included. */
  between(least: number, most: number): number {
    return least + this.below(most - least + 1);
  }
  likely(probability: number): boolean {
    return this.random() < probability;
  }
  pick<T>(list: readonly T[]): T {
    const picked = list[this.below(list.length)];
    if (picked === undefined) throw new RangeError("cannot pick from an empty list");
    return picked;
  }
  /** Each with that probability, in their order. */
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

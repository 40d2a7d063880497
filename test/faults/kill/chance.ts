// Seeded randomness. A failing run prints its seed; PERDURE_SEED repeats the run's choices.

export interface Chance {
  readonly seed: number;
  /** A number from 0 (included) to 1 (excluded). */
  next(): number;
  /** A whole number, both ends included. */
  between(least: number, most: number): number;
  pick<T>(choices: readonly [T, ...T[]]): T;
  /** True in this fraction of cases. */
  happens(fraction: number): boolean;
}

/** PERDURE_SEED, or a new seed. Timing in the processes under test is not seeded: a seed repeats choices, not races. */
export function seedFromEnvironment(): number {
  return wholeNumber("PERDURE_SEED") ?? Math.floor(Math.random() * 2 ** 31);
}

/** A whole number of at least 1 from the environment; undefined if it is not set. */
export function wholeNumber(variable: string): number | undefined {
  const text = process.env[variable];
  if (text === undefined || text === "") return undefined;
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= 1) return value;
  throw new Error(`${variable} must be a whole number of at least 1; got "${text}".`);
}

/** Mulberry32: small, and random enough to choose the moments of kills. */
export function chanceOf(seed: number): Chance {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const between = (least: number, most: number): number =>
    least + Math.floor(next() * (most - least + 1));
  return {
    seed,
    next,
    between,
    pick: (choices) => choices[between(0, choices.length - 1)] ?? choices[0],
    happens: (fraction) => next() < fraction,
  };
}

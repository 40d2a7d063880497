// Whether memory stays flat: compares the first third of the samples after a warm-up with the last third.

/** Growth that garbage collection and compiled code explain. */
const TOLERANCE_BYTES = 10_000_000;
const TOLERANCE = 0.1;

export interface Flatness {
  readonly isFlat: boolean;
  readonly beforeBytes: number;
  readonly afterBytes: number;
}

/** Takes heap sizes after garbage collection, in order. Null if there are too few. */
export function flatness(samples: readonly number[]): Flatness | null {
  const warm = samples.slice(Math.ceil(samples.length / 4));
  const third = Math.floor(warm.length / 3);
  if (third === 0) return null;
  const beforeBytes = median(warm.slice(0, third));
  const afterBytes = median(warm.slice(-third));
  const isFlat = afterBytes <= beforeBytes * (1 + TOLERANCE) + TOLERANCE_BYTES;
  return { isFlat, beforeBytes, afterBytes };
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;
}

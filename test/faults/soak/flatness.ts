// Whether a measured value stays flat: compares the first third of the samples after a warm-up with the last third.

/** Growth that does not count: garbage collection, compiled code, rows between two cleanups. */
export interface Tolerance {
  readonly share: number;
  readonly absolute: number;
}
const TOLERANCE: Tolerance = { share: 0.1, absolute: 10_000_000 };

export interface Flatness {
  readonly isFlat: boolean;
  readonly before: number;
  readonly after: number;
}

/** Takes the samples in order. Null if there are too few. */
export function flatness(
  samples: readonly number[],
  { share, absolute }: Tolerance = TOLERANCE,
): Flatness | null {
  const warm = samples.slice(Math.ceil(samples.length / 4));
  const third = Math.floor(warm.length / 3);
  if (third === 0) return null;
  const before = median(warm.slice(0, third));
  const after = median(warm.slice(-third));
  return { isFlat: after <= before * (1 + share) + absolute, before, after };
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;
}

// The arithmetic that summarizes figures.

export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** The value below which that share of the values lies, interpolated between neighbours. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const place = (sorted.length - 1) * share;
  const low = sorted[Math.floor(place)];
  const high = sorted[Math.ceil(place)];
  if (low === undefined || high === undefined) throw new Error("No values to sum up.");
  return low + (high - low) * (place - Math.floor(place));
}

export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

export interface Line {
  readonly at: (x: number) => number;
  /** The share of the variance that the line explains. */
  readonly r2: number;
}

/** The least-squares line through the points. */
export function fitLine(points: readonly (readonly [x: number, y: number])[]): Line {
  const meanX = mean(points.map(([x]) => x));
  const meanY = mean(points.map(([, y]) => y));
  let xx = 0;
  let xy = 0;
  let yy = 0;
  for (const [x, y] of points) {
    xx += (x - meanX) ** 2;
    xy += (x - meanX) * (y - meanY);
    yy += (y - meanY) ** 2;
  }
  const slope = xy / xx;
  return { at: (x) => meanY + slope * (x - meanX), r2: yy === 0 ? 1 : (slope * xy) / yy };
}

/** The median of every `size` values in a row: one stall moves one value, not the trend. */
export function bucketMedians(values: readonly number[], size: number): number[] {
  const medians: number[] = [];
  for (let i = 0; i + size <= values.length; i += size) {
    medians.push(median(values.slice(i, i + size)));
  }
  return medians;
}

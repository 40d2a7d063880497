// How large each workload is: the same for Perdure, for the limit and for whoever is measured beside them.

import type { Setting } from "./subject.ts";

/** W1, W1s: steps in a row, and how often each length is run; short ones are over too soon for one to say much. */
export interface RowLength {
  readonly n: number;
  readonly times: number;
}
const ROW_LENGTHS: readonly RowLength[] = [
  { n: 100, times: 10 },
  { n: 1_000, times: 3 },
  { n: 10_000, times: 1 },
];
/** Where a step takes a millisecond and more, a quick run has no time for them all. */
const ROW_LENGTHS_QUICK: readonly RowLength[] = [
  { n: 100, times: 5 },
  { n: 1_000, times: 1 },
  { n: 2_000, times: 1 },
];
export function rowLengths({ quick, store }: Setting): readonly RowLength[] {
  return quick && store === "postgres" ? ROW_LENGTHS_QUICK : ROW_LENGTHS;
}
/** All of them together. */
export function rowSteps(setting: Setting): number {
  return rowLengths(setting).reduce((sum, { n, times }) => sum + n * times, 0);
}
export const ROW_WARM_UP_STEPS = 500;

/** W2, W2t, W2L: instances in flight, steps of each; a repetition is the median of its rounds. */
export const AT_ONCE = 500;
export const STEPS = 5;
export const WARM_UP_ROUNDS = 8;
export const ROUNDS = 5;

/** W2L: instances in all. */
export function flowSize({ quick }: Setting): number {
  return quick ? 2_000 : 20_000;
}

/** W3: activities in parallel. */
export const WIDTHS = [
  { n: 1_000, times: 5 },
  { n: 10_000, times: 1 },
] as const;
export const WIDTH_WARM_UP = 1_000;

/** W4, W5 */
export function samples({ quick }: Setting): { readonly n: number; readonly warmUp: number } {
  return quick ? { n: 150, warmUp: 50 } : { n: 300, warmUp: 100 };
}

/** W6: instances that sleep, and those due at one moment. */
export function sleepers({ quick }: Setting): number {
  return quick ? 10_000 : 100_000;
}
export const DUE_TOGETHER = 10_000;

/** W7: events of a history, and instances of each length. */
export function historyLengths({ quick, store }: Setting): readonly number[] {
  const lengths = [1_000, 2_000, 5_000, 10_000];
  return quick && store === "postgres" ? lengths.slice(0, -1) : lengths; // they are written step by step
}
export function historiesEach({ quick }: Setting): number {
  return quick ? 3 : 5;
}

/** W8: flows of each shape, those that warm up, and how many submissions are under way at once. */
export interface ShapeSize {
  readonly flows: number;
  readonly warmUp: number;
  readonly submitters: number;
}
/** The sizes of the benchmark that the shapes come from: its defaults, and in a quick run those of its CI. */
export function shapeSize(shape: Shape, { quick }: Setting): ShapeSize {
  return quick ? { ...SHAPES[shape], ...CI_SHAPES[shape] } : SHAPES[shape];
}
export type Shape = "linear" | "flood" | "fanout" | "signal-driven" | "sleeping-giants";
const SHAPES: Readonly<Record<Shape, ShapeSize>> = {
  linear: { flows: 5_000, warmUp: 1_000, submitters: 32 }, // as in the figure that is published of it
  flood: { flows: 20_000, warmUp: 1_000, submitters: 256 }, // a fifth of theirs
  fanout: { flows: 10_000, warmUp: 500, submitters: 128 },
  "signal-driven": { flows: 10_000, warmUp: 500, submitters: 128 },
  "sleeping-giants": { flows: 50_000, warmUp: 500, submitters: 512 }, // a tenth of theirs
};
const CI_SHAPES: Readonly<Record<Shape, Partial<ShapeSize>>> = {
  linear: {},
  flood: { flows: 5_000 },
  fanout: { flows: 500, submitters: 32 },
  "signal-driven": { flows: 1_000, submitters: 32 },
  "sleeping-giants": { flows: 1_000, submitters: 32 },
};
/** How long a sleeping giant sleeps; theirs sleep 60 s, and 3 s in their CI. */
export function giantSleepMs({ quick }: Setting): number {
  return quick ? 3_000 : 10_000;
}
/** Branches of a fan-out. */
export const BRANCHES = 10;

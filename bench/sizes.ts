// How large each workload is: the same for Perdure, for the limit and for whoever is measured beside them.

import type { Setting } from "./subject.ts";

/** W1, W1s: steps in a row, and how often each length is run; short ones are over too soon for one to say much. */
export const ROW_LENGTHS = [
  { n: 100, times: 10 },
  { n: 1_000, times: 3 },
  { n: 10_000, times: 1 },
] as const;
/** All of them together. */
export const ROW_STEPS = ROW_LENGTHS.reduce((sum, { n, times }) => sum + n * times, 0);
export const ROW_WARM_UP_STEPS = 500;

/** W2, W2t, W2L: instances in flight, steps of each; a repetition is the median of its rounds. */
export const AT_ONCE = 500;
export const STEPS = 5;
export const WARM_UP_ROUNDS = 3;
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
export const SAMPLES = 300;
export const WARM_UP_SAMPLES = 100;

/** W6: instances that sleep, and those due at one moment. */
export function sleepers({ quick }: Setting): number {
  return quick ? 10_000 : 100_000;
}
export const DUE_TOGETHER = 10_000;

/** W7: events of a history, and instances of each length. */
export const HISTORY_LENGTHS = [1_000, 2_000, 5_000, 10_000] as const;
export const HISTORY_LONGEST = 10_000;
export function historiesEach({ quick }: Setting): number {
  return quick ? 3 : 5;
}

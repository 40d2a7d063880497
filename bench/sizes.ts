// The size of each workload: the same for Perdure, for the limit and for the peers.

import type { Setting } from "./subject.ts";

/** W1, W1s: steps in a row, and how often each length runs; a single short row is over too soon to be meaningful. */
export interface RowLength {
  readonly n: number;
  readonly times: number;
}
const ROW_LENGTHS: readonly RowLength[] = [
  { n: 100, times: 10 },
  { n: 1_000, times: 3 },
  { n: 10_000, times: 1 },
];
/** If a step takes a millisecond or more, a quick run has no time for all lengths. */
const ROW_LENGTHS_QUICK: readonly RowLength[] = [
  { n: 100, times: 5 },
  { n: 1_000, times: 1 },
  { n: 2_000, times: 1 },
];
export function rowLengths({ quick, store }: Setting): readonly RowLength[] {
  return quick && store === "postgres" ? ROW_LENGTHS_QUICK : ROW_LENGTHS;
}
/** The steps of all rows together. */
export function rowSteps(setting: Setting): number {
  return rowLengths(setting).reduce((sum, { n, times }) => sum + n * times, 0);
}
export const ROW_WARM_UP_STEPS = 500;

/** W2, W2t, W2L: instances in flight, steps of each; a repetition is the median of its rounds. */
export const AT_ONCE = 500;
export const STEPS = 5;
export const WARM_UP_ROUNDS = 8;
export const ROUNDS = 5;

/** W2L: the total number of instances. */
export function flowSize({ quick }: Setting): number {
  return quick ? 2_000 : 20_000;
}

/** W3: activities in parallel. */
export const WIDTHS = [
  { n: 1_000, times: 5 },
  { n: 10_000, times: 1 },
] as const;
export const WIDTH_WARM_UP = 1_000;

/** W4, W5, W16 */
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
  return quick && store === "postgres" ? lengths.slice(0, -1) : lengths; // they are written step by step, which takes long
}
export function historiesEach({ quick }: Setting): number {
  return quick ? 3 : 5;
}

/** W10, W10n: instances at once, and the size of a result of W10n. */
export const PAYLOAD_INSTANCES = 1_000;
export const PAYLOAD_CHARS = 20_000;
export const PAYLOAD_PROBE_PAUSE_MS = 5;
export function payloadRounds({ quick }: Setting): number {
  return quick ? 1 : 3;
}

/** W11: events of the history, and reads that are measured. */
export const DESCRIBED_EVENTS = 50_000;
export const DESCRIBES = 50;

/** W12: asks in flight on one key, and keys with one ask in flight each. */
export const ASKS_HOT = 200;
export const ASKS_SPREAD = 500;
export function askSizes({ quick }: Setting): { readonly hot: number; readonly perKey: number } {
  return quick ? { hot: 8_000, perKey: 16 } : { hot: 40_000, perKey: 80 };
}

/** W13: instances that pass a limiter, how often each of them, and how many pass it before the measurement. */
export const PASSING = 500;
export const PASSAGES = 10;
export const PASSING_WARM_UP = 200;

/** W14-many: streams, and the measured period after the warm-up. */
export const STREAMS = 500;
export const STREAMS_MS = 8_000;
export const STREAMS_WARM_UP_MS = 1_000;

/** W14-across: streams at once, and tokens of each. */
export interface AcrossSize {
  readonly streams: number;
  readonly tokens: number;
}
/** The first tokens of each stream are not counted: its reader may begin after its writer. */
export const ACROSS_SKIPPED = 25;
export const ACROSS_WARM_UP: AcrossSize = { streams: 1, tokens: 50 };
export function acrossSizes({ quick }: Setting): readonly AcrossSize[] {
  return [
    { streams: 1, tokens: quick ? 250 : 500 },
    { streams: 50, tokens: quick ? 150 : 300 },
  ];
}

/** W14-readers: readers of one stream, and the measured period. */
export const READERS = 1_000;
export const READERS_MS = 5_000;

/** W14-resume: the offset, the activities that write the stream, and the readers that begin there, one after another. */
export const RESUMED_AT = 100_000;
export const RESUME_WRITERS = 100;
export function resumes({ quick }: Setting): { readonly n: number; readonly warmUp: number } {
  return quick ? { n: 100, warmUp: 20 } : { n: 300, warmUp: 50 };
}

/** W16: callers that enqueue one job at a time, jobs of the warm-up, and jobs enqueued each way. */
export const CALLERS = 500;
export const JOBS_WARM_UP = 5_000;
export function jobSizes({ quick }: Setting): { readonly single: number; readonly bulk: number } {
  return quick ? { single: 10_000, bulk: 30_000 } : { single: 20_000, bulk: 50_000 };
}

/** W17-fair: jobs of the large tenant and of the small one; starts of the tenant with the smaller weight. */
export const backlog = ({ quick }: Setting): number => (quick ? 20_000 : 100_000);
export const SMALL_TENANT = 10;
export const SHARED_STARTS = 5_000;
/** W17-rate: the measured time. */
export const ratedMs = ({ quick }: Setting): number => (quick ? 10_000 : 60_000);

/** W8: flows of each shape, warm-up flows, and concurrent submissions. */
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
  linear: { flows: 5_000, warmUp: 1_000, submitters: 32 }, // as in the published figure
  flood: { flows: 20_000, warmUp: 1_000, submitters: 256 }, // a fifth of the original benchmark
  fanout: { flows: 10_000, warmUp: 500, submitters: 128 },
  "signal-driven": { flows: 10_000, warmUp: 500, submitters: 128 },
  "sleeping-giants": { flows: 50_000, warmUp: 500, submitters: 512 }, // a tenth of the original benchmark
};
const CI_SHAPES: Readonly<Record<Shape, Partial<ShapeSize>>> = {
  linear: {},
  flood: { flows: 5_000 },
  fanout: { flows: 500, submitters: 32 },
  "signal-driven": { flows: 1_000, submitters: 32 },
  "sleeping-giants": { flows: 1_000, submitters: 32 },
};
/** How long a sleeping giant sleeps; in the original benchmark 60 s, and 3 s in its CI. */
export function giantSleepMs({ quick }: Setting): number {
  return quick ? 3_000 : 10_000;
}
/** Branches of a fan-out. */
export const BRANCHES = 10;

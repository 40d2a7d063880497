// The visible part of the timeline: zooming, moving, and the ticks of its axis.

import { formatDuration } from "../../parts/format.ts";

export interface View {
  readonly from: number;
  readonly to: number;
}

const LEAST_MS = 2;

/** Zooms by the factor. The time `around` keeps its position. */
export function zoomed(view: View, whole: View, factor: number, around: number): View {
  const length = Math.min(
    Math.max((view.to - view.from) * factor, LEAST_MS),
    whole.to - whole.from,
  );
  const share = (around - view.from) / (view.to - view.from);
  return within({ from: around - share * length, to: around + (1 - share) * length }, whole);
}

/** Moves by a share of the length; Infinity moves to the end. */
export function moved(view: View, whole: View, share: number): View {
  const by = share === Infinity ? whole.to - view.to : (view.to - view.from) * share;
  return within({ from: view.from + by, to: view.to + by }, whole);
}

/** Moves a view inside the whole and keeps its length. */
export function within({ from, to }: View, whole: View): View {
  const length = Math.min(to - from, whole.to - whole.from);
  const start = Math.min(Math.max(from, whole.from), whole.to - length);
  return { from: start, to: start + length };
}

/** The position of a time in percent of the view. It can be outside of the view. */
export function percent(at: number, { from, to }: View): number {
  return ((at - from) / (to - from)) * 100;
}

export interface Tick {
  readonly at: number;
  readonly label: string;
}

const STEPS = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 15_000, 30_000, 60_000, 120_000,
  300_000, 600_000, 900_000, 1_800_000, 3_600_000, 7_200_000, 10_800_000, 21_600_000, 43_200_000,
  86_400_000, 172_800_000, 604_800_000, 1_209_600_000, 2_592_000_000, 7_776_000_000, 31_536_000_000,
];

/** About `count` ticks at round distances from the start. */
export function ticksOf(view: View, start: number, count: number): readonly Tick[] {
  const length = view.to - view.from;
  const step = STEPS.find((each) => length / each <= count) ?? length / count;
  const first = Math.ceil((view.from - start) / step);
  const last = Math.floor((view.to - start) / step);
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => {
    const distance = (first + index) * step;
    return { at: start + distance, label: distance === 0 ? "0" : `+${formatDuration(distance)}` };
  });
}

// Measuring inside a repetition, and summarizing repetitions.
//   - A result is the median of its repetitions; its spread is their extremes.

import { monitorEventLoopDelay, performance } from "node:perf_hooks";
import { setTimeout as pause } from "node:timers/promises";
import { median } from "./statistics.ts";
import type { Metric, Order, Reading, Result } from "./subject.ts";

/** The histogram's sampling interval, which it counts as part of the delay. */
const RESOLUTION_MS = 2;

export async function timeMs(work: () => Promise<unknown>): Promise<number> {
  const begun = performance.now();
  await work();
  return performance.now() - begun;
}

/** The processor time of the work in microseconds, on all threads; other processes do not change it. */
export async function cpuOf(work: () => Promise<unknown>): Promise<number> {
  const begun = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(begun);
  return user + system;
}

/** Runs the work and returns the 99th percentile of the event loop's delay meanwhile. */
export async function withLoopDelay<T>(
  work: () => Promise<T>,
): Promise<{ readonly value: T; readonly loopP99Ms: number }> {
  const histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  histogram.enable();
  try {
    const value = await work();
    return { value, loopP99Ms: Math.max(0, histogram.percentile(99) / 1e6 - RESOLUTION_MS) };
  } finally {
    histogram.disable();
  }
}

/** Calls for each of 0 … count - 1, at most `limit` at once. */
export async function forEachOf(
  count: number,
  limit: number,
  work: (index: number) => Promise<void>,
): Promise<void> {
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: Math.min(limit, count) }, lane));
}

/** Polls every few milliseconds until the condition holds; throws on a timeout. */
export async function until(
  what: string,
  isSo: () => boolean | Promise<boolean>,
  { everyMs = 2, timeoutMs = 60_000 }: { everyMs?: number; timeoutMs?: number } = {},
): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while (!(await isSo())) {
    if (performance.now() > deadline) throw new Error(`Timed out after ${timeoutMs} ms: ${what}.`);
    await pause(everyMs);
  }
}

/** Memory in MB after a garbage collection. */
export async function settledMemory(): Promise<{
  readonly rssMb: number;
  readonly heapMb: number;
}> {
  const { gc } = globalThis;
  if (gc === undefined) throw new Error("Measuring memory requires --expose-gc.");
  for (let i = 0; i < 4; i++) {
    gc();
    await pause(100);
  }
  const { rss, heapUsed } = process.memoryUsage();
  return { rssMb: rss / 2 ** 20, heapMb: heapUsed / 2 ** 20 };
}

/** Summarizes the repetitions of one order, reading by reading. */
export function summarize(order: Order, repetitions: readonly (readonly Reading[])[]): Result[] {
  const { workload, subject } = order;
  const { store } = order.setting;
  return (repetitions[0] ?? []).map(({ metric, n }) => {
    const values = repetitions.map((readings) => valueOf(readings, metric, n));
    const spread = [Math.min(...values), Math.max(...values)] as const;
    const repeated = values.length;
    return {
      ...{ workload, store, subject, metric },
      ...{ value: median(values), spread, n, repetitions: repeated },
    };
  });
}

function valueOf(readings: readonly Reading[], metric: Metric, n: number): number {
  const found = readings.find((reading) => reading.metric === metric && reading.n === n);
  if (found === undefined) throw new Error(`A repetition lacks ${metric} for n = ${n}.`);
  return found.value;
}

// The printed report: one line per figure, with its goal, its spread and its ratio to the limit.

import { goalOf, isReached, type Goal } from "./goals.ts";
import type { Meta } from "./meta.ts";
import type { Metric, Result } from "./subject.ts";

/** Figures that are better when larger. */
const RATES: readonly Metric[] = [
  ...(["stepsPerS", "flowsPerS", "startsPerS"] as const),
  ...(["hotAsksPerS", "asksPerS", "passagesPerS", "itemsPerS"] as const),
  ...(["enqueuesPerS", "bulkPerS", "jobsPerS"] as const),
];
const WIDTHS = [26, 8, 17, 8, 10, 19, 12, 4, 10, 7];
const HEADINGS = [
  "subject",
  "store",
  "metric",
  "n",
  "median",
  "spread",
  "goal",
  "",
  "limit",
  "ratio",
];
const LEFT = [0, 1, 2, 7];

export function describeMeta(meta: Meta): string {
  const { commit, node, nodeEnv, cores, cpu, memoryGb, load, sqlite, durability } = meta;
  const busy = load > cores / 4 ? ": other processes are running and make every figure worse" : "";
  return [
    `perdure ${commit} · node ${node} · NODE_ENV=${nodeEnv} · ${meta.platform}`,
    `${cores} cores (${cpu}), ${memoryGb} GB, load ${load.toFixed(2)} at the start${busy}`,
    `sqlite ${sqlite} · postgres ${meta.postgres ?? "not run"}`,
    `durability: ${durability} · fdatasync ${meta.fdatasyncMs} ms in ${meta.directory}`,
    ...(meta.postgresSettings === null ? [] : [settings(meta.postgresSettings)]),
    `${meta.repetitions} repetition(s), each in a fresh process on a fresh store; median and spread`,
  ].join("\n");
}

function settings(of: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(of).map(([name, value]) => `${name}=${value}`);
  return `postgres settings: ${pairs.join(" ")}`;
}

export const HEADER = line(HEADINGS);

/** One line for a figure of Perdure, next to the limit's figure if there is one. */
export function describeResult(result: Result, all: readonly Result[]): string {
  const limit = limitOf(result, all);
  const { subject, store, metric, n, value, spread } = result;
  const goal = subject === "perdure" ? goalOf(result) : null;
  const [min, max] = spread;
  return line([
    ...[subject, store, metric, figure(n), figure(value)],
    result.repetitions === 1 ? "" : `${figure(min)} … ${figure(max)}`,
    goal === null ? "" : describeGoal(goal),
    goal === null ? "" : isReached(goal, result) ? "yes" : "NO",
    limit === undefined ? "" : figure(limit.value),
    limit === undefined ? "" : `${ratio(result, limit).toFixed(2)} ×`,
  ]);
}

function limitOf({ metric, n }: Result, all: readonly Result[]): Result | undefined {
  if (metric === "loopP99Ms") return undefined; // a figure of the process, not of the work
  return all.find((one) => one.subject === "limit" && one.metric === metric && one.n === n);
}

/** The cost as a multiple of the limit's cost. */
function ratio({ metric, value }: Result, limit: Result): number {
  return RATES.includes(metric) ? limit.value / value : value / limit.value;
}

function describeGoal({ atLeast, atMost }: Goal): string {
  if (atLeast !== undefined && atMost !== undefined) return `${atLeast} … ${atMost}`;
  return atLeast === undefined ? `≤ ${figure(atMost ?? 0)}` : `≥ ${figure(atLeast)}`;
}

/** Three significant digits, and groups of thousands. */
function figure(value: number): string {
  const size = Math.abs(value);
  const digits = size >= 100 || Number.isInteger(value) ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3;
  return value.toLocaleString("en", {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  });
}

function line(cells: readonly string[]): string {
  const padded = cells.map((cell, i) => {
    const width = WIDTHS[i] ?? 0;
    return LEFT.includes(i) ? cell.padEnd(width) : cell.padStart(width);
  });
  return padded.join(" ").trimEnd();
}

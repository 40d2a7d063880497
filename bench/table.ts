// The printed report: one line per figure, with its goal, its spread and its ratio to the limit.

import { goalOf, isReached, isSameFigure, type Figure, type Goal } from "./goals.ts";
import type { Meta } from "./meta.ts";
import type { Result } from "./subject.ts";

/** Figures that are better when larger. */
export const RATES: readonly string[] = [
  ...["stepsPerS", "flowsPerS", "startsPerS"],
  ...["hotAsksPerS", "asksPerS", "passagesPerS", "itemsPerS"],
  ...["enqueuesPerS", "bulkPerS", "jobsPerS"],
];
const WIDTHS = [26, 8, 17, 8, 10, 19, 26, 4, 10, 7];
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

const VERDICTS: Readonly<Record<string, string>> = { true: "yes", false: "NO", null: "?" };

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
    goal === null ? "" : (VERDICTS[String(isReached(goal, result, all))] ?? ""),
    limit === undefined ? "" : figure(limit.value),
    limit === undefined ? "" : `${ratio(result, limit).toFixed(2)} ×`,
  ]);
}

/** The limit's figure of the same run. */
export function limitOf<R extends Figure>(result: R, all: readonly R[]): R | undefined {
  if (result.metric === "loopP99Ms") return undefined; // a figure of the process, not of the work
  return all.find((one) => one.subject === "limit" && isSameFigure(one, result));
}

/** The cost as a multiple of the limit's cost. */
function ratio({ metric, value }: Result, limit: Result): number {
  return RATES.includes(metric) ? limit.value / value : value / limit.value;
}

export function describeGoal({ atLeast, atMost, of }: Goal): string {
  const bounds = describeBounds({ atLeast, atMost });
  if (of === undefined) return bounds;
  const relative = `${describeBounds(of)} × ${of.subject}`;
  return bounds === "" ? relative : `${bounds} or ${relative}`;
}

function describeBounds({
  atLeast,
  atMost,
}: {
  atLeast?: number | undefined;
  atMost?: number | undefined;
}): string {
  if (atLeast !== undefined && atMost !== undefined) return `${atLeast} … ${atMost}`;
  if (atLeast !== undefined) return `≥ ${bound(atLeast)}`;
  return atMost === undefined ? "" : `≤ ${bound(atMost)}`;
}

/** As written in goals.ts, with groups of thousands. */
function bound(value: number): string {
  return value.toLocaleString("en", { maximumFractionDigits: 3 });
}

/** Three significant digits, and groups of thousands. */
export function figure(value: number): string {
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

// Figures as text, and Markdown tables.

import { goalOf, isReached, type Goal } from "../../bench/goals.ts";
import type { Row } from "../../bench/report-file.ts";
import { describeGoal, figure } from "../../bench/table.ts";
import type { Published } from "./published.ts";

/** The median, and the extremes if there was more than one repetition. */
export function valueOf(row: Row): string {
  const unit = row.metric.endsWith("Percent") ? " %" : "";
  const [min, max] = row.spread;
  const value = `${figure(row.value)}${unit}`;
  return row.repetitions === 1 ? value : `${value} (${figure(min)} … ${figure(max)})`;
}

/** A figure of Perdure, bold if it misses its goal. */
export function judged(published: Published, row: Row, text = valueOf(row)): string {
  const goal = goalOf(row);
  const all = published.pair(row.workload, row.store);
  return goal !== null && isReached(goal, row, all) === false ? `**${text}**` : text;
}

/** One goal for both stores, or both. */
export function goalText(goals: readonly (Goal | null)[]): string {
  const texts = goals.map((goal) => (goal === null ? "–" : describeGoal(goal)));
  return new Set(texts).size === 1 ? (texts[0] ?? "–") : texts.join(" · ");
}

/** The first column is text, the others are figures. */
export function markdownTable(
  headings: readonly string[],
  rows: readonly (readonly string[])[],
): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
  const rule = headings.map((_, index) => (index === 0 ? "---" : "---:"));
  return [line(headings), line(rule), ...rows.map(line)].join("\n");
}

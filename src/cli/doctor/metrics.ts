// The check-up of metrics: the figures that triggers keep, compared with a count of all instances.

import { ok, problem, type Finding } from "./finding.ts";

/** Nothing where they were not compared. */
export function checkMetrics(miscounts: readonly string[] | undefined): readonly Finding[] {
  if (miscounts === undefined) return [];
  if (miscounts.length === 0) return [ok("metrics", "the figures agree with a count of instances")];
  const message = "the figures of metrics differ from a count of instances";
  const hint =
    "Count again with the statements in docs/operations.md; nothing else uses the figures.";
  return [problem("metrics", message, { details: miscounts, hint })];
}

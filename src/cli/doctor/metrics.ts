// Checks the metrics: compares the counts that triggers maintain with a count of all instances.

import { ok, problem, type Finding } from "./finding.ts";

/** `miscounts`: the counts that differ. Undefined: the provider did not compare them. */
export function checkMetrics(miscounts: readonly string[] | undefined): readonly Finding[] {
  if (miscounts === undefined) return [];
  if (miscounts.length === 0) return [ok("metrics", "the metrics match a count of the instances")];
  const message = "the metrics differ from a count of the instances";
  const hint = "Recount with the statements in docs/operations.md. Only the metrics are affected.";
  return [problem("metrics", message, { details: miscounts, hint })];
}

// When a turn's commit gives the lease back in the same statement (architecture §4.6).

import type { Run } from "../core/run.ts";
import { hasOpenSteps } from "./turn-commit.ts";

export interface ReleaseRule {
  readonly stopping: boolean;
  readonly stickyCacheMax: number;
  /** Timers due before this keep their instance. */
  readonly soon: number;
}

/** Nothing to wait for but far timers, no cache, or no future here. Open steps need their process. */
export function shouldRelease(run: Run, rule: ReleaseRule): boolean {
  if (run.ended !== null && run.ended.kind !== "OrchestrationContinuedAsNew") return true;
  if (run.ended === null && hasOpenSteps(run)) return false;
  if (rule.stickyCacheMax === 0 || rule.stopping) return true;
  if (run.ended !== null) return false;
  for (const task of run.open.values()) {
    if (task.kind !== "timer" || task.due <= rule.soon) return false;
  }
  return true;
}

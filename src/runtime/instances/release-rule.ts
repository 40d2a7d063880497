// The release rule: when the commit of a turn also releases the lease (ARCHITECTURE.md, "The path of one step").

import type { Run } from "../../core/replay/run.ts";
import { hasOpenSteps } from "../replay/turn-commit.ts";

export interface ReleaseRule {
  readonly stopping: boolean;
  readonly stickyCacheMax: number;
  /** A timer due before this time keeps its instance leased. */
  readonly soon: number;
}

/**
 * True if the instance has ended, if only distant timers are open, if the cache is off, or if the runtime
 * is stopping. Open steps keep the lease, because they run in this process.
 */
export function shouldRelease(run: Run, rule: ReleaseRule): boolean {
  if (run.ended !== null && run.ended.kind !== "OrchestrationContinuedAsNew") return true;
  if (run.ended === null && hasOpenSteps(run)) return false;
  if (rule.stickyCacheMax === 0 || rule.stopping) return true;
  if (run.ended !== null) return false;
  for (const task of run.openTasks.values()) {
    if (task.kind !== "timer" || task.due <= rule.soon) return false;
  }
  return true;
}

// A prepared turn: a finished turn with its commit item, ready to be written.
//   - The release rule decides whether the commit also releases the lease (ARCHITECTURE.md, "The path of one
//     step").
//   - Nothing of the turn has left this runtime yet (I13). A turn that is not written gives its reserved
//     slots back (`preLeases.takeBack`).

import type { EventBody } from "../../core/history/events.ts";
import type { TurnItem } from "../../core/provider/commit.ts";
import type { BufferedLog, Run } from "../../core/replay/run.ts";
import { PreLeases } from "../attempts/pre-leased-tasks.ts";
import type { RuntimeContext } from "../context.ts";
import { addLines } from "../streams/log-lines.ts";
import { turnItem } from "./turn-commit.ts";
import type { FinishedTurn } from "./turn-job.ts";

export interface PreparedTurn {
  readonly turn: FinishedTurn;
  readonly item: TurnItem;
  readonly events: readonly EventBody[];
  readonly logs: readonly BufferedLog[];
  readonly preLeases: PreLeases;
}

/** Null: the turn has nothing to write. */
export function prepareTurn(runtime: RuntimeContext, turn: FinishedTurn): PreparedTurn | null {
  const { run } = turn;
  const { events, effects, logs } = run.takeTurn();
  if (events.length === 0 && turn.consumed.length === 0 && !turn.leftEvents) return null;
  const { stickyCacheMax, stickyIdleMs, cancelTimeoutMs } = runtime.options;
  const soon = runtime.storeNow() + stickyIdleMs;
  if (runtime.options.logToStream) addLines(effects, logs, run.codec, runtime.storeNow());
  const stopping = !runtime.isRunning;
  const preLeases = new PreLeases(runtime);
  const item = turnItem(turn, events, effects, {
    commitId: runtime.newToken(),
    cancelTimeoutMs,
    leaseFor: (task) => preLeases.leaseFor(task.body),
    weightOf: (call) => runtime.queues.weightOf(call),
    release: shouldRelease(run, { stopping, stickyCacheMax, soon }),
  });
  return { turn, item, events, logs, preLeases };
}

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
  if (run.ended === null && run.openTasks.hasSteps) return false;
  if (rule.stickyCacheMax === 0 || rule.stopping) return true;
  if (run.ended !== null) return false;
  for (const task of run.openTasks.values()) {
    if (task.kind !== "timer" || task.due <= rule.soon) return false;
  }
  return true;
}

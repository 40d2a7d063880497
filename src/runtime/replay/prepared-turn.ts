// A prepared turn: a finished turn with its commit item, ready to be written.
//   - Nothing of the turn has left this runtime yet (I13). A turn that is not written gives its reserved
//     slots back (`preLeases.takeBack`).

import type { EventBody } from "../../core/history/events.ts";
import type { TurnItem } from "../../core/provider/commit.ts";
import type { BufferedLog } from "../../core/replay/run.ts";
import { PreLeases } from "../attempts/pre-leased-tasks.ts";
import type { RuntimeContext } from "../context.ts";
import { shouldRelease } from "../instances/release-rule.ts";
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
  const stopping = !runtime.isRunning;
  const preLeases = new PreLeases(runtime);
  const item = turnItem(turn, events, effects, {
    commitId: runtime.newToken(),
    cancelTimeoutMs,
    leaseFor: (task) => preLeases.leaseFor(task.body),
    release: shouldRelease(run, { stopping, stickyCacheMax, soon }),
  });
  return { turn, item, events, logs, preLeases };
}

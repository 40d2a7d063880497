// Commit items for instances that cannot continue: a block, or the failure that `onNondeterminism:
// "fail"` requests.

import { nondeterminismFailure } from "../../core/errors/built-in-failures.ts";
import type { BlockReason } from "../../core/history/block.ts";
import type { OrchestrationFailed } from "../../core/history/events.ts";
import type { BlockItem, TurnItem } from "../../core/provider/commit.ts";
import type { Run } from "../../core/replay/run.ts";
import { TurnEffects } from "../../core/replay/effects.ts";
import type { HeldInstance } from "./held-instance.ts";
import { turnItem } from "../replay/turn-commit.ts";

export function blockItem(
  held: HeldInstance,
  reason: BlockReason,
  found: { by: string; since: number },
): BlockItem {
  return {
    kind: "block",
    key: held.key,
    token: held.token,
    reason: JSON.stringify({ ...reason, ...found }),
    by: found.by,
  };
}

/** Ends the execution as failed. The failure is appended to the committed history. */
export function failureTurn(
  held: HeldInstance,
  run: Run,
  reason: BlockReason,
  options: { commitId: number; at: number },
): TurnItem {
  const failed: OrchestrationFailed = {
    kind: "OrchestrationFailed",
    outcome: "failed",
    failure: nondeterminismFailure(reason),
  };
  run.blocked = null;
  run.ended = failed;
  const turn = {
    held,
    run,
    at: options.at,
    replayed: 0,
    consumed: [],
    leftEvents: false,
    parkedEvents: false,
    delivered: [],
    outcomes: [],
    bug: undefined,
  };
  return turnItem(turn, [failed], new TurnEffects(), {
    commitId: options.commitId,
    cancelTimeoutMs: 0,
    leaseFor: () => null,
    release: true,
  });
}

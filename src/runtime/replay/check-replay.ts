// Replay check: replays a recorded history with given code and reports whether an instance with this
// history would continue or be blocked.
//   - check-replay.1: Nothing is written, no activity or step runs, and no log line of the code appears.
//   - check-replay.2: It uses the replay of the runtime, including the guards, so that it finds what a
//     deploy would find.
//   - check-replay.3: The engine or an operator may have written the last event (a termination, poison, a
//     name that is not registered). The code did not produce that event, so only the history before it is
//     checked.

import type { BlockReason } from "../../core/history/block.ts";
import { defaultCodec, type Codec } from "../../core/values/codec.ts";
import type { Orchestration } from "../../core/define/definitions.ts";
import type { Environment } from "../../core/time/environment.ts";
import { isPerdureError, errorMessage } from "../../core/errors/errors.ts";
import { guardsOf, type GuardOptions } from "../../core/define/guard-names.ts";
import type { HistoryEvent } from "../../core/history/events.ts";
import { decodeHistory } from "../../core/history/rows.ts";
import { verifyRows } from "../../core/history/seal.ts";
import { checkMembers, type Members } from "../../core/checks.ts";
import { resolveLimits, type Limits } from "../../core/values/limits.ts";
import { orchestrationMain } from "../../core/replay/orchestration-main.ts";
import { Run } from "../../core/replay/run.ts";
import { systemEnvironment } from "../../core/time/system-environment.ts";
import { unguarded } from "../guards/guarded-run.ts";
import { installGuards } from "../guards/guards.ts";
import { bytesBefore } from "./make-run.ts";
import { Pump } from "./pump.ts";
import type { RecordedHistory } from "./recorded-history.ts";
import { ReplayJob } from "./replay-check.ts";

/** Options of a replay. They must match the options of the runtime that will run the code. */
export interface ReplayOptions {
  readonly codec?: Codec;
  readonly limits?: Partial<Limits>;
  /** Default: as in production, where Node's I/O modules are not guarded. */
  readonly guards?: GuardOptions;
  readonly environment?: Environment;
}
export const REPLAY_OPTIONS: Members<ReplayOptions> = {
  codec: true,
  limits: true,
  guards: true,
  environment: true,
};
/** Whether an instance with this history would continue, or be blocked and why. */
export type ReplayResult =
  | { readonly kind: "ok"; readonly events: number }
  | { readonly kind: "blocked"; readonly events: number; readonly reason: BlockReason };

/** Replays a history with this code. Name and version of the code need not match the history. */
export async function checkReplay(
  recorded: RecordedHistory,
  definition: Orchestration<never, unknown>,
  options: ReplayOptions = {},
): Promise<ReplayResult> {
  checkMembers(options, REPLAY_OPTIONS, "a replay");
  let history: readonly HistoryEvent[];
  try {
    verifyRows(recorded.rows, recorded, options.codec?.rowSeal, { mayEnd: true });
    history = decodeHistory(recorded.rows);
  } catch (error) {
    if (!isPerdureError(error)) throw error;
    const code = error.code === "KEY_MISSING" ? error.code : "HISTORY_CORRUPT";
    const reason: BlockReason = { code, message: error.message };
    return { kind: "blocked", events: 0, reason };
  }
  const events = history.length;
  if (events === 0) return { kind: "ok", events };
  const reason = await replay(recorded, history, definition, options);
  if (reason === null || isForeignEnd(reason, history)) return { kind: "ok", events };
  return { kind: "blocked", events, reason };
}

async function replay(
  recorded: RecordedHistory,
  history: readonly HistoryEvent[],
  definition: Orchestration<never, unknown>,
  options: ReplayOptions,
): Promise<BlockReason | null> {
  const { id, execution, priority, copiedUntil, rows } = recorded;
  const guards = guardsOf(options.guards ?? true, false);
  const run = new Run({
    instanceId: id,
    execution,
    version: definition.version,
    priority,
    codec: unguarded(options.codec ?? defaultCodec),
    limits: resolveLimits(options.limits),
    main: orchestrationMain(definition),
    history,
    rowBytes: bytesBefore(rows),
    guards,
    captureSources: true,
    isShadow: true,
    onMisuse: () => undefined, // the misuse also blocks the run, and the caller reads `run.blocked`
    readKeyValue: () => Promise.reject(new Error("A replay reads history and nothing else.")),
    ...(copiedUntil === 0 ? {} : { copiedUntil }),
  });
  const { environment = systemEnvironment } = options;
  const uninstall = installGuards(guards);
  try {
    await new Promise<void>((resolve) => {
      const pump = new Pump({ environment, onIdle: resolve, entering: () => undefined });
      pump.add(new CheckJob(run, id, () => undefined));
    });
  } finally {
    uninstall();
  }
  return run.blocked;
}

/**
 * An event that cannot be replayed, such as one without its name, is reported as a block instead of an
 * exception.
 */
export class CheckJob extends ReplayJob {
  override step(): void {
    try {
      super.step();
    } catch (error) {
      const why = errorMessage(error);
      const where = `event ${this.run.deliveredSequence} of the history`;
      this.run.block({ code: "HISTORY_CORRUPT", message: `${where} cannot be replayed: ${why}` });
    }
  }
}

/**
 * Whether the only difference is a last event that was written without running the code (check-replay.3).
 */
function isForeignEnd(reason: BlockReason, history: readonly HistoryEvent[]): boolean {
  const last = history.at(-1);
  if (last?.kind !== "OrchestrationFailed" || reason.sequence !== last.sequence) return false;
  if (last.outcome !== "failed") return reason.requested === null;
  if (last.failure.category === "configuration") return reason.requested === null;
  const before = history.at(-2);
  return before?.kind === "ActivityFailed" && before.failure.category === "poison";
}

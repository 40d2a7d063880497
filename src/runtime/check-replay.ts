// Checking a recorded history against code: would an instance with this past go on, or be blocked?
//   CR1. Nothing is written, no activity or step is entered, and nothing the code logs is to be seen.
//   CR2. It is the runtime's own replay, guards included, so that it finds what a deploy would.
//   CR3. An end that the engine or an operator wrote (a termination, poison, a name nobody registered) is not the
//        code's: the past before it is checked, the end itself is not.

import type { BlockReason } from "../core/block.ts";
import { defaultCodec, type Codec } from "../core/codec.ts";
import type { Orchestration } from "../core/definitions.ts";
import type { Environment } from "../core/environment.ts";
import { isPerdureError } from "../core/errors.ts";
import { guardsOf, type GuardOptions } from "../core/guard-names.ts";
import type { HistoryEvent } from "../core/history-events.ts";
import { decodeHistory } from "../core/history-row.ts";
import { verifyRows } from "../core/history-seal.ts";
import { checkMembers, type Members } from "../core/known-members.ts";
import { resolveLimits, type Limits } from "../core/limits.ts";
import { orchestrationMain } from "../core/orchestration-main.ts";
import { Run } from "../core/run.ts";
import { systemEnvironment } from "../core/system-environment.ts";
import { unguarded } from "./guarded-run.ts";
import { installGuards } from "./guards.ts";
import { bytesBefore } from "./make-run.ts";
import { Pump } from "./pump.ts";
import type { RecordedHistory } from "./recorded-history.ts";
import { ReplayJob } from "./replay-check.ts";

/** What a replay takes from the runtime that the code is for. */
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
/** Whether an instance with this history would go on, or be blocked and why. */
export type ReplayResult =
  | { readonly kind: "ok"; readonly events: number }
  | { readonly kind: "blocked"; readonly events: number; readonly reason: BlockReason };

/** Replays a history with this code, whatever name and version the code has. */
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
  if (reason === null || isNotTheCodes(reason, history)) return { kind: "ok", events };
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
    onMisuse: () => undefined, // the run is blocked, which is what is looked at
    readKeyValue: () => Promise.reject(new Error("A replay reads history and nothing else.")),
    ...(copiedUntil === 0 ? {} : { copiedUntil }),
  });
  const { environment = systemEnvironment } = options;
  const takeOff = installGuards(guards);
  try {
    await new Promise<void>((resolve) => {
      const pump = new Pump({ environment, onIdle: resolve, entering: () => undefined });
      pump.add(new CheckJob(run, id, () => undefined));
    });
  } finally {
    takeOff();
  }
  return run.blocked;
}

/** An event that no replay can make sense of, such as one without its name, is a finding and no crash. */
class CheckJob extends ReplayJob {
  override step(): void {
    try {
      super.step();
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      const place = `event ${this.run.delivered} of the history`;
      this.run.block({ code: "HISTORY_CORRUPT", message: `${place} cannot be replayed: ${why}` });
    }
  }
}

/** Whether what differs is nothing but an end that was written without running the code (CR3). */
function isNotTheCodes(reason: BlockReason, history: readonly HistoryEvent[]): boolean {
  const last = history.at(-1);
  if (last?.kind !== "OrchestrationFailed" || reason.sequence !== last.sequence) return false;
  if (last.outcome !== "failed") return reason.requested === null;
  if (last.failure.category === "configuration") return reason.requested === null;
  const before = history.at(-2);
  return before?.kind === "ActivityFailed" && before.failure.category === "poison";
}

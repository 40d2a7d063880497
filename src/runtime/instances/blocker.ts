// Blocks an instance that cannot continue, or fails it if its author set `onNondeterminism: "fail"`.
//   - A block ends nothing and loses nothing: outcomes that arrive in the meantime wait in the inbox
//     (semantics 5, P6).

import { nondeterminismFailure } from "../../core/errors/built-in-failures.ts";
import type { BlockReason } from "../../core/history/block.ts";
import type { OrchestrationFailed } from "../../core/history/events.ts";
import type { BlockItem, TurnItem } from "../../core/provider/commit.ts";
import { TurnEffects } from "../../core/replay/effects.ts";
import type { Run } from "../../core/replay/run.ts";
import { turnItem } from "../replay/turn-commit.ts";
import { isPerdureError, errorMessage } from "../../core/errors/errors.ts";
import { instanceFields } from "../../core/telemetry/log-fields.ts";
import { logFailedInstance } from "../../core/telemetry/failure-lines.ts";
import { loggedInstance, type HeldInstance, type LocalOutcome } from "./held-instance.ts";
import type { RuntimeContext } from "../context.ts";
import { captureSource } from "../replay/replay-check.ts";
import type { FinishedTurn } from "../replay/turn-job.ts";

export class Blocker {
  readonly #runtime: RuntimeContext;

  constructor(runtime: RuntimeContext) {
    this.#runtime = runtime;
  }

  /** `outcomes` are those that a turn took from the instance. */
  block(held: HeldInstance, reason: BlockReason, outcomes: readonly LocalOutcome[] = []): void {
    void this.#block(held, reason, outcomes);
  }

  async #block(
    held: HeldInstance,
    reason: BlockReason,
    outcomes: readonly LocalOutcome[],
    code?: string,
  ): Promise<void> {
    const { id: by, stats, committer, log, heldInstances, pastBlocks } = this.#runtime;
    stats.blocked++;
    pastBlocks.blocked(held, reason);
    const logged = loggedInstance(held);
    log("warn", `${logged.name}, ${logged.id}: blocked: ${reason.message}`, {
      ...instanceFields(logged),
      code: reason.code,
    });
    heldInstances.release(held, "blocked", { outcomes });
    const item = blockItem(held, reason, { by, since: this.#runtime.storeNow() });
    await committer.submit(code === undefined ? item : { ...item, code }).catch(() => undefined);
  }

  /** The turn ended with a block. */
  turnBlocked(turn: FinishedTurn, reason: BlockReason): void {
    const { held, run } = turn;
    const { heldInstances, committer, pump, options } = this.#runtime;
    if (reason.code !== "NONDETERMINISM") return this.block(held, reason, turn.outcomes);
    if (held.definition.options.onNondeterminism === "fail") {
      const commitId = this.#runtime.newToken();
      const item = failureTurn(held, run, reason, { commitId, at: turn.at });
      void committer.submit(item).then(
        () => {
          const { ended } = run;
          if (ended?.kind === "OrchestrationFailed") {
            logFailedInstance(options, loggedInstance(held), ended.failure);
          }
          heldInstances.release(held, "failed");
        },
        () => heldInstances.release(held, "failed"),
      );
      return;
    }
    // Capturing source lines costs a stack trace per call, so they are collected only now, in a second
    // replay.
    captureSource(run, pump, (found) => this.block(held, found ?? reason, turn.outcomes));
  }

  /** The engine itself failed: nothing of this turn may be written. */
  bug(turn: FinishedTurn): void {
    const { held, bug, outcomes } = turn;
    const logged = loggedInstance(held);
    this.#runtime.log("error", `${logged.name}, ${logged.id}: a turn failed inside the engine`, {
      ...instanceFields(logged),
      error: bug,
    });
    const message = `Internal error: ${String(bug)}`;
    this.block(held, { code: "QUARANTINE", message }, outcomes);
  }

  /** The store will never accept this turn, or the runtime is closing. */
  unwritable(turn: FinishedTurn, error: unknown): void {
    const { held } = turn;
    if (isPerdureError(error, "SHUTTING_DOWN")) {
      return this.#runtime.heldInstances.release(held, "dropped");
    }
    const message = `The store refused the turn: ${errorMessage(error)}`;
    this.block(held, { code: "LIMIT_EXCEEDED", message }, turn.outcomes);
  }

  /**
   * Blocks an instance after too many cold leases in a row without a new event (semantics 9a). The
   * suspect slot stays taken until the block is written, because the next suspect may kill this process.
   */
  quarantine(held: HeldInstance, code: string): void {
    const { heldInstances, suspects } = this.#runtime;
    const message =
      `Quarantined: several workers in a row died or stalled while they ran this instance, before it made progress. ` +
      `Find the cause, then unblock the instance. A change of its orchestration's code also gives it one more try.`;
    const slot = `quarantine of ${held.key}`;
    suspects.enter(slot, true);
    heldInstances.transition(held, "begin");
    void this.#block(held, { code: "QUARANTINE", message }, [], code).then(() =>
      suspects.leave(slot),
    );
  }
}

function blockItem(
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
function failureTurn(
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
    weightOf: () => undefined,
    release: true,
  });
}

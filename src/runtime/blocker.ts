// What becomes of an instance that cannot go on: it is blocked with a reason, or fails where its author asked for it.
//   BL1. A block ends nothing and loses nothing: outcomes that came meanwhile wait in the inbox (semantics 5, P6).

import type { BlockReason } from "../core/block.ts";
import type { Committer } from "../core/committer.ts";
import { isPerdureError } from "../core/errors.ts";
import { instanceFields } from "../core/log-fields.ts";
import { blockItem, failureTurn } from "./blocking.ts";
import { logFailedInstance } from "../core/failure-lines.ts";
import { loggedInstance, type HeldInstance, type LocalOutcome } from "./held-instance.ts";
import type { Holding } from "./holding.ts";
import type { ResolvedOptions } from "./options.ts";
import type { Pump } from "./pump.ts";
import { captureSource } from "./replay-check.ts";
import type { RuntimeStats } from "./stats.ts";
import type { SuspectSlot } from "./suspect-slot.ts";
import type { FinishedTurn } from "./turn-job.ts";

export interface BlockerOptions {
  readonly runtimeId: string;
  readonly options: ResolvedOptions;
  readonly committer: Committer;
  readonly pump: Pump;
  readonly holding: Holding;
  readonly stats: RuntimeStats;
  readonly storeNow: () => number;
  readonly newNumber: () => number;
  readonly suspects: SuspectSlot;
}

export class Blocker {
  readonly #o: BlockerOptions;

  constructor(options: BlockerOptions) {
    this.#o = options;
  }

  block(held: HeldInstance, reason: BlockReason, outcomes: readonly LocalOutcome[]): void {
    void this.#block(held, reason, outcomes);
  }

  async #block(
    held: HeldInstance,
    reason: BlockReason,
    outcomes: readonly LocalOutcome[],
    code?: string,
  ): Promise<void> {
    const { stats, committer, runtimeId, options, storeNow, holding } = this.#o;
    stats.blocked++;
    const logged = loggedInstance(held);
    options.log("warn", `${logged.name}, ${logged.id}: blocked: ${reason.message}`, {
      ...instanceFields(logged),
      code: reason.code,
    });
    holding.toInbox([...outcomes, ...held.outcomes]);
    holding.drop(held);
    const item = blockItem(held, reason, { by: runtimeId, since: storeNow() });
    await committer.submit(code === undefined ? item : { ...item, code }).catch(() => undefined);
  }

  /** A turn's code is blocked. */
  turnBlocked(turn: FinishedTurn, reason: BlockReason): void {
    const { held, run } = turn;
    const { holding, committer, pump } = this.#o;
    if (reason.code !== "NONDETERMINISM") return this.block(held, reason, turn.outcomes);
    if (held.definition.options.onNondeterminism === "fail") {
      const commitId = this.#o.newNumber();
      const item = failureTurn(held, run, reason, { commitId, at: turn.at });
      void committer.submit(item).then(
        () => {
          const { ended } = run;
          if (ended?.kind === "OrchestrationFailed") {
            logFailedInstance(this.#o.options, loggedInstance(held), ended.failure);
          }
          holding.letGo(held);
        },
        () => holding.letGo(held),
      );
      return;
    }
    // Source lines cost a stack a call, so they are looked for only now, in a second replay.
    captureSource(run, pump, (found) => this.block(held, found ?? reason, turn.outcomes));
  }

  /** The engine itself failed: nothing of the turn may be written. */
  bug(turn: FinishedTurn): void {
    const { held, bug, outcomes } = turn;
    const { log } = this.#o.options;
    log("error", "a turn failed inside the engine", {
      ...instanceFields(loggedInstance(held)),
      error: bug,
    });
    const message = `Internal error: ${String(bug)}`;
    this.block(held, { code: "QUARANTINE", message }, outcomes);
  }

  /** The store will never take this turn, or the runtime is closing. */
  unwritable(turn: FinishedTurn, error: unknown): void {
    const { held } = turn;
    if (isPerdureError(error, "SHUTTING_DOWN")) return this.#o.holding.drop(held);
    const message = `The store refused the turn: ${error instanceof Error ? error.message : String(error)}`;
    this.block(held, { code: "LIMIT_EXCEEDED", message }, turn.outcomes);
  }

  /**
   * Too many cold leases in a row without a new event (semantics 9a). The suspect slot stays taken until the block is
   * written: the next suspect may end this process.
   */
  quarantine(held: HeldInstance, code: string): void {
    const { holding, suspects } = this.#o;
    const message =
      `Quarantined: again and again the process that ran it died or stalled before the instance got any further. ` +
      `Find out why, then unblock it; it is also tried once when its orchestration's code is changed.`;
    const slot = `quarantine of ${held.key}`;
    suspects.enter(slot);
    holding.setState(held, "turning");
    void this.#block(held, { code: "QUARANTINE", message }, [], code).then(() =>
      suspects.leave(slot),
    );
  }
}

// The instances loop: takes leased instances, runs their turns and commits the turns.
//   turn-results.ts handles what follows from a commit (turn-results.1 to turn-results.3).
//   - An instance has one turn in flight at a time. Messages and outcomes that arrive in the meantime
//     wait for the commit.

import { inInboxOrder } from "../../core/replay/inbox-delivery.ts";
import type { BlockReason } from "../../core/history/block.ts";
import { isPerdureError } from "../../core/errors/errors.ts";
import { instanceFields } from "../../core/telemetry/log-fields.ts";
import type { DeliveryBody } from "../../core/history/events.ts";
import { quarantineAfter } from "../../core/provider/shared/blame.ts";
import type { LeasedInstance } from "../../core/provider/instances.ts";
import type { Message } from "../../core/provider/messages.ts";
import type { LeasedTask } from "../../core/provider/tasks.ts";
import type { Run } from "../../core/replay/run.ts";
import type { RuntimeContext } from "../context.ts";
import { holdInstance, isBusy, isIdle, type HeldInstance } from "./held-instance.ts";
import { makeRun } from "../replay/make-run.ts";
import { prepareTurn } from "../replay/prepared-turn.ts";
import { TurnJob, type FinishedTurn } from "../replay/turn-job.ts";

export class Instances {
  readonly #runtime: RuntimeContext;

  constructor(runtime: RuntimeContext) {
    this.#runtime = runtime;
  }

  /** Leases instances that this process starts. The intake is woken separately, after takeovers. */
  start(): void {
    const { committer, localStarts, localCode, pump } = this.#runtime;
    committer.adopters.add(localStarts);
    committer.registeredCode.add(localCode);
    committer.onTaken.add(pump.resume);
  }

  /** Leases nothing more. Instances are released as their commits return. */
  stop(): void {
    this.#runtime.intake.stop();
    this.#runtime.committer.adopters.delete(this.#runtime.localStarts);
    this.#runtime.committer.registeredCode.delete(this.#runtime.localCode);
    this.#runtime.heldInstances.evictAll();
  }

  /** The grace period is over: forgets all instances. */
  end(): void {
    const { heldInstances, committer, pump } = this.#runtime;
    heldInstances.dropAll();
    committer.onTaken.delete(pump.resume);
    pump.release();
  }

  /** Whether no turn and no commit is in flight. */
  get isQuiet(): boolean {
    const { heldInstances, pump, committer } = this.#runtime;
    return heldInstances.busy === 0 && pump.isIdle && committer.isIdle;
  }

  /** Takes a leased instance: one that is new here, or messages for one that is already held. */
  take(leased: LeasedInstance, readAtCommit = this.#runtime.turnResults.commits): void {
    const { heldInstances, registry, blocker } = this.#runtime;
    const known = heldInstances.cache.byKey(leased.key);
    if (!leased.fresh) {
      if (known?.token === leased.token)
        return this.giveMessages(known, leased.messages, readAtCommit);
      if (this.#runtime.localStarts.isExpected(leased.token)) return;
      // This runtime does not know the lease. Either the reply to its lease request was lost, or the
      // database lost commits and lists an old lease. Releasing it lets it be leased again, with its
      // history.
      return heldInstances.returnLease(leased);
    }
    // The previous lease ended: its own commit released it, or another runtime took over. That reply is
    // still in flight.
    if (known !== undefined) heldInstances.release(known, "superseded");
    const definition = registry.orchestration(leased.name, leased.version);
    if (definition === undefined || !this.#runtime.isRunning) {
      return heldInstances.returnLease(leased); // as activity-runner.1
    }
    const held = holdInstance(leased, definition, this.#runtime.monotonic());
    heldInstances.cache.add(held);
    this.#runtime.pastBlocks.leased(leased);
    if (held.lastEvent === 0) this.#runtime.window.begins(held);
    if (held.suspect) heldInstances.enterSuspect(held);
    if (leased.suspicion >= quarantineAfter(leased.stepsOpen)) {
      return blocker.quarantine(held, registry.codeOf(definition));
    }
    this.advance(held);
  }

  /**
   * Delivers due messages to an instance held here. `readAtCommit` is the commit count when they were read. A
   * busy instance gets its messages with the reply to its own commit. Messages read before the last
   * commit may already be consumed.
   */
  giveMessages(held: HeldInstance, messages: readonly Message[], readAtCommit: number): void {
    if (!isIdle(held) || held.messages.length > 0 || messages.length === 0) return;
    if (held.commitCount > readAtCommit) return;
    held.messages = inInboxOrder(messages);
    this.advance(held);
  }

  /**
   * Delivers the outcome of an activity that ran here. Returns false if the instance is not held here.
   */
  giveOutcome(task: LeasedTask, body: DeliveryBody): boolean {
    const held = this.#runtime.heldInstances.cache.byKey(task.key);
    if (held === undefined || held.execution !== task.execution) return false;
    held.outcomes.push({ task, body });
    this.advance(held);
    return true;
  }

  giveStepOutcome(held: HeldInstance, body: DeliveryBody): void {
    if (held.state === "released") return;
    held.outcomes.push({ task: null, body });
    this.advance(held);
  }

  advance(held: HeldInstance): void {
    if (!isIdle(held)) return;
    const hasNothing = held.messages.length === 0 && held.outcomes.length === 0;
    if (held.state === "idle" && hasNothing) return;
    const { heldInstances, limitWatch, blocker, entries } = this.#runtime;
    heldInstances.transition(held, "begin");
    const refusal = limitWatch.refusal(held);
    if (refusal !== null) {
      return blocker.block(held, { code: "LIMIT_EXCEEDED", message: refusal });
    }
    // Decoding a history takes time. `entries` returns to the event loop between the instances of a
    // batch.
    if (held.run === null && held.rows.length > 0) entries.add(held.name, () => this.#begin(held));
    else this.#begin(held);
  }

  #begin(held: HeldInstance): void {
    if (held.state === "released") return; // in the meantime
    const run = held.run ?? this.#revive(held);
    if (run === null) return;
    held.run = run;
    const { stats, pump, storeNow: now, options } = this.#runtime;
    stats.turns++;
    const { poison } = options;
    pump.add(new TurnJob({ held, run, now, finish: this.#onFinished, poison }));
  }

  #revive(held: HeldInstance): Run | null {
    try {
      const run = makeRun(held, { ...this.#runtime.runOptions, onMisuse: this.onMisuse });
      this.#runtime.stats.replays += held.rows.length === 0 ? 0 : 1;
      held.rows = [];
      return run;
    } catch (error) {
      const message = isPerdureError(error) ? error.message : String(error);
      const code = isPerdureError(error, "KEY_MISSING") ? "KEY_MISSING" : "HISTORY_CORRUPT";
      this.#runtime.blocker.block(held, { code, message });
      return null;
    }
  }

  /** The code used its context outside a turn. The instance is blocked, and no further turn runs. */
  readonly onMisuse = (run: Run): void => {
    const { heldInstances, blocker, log } = this.#runtime;
    const held = heldInstances.cache.byId(run.instanceId);
    if (held?.run !== run || held.state !== "idle" || run.blocked === null) {
      // The lease is already released. The next turn does not have the call in its history and blocks
      // with the same message.
      const { name } = run.started;
      const { version } = run.options;
      const logged = { id: run.instanceId, execution: run.execution, name, version };
      const message = `${name}, ${run.instanceId}: ${run.blocked?.message ?? ""}`;
      log("warn", message, instanceFields(logged));
      return;
    }
    heldInstances.transition(held, "begin");
    blocker.block(held, run.blocked);
  };

  readonly #onFinished = (turn: FinishedTurn): void => this.#finish(turn);

  #finish(turn: FinishedTurn): void {
    const { held, run } = turn;
    const { heldInstances, blocker, steps, intake } = this.#runtime;
    if (held.state === "released") return heldInstances.toInbox(turn.outcomes); // in the meantime (turn-results.2)
    if (turn.bug !== undefined) return blocker.bug(turn);
    if (run.blocked !== null) return blocker.turnBlocked(turn, run.blocked);
    if (!run.isOver) this.#sendUndelivered(turn);
    const prepared = prepareTurn(this.#runtime, turn);
    if (prepared === null) {
      heldInstances.transition(held, "rest");
      steps.enterDue(held);
      heldInstances.evictSuspect(held);
      // This turn has no commit. So whatever arrived while it ran is handled now.
      this.advance(held);
      if (held.hasUnseenMessages && !isBusy(held)) {
        held.hasUnseenMessages = false;
        intake.onUnseenMessages(held.key);
      }
      return;
    }
    const { item, events, logs, preLeases } = prepared;
    heldInstances.transition(held, "submit");
    held.hasUnseenMessages = false;
    const { committer, turnResults } = this.#runtime;
    committer.submit(item).then(
      (result) => {
        if (result.kind === "committed") {
          const { due, undelivered } = result;
          turnResults.committed({ turn, item, events, logs, due, undelivered });
        } else {
          preLeases.takeBack();
          turnResults.refused(turn, item, result.code);
        }
      },
      (error: unknown) => {
        preLeases.takeBack();
        blocker.unwritable(turn, error);
      },
    );
  }

  /**
   * Sends outcomes that the run did not consume to the inbox. Either the run cancelled the call and its
   * task is gone, or another runtime took the instance over, made the call, and will read the outcome
   * from the inbox (semantics 4a).
   */
  #sendUndelivered({ outcomes, delivered }: FinishedTurn): void {
    if (outcomes.length === delivered.length) return;
    this.#runtime.heldInstances.toInbox(outcomes.filter((outcome) => !delivered.includes(outcome)));
  }

  /** A shadow replay of the committed history differs from the live run. */
  onShadowMismatch(held: HeldInstance, reason: BlockReason): void {
    if (held.state === "released") return;
    if (held.state === "turning") held.shadowMismatch = reason;
    else this.#runtime.blocker.block(held, reason);
  }
}

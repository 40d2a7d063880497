// Stepwise writes: writes the parts of a group in an open transaction, one after the other.
//   - Of common items it first decides which ones pass, then writes those (batched-writes.ts). An item that the
//     batch leaves over, and each other item, is written alone.
//   - A turn's cancels, the notification of its askers, the release of the instance that waits for its end, and its
//     dispatched items follow the batch, in this order.

import type { DispatchResult } from "../../core/provider/asks.ts";
import type { CommitItem, CommitResult, TurnItem } from "../../core/provider/commit.ts";
import type { Message } from "../../core/provider/messages.ts";
import { NOT_FOUND } from "../../core/provider/results.ts";
import { refusedDispatches } from "../../core/provider/shared/asks.ts";
import type { Scope } from "../../sql/script/scope.ts";
import { releaseAskers } from "../../sql/write/asks.ts";
import { releaseWaiting } from "../../sql/write/enqueue-keys.ts";
import { writeRare, type RareItem, type RareWriters } from "../../sql/write/rare-items.ts";
import { Pipeline } from "../connection/pipeline.ts";
import type { Statements } from "../connection/statements.ts";
import type { ChangeDraft } from "../notify/change-draft.ts";
import { receiversIn, touchedBy, writeBatch, type BatchWriters } from "./batched-writes.ts";
import { planCommit, type BatchedItem, type CommitPart } from "./commit-plan.ts";
import { dispatchedBy } from "./dispatches.ts";
import { NO_KEYS } from "./instance-keys.ts";
import { cancelsOf } from "./turn.ts";

export interface StepwiseWriters extends BatchWriters, RareWriters<Scope> {}

export class StepwiseWrites {
  readonly #writers: StepwiseWriters;

  constructor(writers: StepwiseWriters) {
    this.#writers = writers;
  }

  /** Adds the result of each item to `results`. */
  async write(
    statements: Statements,
    parts: readonly CommitPart[],
    changes: ChangeDraft,
    results: Map<CommitItem, CommitResult>,
  ): Promise<void> {
    for (const part of parts) {
      if (part.kind === "together") {
        await this.#writeBatched(statements, part.items, changes, results);
      } else {
        await this.#writers.outbox.drain(statements, startedBy(part.item), changes);
        const scope = { now: statements.now, changes };
        const script = writeRare(part.item, scope, this.#writers);
        results.set(part.item, await statements.script(script));
      }
    }
  }

  async #writeBatched(
    statements: Statements,
    items: readonly BatchedItem[],
    changes: ChangeDraft,
    results: Map<CommitItem, CommitResult>,
  ): Promise<void> {
    const { turns, terminations, outbox, instances, streams, parts } = this.#writers;
    await outbox.drain(statements, receiversIn(items), changes);
    const turnItems = items.filter((item) => item.kind === "turn");
    await this.#lockAhead(statements, items, turnItems);
    const refused = await turns.check(statements, turnItems);
    for (const [item, result] of refused) results.set(item, result);
    const written = turnItems.filter((item) => !refused.has(item));
    const checked = await streams.check(statements, {
      turns: written,
      appends: items.filter((item) => item.kind === "append"),
      completions: items.filter((item) => item.kind === "completion"),
    });
    for (const [item, result] of checked.results) results.set(item, result);
    const isDecided = (item: BatchedItem): boolean => {
      if (item.kind === "turn") return refused.has(item);
      return (item.kind === "append" || item.kind === "completion") && checked.results.has(item);
    };
    const passed = items.filter((item) => !isDecided(item));
    const pipeline = new Pipeline();
    const options = { writers: this.#writers, stepwise: true, checked, keys: NO_KEYS };
    const read = writeBatch(pipeline, passed, changes, options);
    await statements.all(pipeline);
    const scope = { now: statements.now, changes };
    const cancels = cancelsOf(written);
    for (const cancel of cancels) {
      await statements.script(terminations.postCancel(cancel, scope));
    }
    const asked = await instances.withAskers(statements, endedKeys(written));
    if (asked.length > 0) await statements.script(releaseAskers(asked, scope, parts));
    await statements.script(releaseWaiting(endedKeys(written), scope, parts));
    for (const [item, result] of read()) {
      if (result !== null) results.set(item, result);
      else await this.#writeLeftOver(statements, item, changes, results);
    }
    if (cancels.length > 0) {
      const due = await this.#dueNow(statements, new Pipeline(), written, changes);
      for (const turn of written)
        results.set(turn, { kind: "committed", due: due.get(turn) ?? [] });
    }
    await this.#writeDispatched(statements, written, changes, results);
  }

  /**
   * Locks everything that the items touch in one statement (batched-writes.1): the receivers of dispatched items,
   * and the instances that wait for an answer or the end of instances that end. With appends, all other instances too (postgres.streams.1).
   */
  async #lockAhead(
    statements: Statements,
    items: readonly BatchedItem[],
    turns: readonly TurnItem[],
  ): Promise<void> {
    const asked = endedKeys(turns);
    const appends = items.some(({ kind }) => kind === "append");
    if (asked.length === 0 && dispatchedBy(turns).length === 0 && !appends) return;
    const pipeline = new Pipeline();
    this.#writers.instances.lockWithAskers(pipeline, { ...touchedBy(items, turns), asked });
    await statements.all(pipeline);
  }

  /** Writes the dispatched items of all turns as one group, and then the replies (postgres.dispatches.1). */
  async #writeDispatched(
    statements: Statements,
    turnItems: readonly TurnItem[],
    changes: ChangeDraft,
    results: Map<CommitItem, CommitResult>,
  ): Promise<void> {
    const dispatched = dispatchedBy(turnItems);
    if (dispatched.length === 0) return;
    const { dispatches } = this.#writers;
    const written = new Map<CommitItem, CommitResult>();
    const parts = planCommit(dispatched.map(({ dispatch }) => dispatch.item));
    await this.write(statements, parts, changes, written);
    const answered = dispatched.map((one) => {
      const { item } = one.dispatch;
      const result = (written.get(item) ?? missing(item)) as DispatchResult; // of a turn no item is a turn
      return { ...one, result };
    });
    const pipeline = new Pipeline();
    dispatches.reply(pipeline, answered);
    const byTurn = Map.groupBy(answered, ({ turn }) => turn);
    const due = await this.#dueNow(statements, pipeline, [...byTurn.keys()], changes);
    for (const [turn, own] of byTurn) {
      const undelivered = refusedDispatches(own.map((one) => [one.dispatch, one.result]));
      const result = { kind: "committed", due: due.get(turn) ?? [] } as const;
      results.set(turn, undelivered.length === 0 ? result : { ...result, undelivered });
    }
  }

  /** Runs the pipeline. Returns what is due for each turn after it: also what followed from the turns' own items. */
  async #dueNow(
    statements: Statements,
    pipeline: Pipeline,
    items: readonly TurnItem[],
    changes: ChangeDraft,
  ): Promise<Map<TurnItem, readonly Message[]>> {
    const { turns, dispatches } = this.#writers;
    const readCurrent = dispatches.current(pipeline, items);
    const readDue = turns.due(pipeline, items, changes);
    await statements.all(pipeline);
    const current = readCurrent();
    const committed = readDue();
    const dueOf = (index: number): readonly Message[] => committed[index]?.due ?? [];
    return new Map(items.map((item, i) => [item, current.has(item.key) ? dueOf(i) : []]));
  }

  async #writeLeftOver(
    statements: Statements,
    item: BatchedItem,
    changes: ChangeDraft,
    results: Map<CommitItem, CommitResult>,
  ): Promise<void> {
    const { starts, sends } = this.#writers;
    let result: CommitResult | null = null;
    if (item.kind === "start") result = await starts.meet(statements, item, changes);
    if (item.kind === "send") result = await sends.sendToMissing(statements, item);
    if (item.kind === "ask") {
      if (item.start === null) result = NOT_FOUND;
      else await starts.startReceiver(statements, item.start, changes);
    }
    if (result !== null) results.set(item, result);
    // The instance was started, or was deleted or created meanwhile: start over with this item.
    else await this.#writeBatched(statements, [item], changes, results);
  }
}

/** The ids that a bulk item starts (outbox.2). */
function startedBy(item: RareItem): string[] {
  if (item.kind !== "enqueueMany") return [];
  return item.starts.flatMap((start) => (start.kind === "start" ? [start.id] : []));
}

function endedKeys(turns: readonly TurnItem[]): number[] {
  return turns.filter(({ change }) => change.kind === "ended").map(({ key }) => key);
}

export function missing(item: CommitItem): never {
  throw new Error(`The commit produced no result for an item of kind "${item.kind}".`);
}

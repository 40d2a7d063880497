// Group commit: writes many items in one transaction.
//   - Each item succeeds or is refused on its own; a refused item has written nothing (commit.1).
//   - An item that the database rejects (too large, a violated constraint) fails alone: the group is halved
//     until the item is alone (semantics 32).
//   - An error that concerns the store and not one item fails the call; that transaction has written
//     nothing.
//   - sqlite.commit.1: The next group may be written while this group is being synced (`onWritten`). The log
//     keeps their order, and both are acknowledged in that order.

import type { PerdureError } from "../../core/errors/errors.ts";
import type { CommitItem, CommitResult, StartItem } from "../../core/provider/commit.ts";
import { defined } from "../../core/values/defined.ts";
import { writeRare, type RareItem, type RareWriters } from "../../sql/write/rare-items.ts";
import type { Committed, Connection } from "../connection/connection.ts";
import { concernsStore, toPerdureError } from "../connection/errors.ts";
import type { InstanceLeases } from "../lease/leases.ts";
import { ChangeDraft } from "../notify/change-draft.ts";
import type { ChangeNotifier } from "../notify/change-notifier.ts";
import type { Asks } from "./asks.ts";
import type { BulkStarts } from "./bulk-starts.ts";
import type { Sends } from "./send.ts";
import type { Starts } from "./start.ts";
import type { StepOutcomes } from "./step-outcomes.ts";
import type { Streams } from "./streams.ts";
import type { Tasks } from "../lease/tasks.ts";
import { ClaimGone, type GroupTransaction, type Turns } from "./turn.ts";

export interface Writers extends RareWriters<GroupTransaction> {
  readonly bulkStarts: BulkStarts;
  readonly starts: Starts;
  readonly turns: Turns;
  readonly tasks: Tasks;
  readonly sends: Sends;
  readonly asks: Asks;
  readonly leases: InstanceLeases;
  readonly stepOutcomes: StepOutcomes;
  readonly streams: Streams;
}

/** A transaction of a group. `publish` notifies the listeners once it is on disk. */
type WrittenGroup = Committed<{
  readonly results: readonly CommitResult[];
  readonly publish: () => void;
}>;

export class GroupCommit {
  readonly #connection: Connection;
  readonly #writers: Writers;
  readonly #notifier: ChangeNotifier;

  constructor(connection: Connection, writers: Writers, notifier: ChangeNotifier) {
    this.#connection = connection;
    this.#writers = writers;
    this.#notifier = notifier;
  }

  async commit(
    items: readonly CommitItem[],
    onWritten?: () => void,
  ): Promise<readonly CommitResult[]> {
    if (items.length === 0) return [];
    const parts = await this.#commitOrHalve(items);
    if (parts.some(({ onDisk }) => onDisk !== null)) {
      onWritten?.(); // sqlite.commit.1
      for (const { onDisk } of parts) await onDisk;
    }
    for (const { result } of parts) result.publish();
    return parts.length === 1
      ? (parts[0]?.result.results ?? [])
      : parts.flatMap(({ result }) => result.results);
  }

  /** The transactions that the group took. */
  async #commitOrHalve(items: readonly CommitItem[]): Promise<readonly WrittenGroup[]> {
    try {
      return [await this.#commitGroup(items)];
    } catch (error) {
      if (concernsStore(error)) throw toPerdureError(error);
      const failure = toPerdureError(error);
      if (failure.code === "STORE_UNAVAILABLE") throw failure;
      if (items.length === 1) return [failed(failure)];
    }
    const middle = items.length >> 1;
    const first = await this.#commitOrHalve(items.slice(0, middle));
    return [...first, ...(await this.#commitOrHalve(items.slice(middle)))];
  }

  async #commitGroup(items: readonly CommitItem[]): Promise<WrittenGroup> {
    try {
      return await this.#writeGroup(items, false);
    } catch (error) {
      if (!(error instanceof ClaimGone)) throw error;
      return await this.#writeGroup(items, true);
    }
  }

  #writeGroup(items: readonly CommitItem[], careful: boolean): Promise<WrittenGroup> {
    const changes = new ChangeDraft();
    return this.#connection.commit(() => {
      const now = this.#connection.now();
      const bumped = new Map<string, number>();
      const transaction: GroupTransaction = { now, changes, careful, bumped, plainEvents: 0 };
      const results = items.map((item) => this.#write(item, transaction));
      this.#writers.turns.countEvents(transaction);
      return { results, publish: this.#notifier.prepare(changes) };
    }, items.length === 1);
  }

  /** A start, and its first turn if it brings one (commit.5, commit.6). */
  #start(item: StartItem, transaction: GroupTransaction): CommitResult {
    const { starts, turns, bulkStarts } = this.#writers;
    const { firstTurn } = item;
    if (firstTurn === undefined) return starts.start(item, transaction);
    if (transaction.careful && !turns.claimsHold(firstTurn, transaction)) {
      return starts.start(item, transaction); // sessions.5
    }
    const start = starts.startWithTurn(item, firstTurn, transaction);
    if (start.kind !== "begun") return start;
    const { key } = start;
    const tasks = item.lease === null ? firstTurn.tasks.map(bulkStarts.leases()) : firstTurn.tasks;
    const turn = turns.commitFirst({ ...firstTurn, key, tasks }, start, transaction);
    if (turn.kind !== "committed") throw new Error("The first turn of a new instance was refused.");
    const { due, undelivered } = turn;
    return { kind: "started", key, execution: 1, leased: null, due, ...defined({ undelivered }) };
  }

  #write(item: CommitItem, transaction: GroupTransaction): CommitResult {
    const { turns, tasks, sends, asks, leases, stepOutcomes, streams, bulkStarts } = this.#writers;
    switch (item.kind) {
      case "enqueueMany":
        return bulkStarts.enqueue(item, transaction) ?? this.#writeRare(item, transaction);
      case "turn":
        return turns.commit(item, transaction);
      case "start":
        return this.#start(item, transaction);
      case "completion":
        return tasks.complete(item, transaction);
      case "append":
        return streams.append(item, transaction);
      case "retry":
        return tasks.retry(item, transaction);
      case "releaseTask":
        return tasks.release(item, transaction);
      case "send":
        return sends.send(item, transaction);
      case "ask":
        return asks.ask(item, transaction);
      case "stepOutcome":
        return stepOutcomes.record(item, transaction);
      case "releaseInstance":
        return leases.release(item, transaction);
      default:
        return this.#writeRare(item, transaction);
    }
  }

  #writeRare(item: RareItem, transaction: GroupTransaction): CommitResult {
    return this.#connection.run(writeRare(item, transaction, this.#writers), transaction.now);
  }
}

function failed(error: PerdureError): WrittenGroup {
  return { result: { results: [{ kind: "error", error }], publish: () => {} }, onDisk: null };
}

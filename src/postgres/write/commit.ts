// Group commit: writes many items in one transaction.
//   - Each item succeeds or is refused on its own; a refused item has written nothing (commit.1).
//   - Common items go in one round trip that assumes every fence holds. If one does not hold, or an item
//     needs a decision, the group runs stepwise: the store first decides which items pass, then writes
//     those.
//   - An item that the database rejects (too large, a violated constraint) fails alone: the group is halved
//     until the item is alone. So does an item that waits for a lock held outside Perdure: its result is
//     `busy`, and the caller sends it again alone, so it does not delay its group (semantics 32).
//   - postgres.commit.1: A bulk item is a separate group, so that another item cannot make its jobs lose their first turns.
//     Jobs that are due at once are inserted by bulk-starts.ts. If that fails, or for other starts, the script of
//     sql/write/bulk-starts.ts decides.
//   - An error that concerns the store and not one item fails the call; that transaction has written
//     nothing.

import type { PerdureError } from "../../core/errors/errors.ts";
import type { CommitItem, CommitResult, TurnItem } from "../../core/provider/commit.ts";
import type { EnqueueManyItem } from "../../core/provider/enqueue.ts";
import { BUSY } from "../../core/provider/results.ts";
import { addressOf, lockKeys, type KeyAddress } from "../../sql/write/enqueue-keys.ts";
import { touchedBy, writeBatch, type BatchResults } from "./batched-writes.ts";
import { enqueued } from "../../sql/write/bulk-starts.ts";
import type { BulkStarts } from "./bulk-starts.ts";
import type { Connection } from "../connection/connection.ts";
import type { Statements } from "../connection/statements.ts";
import {
  concernsItem,
  isBusy,
  isDuplicate,
  isRefused,
  toPerdureError,
} from "../connection/errors.ts";
import { ChangeDraft } from "../notify/change-draft.ts";
import type { ChangeNotifier } from "../notify/change-notifier.ts";
import { Pipeline } from "../connection/pipeline.ts";
import { isBatched, planCommit, type BatchedItem, type CommitPart } from "./commit-plan.ts";
import { dispatchesOnlyEvents } from "./dispatches.ts";
import { KEY_TAKEN, type InstanceKeys } from "./instance-keys.ts";
import { missing, StepwiseWrites, type StepwiseWriters } from "./stepwise.ts";

export interface Writers extends StepwiseWriters {
  readonly instanceKeys: InstanceKeys;
  readonly jobs: BulkStarts;
}

/**
 * How long a group waits for a lock; and how long its halves do, once a lock is known to be held elsewhere.
 */
const LOCK_MS = 100;
const LOCK_MS_HALVED = 20;

interface CommitMode {
  readonly lockMs: number;
  /** Check the fences first, then write; not everything in one round trip. */
  readonly stepwise: boolean;
}

export class GroupCommit {
  readonly #connection: Connection;
  readonly #writers: Writers;
  readonly #stepwise: StepwiseWrites;
  readonly #notifier: ChangeNotifier;

  constructor(connection: Connection, writers: Writers, notifier: ChangeNotifier) {
    this.#connection = connection;
    this.#writers = writers;
    this.#stepwise = new StepwiseWrites(writers);
    this.#notifier = notifier;
  }

  async commit(items: readonly CommitItem[]): Promise<readonly CommitResult[]> {
    if (items.length === 0) return [];
    const results: CommitResult[] = [];
    for (const group of withoutBulk(distinct(items))) {
      results.push(...(await this.#commitOrHalve(group, { lockMs: LOCK_MS, stepwise: false })));
    }
    return results;
  }

  async #commitOrHalve(items: readonly CommitItem[], mode: CommitMode): Promise<CommitResult[]> {
    try {
      return await this.#commitGroup(items, mode);
    } catch (error) {
      const isAlone = items.length === 1;
      if (isBusy(error)) {
        if (isAlone) return [BUSY];
      } else {
        const failure = toPerdureError(error);
        if (!concernsItem(error)) throw failure;
        if (isAlone) return [failed(failure)];
      }
    }
    const middle = items.length >> 1;
    const halved = { ...mode, lockMs: LOCK_MS_HALVED };
    const first = await this.#commitOrHalve(items.slice(0, middle), halved);
    return [...first, ...(await this.#commitOrHalve(items.slice(middle), halved))];
  }

  async #commitGroup(items: readonly CommitItem[], mode: CommitMode): Promise<CommitResult[]> {
    const [bulk] = items;
    if (bulk?.kind === "enqueueMany" && (await this.#writeBulk(bulk, mode.lockMs))) {
      return [enqueued(bulk.starts)];
    }
    const parts = planCommit(items);
    const [first] = parts;
    const isAtOnce =
      !mode.stepwise &&
      parts.length === 1 &&
      items.every((item) => dispatchesOnlyEvents(turnOf(item)));
    if (isAtOnce && first?.kind === "together") {
      const results = await this.#writeInOneRoundTrip(first.items, mode.lockMs);
      if (results !== null) return this.#withLeftOver(first.items, results, mode);
    }
    const results = await this.#writeStepwise(parts, mode.lockMs);
    return items.map((item) => results.get(item) ?? missing(item));
  }

  /** False: nothing is written, and the script must decide (bulk-starts.ts). */
  async #writeBulk(bulk: EnqueueManyItem, lockMs: number): Promise<boolean> {
    const changes = new ChangeDraft();
    const pipeline = await this.#writers.jobs.write(bulk, changes);
    if (pipeline === null) return false;
    try {
      await this.#connection.write(pipeline, { owners: ownersIn([bulk]), lockMs });
    } catch (error) {
      if (isRefused(error) || isDuplicate(error)) return false;
      throw error;
    }
    this.#notifier.publish(changes);
    return true;
  }

  /** Null: a check refused the transaction; the group must run stepwise. */
  async #writeInOneRoundTrip(
    items: readonly BatchedItem[],
    lockMs: number,
  ): Promise<BatchResults | null> {
    const { instanceKeys } = this.#writers;
    const starts = items.filter((item) => item.kind === "start");
    const keys = await instanceKeys.assign(starts);
    const changes = new ChangeDraft();
    const pipeline = new Pipeline();
    const options = { writers: this.#writers, stepwise: false, keys };
    const read = writeBatch(pipeline, items, changes, options);
    try {
      await this.#connection.write(pipeline, { owners: ownersIn(items), lockMs });
    } catch (error) {
      if (starts.length > 0) instanceKeys.refused(isRefused(error, KEY_TAKEN));
      // The keys are reserved now (instance-keys.1).
      if (isRefused(error, KEY_TAKEN)) return this.#writeInOneRoundTrip(items, lockMs);
      if (isRefused(error)) return null;
      throw error;
    }
    const results = read();
    this.#notifier.publish(changes);
    return results;
  }

  /**
   * Commits the items that the batch left over in further transactions, where each of them can fail alone.
   */
  async #withLeftOver(
    items: readonly BatchedItem[],
    results: BatchResults,
    mode: CommitMode,
  ): Promise<CommitResult[]> {
    const left = items.filter((item) => results.get(item) === null);
    if (left.length === 0) return items.map((item) => results.get(item) ?? missing(item));
    const rest = await this.#commitOrHalve(left, { ...mode, stepwise: true });
    const byItem = new Map(left.map((item, index) => [item, rest[index]]));
    return items.map((item) => results.get(item) ?? byItem.get(item) ?? missing(item));
  }

  async #writeStepwise(
    parts: readonly CommitPart[],
    lockMs: number,
  ): Promise<Map<CommitItem, CommitResult>> {
    const changes = new ChangeDraft();
    const items = parts.flatMap((part): readonly CommitItem[] =>
      part.kind === "alone" ? [part.item] : part.items,
    );
    const results = await this.#connection.transact(
      { owners: ownersIn(items), lockMs },
      async (statements) => {
        const results = new Map<CommitItem, CommitResult>();
        await this.#lockKeyed(statements, items);
        await this.#stepwise.write(statements, parts, changes, results);
        return results;
      },
    );
    this.#notifier.publish(changes);
    return results;
  }

  /**
   * enqueue-keys.1: locks the keys of all keyed starts, and then everything that the group is known to touch, in the order
   * of batched-writes.1. A keyed start alone needs no order.
   */
  async #lockKeyed(statements: Statements, items: readonly CommitItem[]): Promise<void> {
    const addresses = keysOf(items);
    if (addresses.length === 0 || (addresses.length === 1 && items.length === 1)) return;
    const named = await statements.script(lockKeys(addresses));
    const batched = items.filter(isBatched);
    const turns = batched.filter((item) => item.kind === "turn");
    const { keys, ids } = touchedBy(batched, turns);
    const pipeline = new Pipeline();
    const all = [...named, ...keys, ...turns.map(({ key }) => key)];
    this.#writers.instances.lock(pipeline, { keys: all, ids });
    await statements.all(pipeline);
  }
}

/** Results are stored by item object, so an object that occurs twice is copied. */
function distinct(items: readonly CommitItem[]): readonly CommitItem[] {
  if (new Set(items).size === items.length) return items;
  return items.map((item) => ({ ...item }));
}

/** postgres.commit.1 */
function withoutBulk(items: readonly CommitItem[]): (readonly CommitItem[])[] {
  if (!items.some(({ kind }) => kind === "enqueueMany")) return [items];
  const groups: CommitItem[][] = [];
  let isOpen = false;
  for (const item of items) {
    const isBulk = item.kind === "enqueueMany";
    const last = groups.at(-1);
    if (isOpen && !isBulk && last !== undefined) last.push(item);
    else groups.push([item]);
    isOpen = !isBulk;
  }
  return groups;
}

/** The runtimes that get leases from these items. */
function ownersIn(items: readonly CommitItem[]): string[] {
  const owners = new Set<string>();
  for (const item of items) {
    if (item.kind === "enqueueMany") for (const owner of ownersIn(item.starts)) owners.add(owner);
    if (item.kind === "start" && item.lease !== null) owners.add(item.lease.owner);
    const turn = turnOf(item);
    for (const { lease } of turn?.tasks ?? []) if (lease !== null) owners.add(lease.owner);
  }
  return [...owners]; // a dispatched start has no lease
}

/** The keys of keyed starts. */
function keysOf(items: readonly CommitItem[]): KeyAddress[] {
  return items.flatMap((item) => {
    if (item.kind === "enqueue") return [addressOf(item)];
    return item.kind === "enqueueMany" ? keysOf(item.starts) : [];
  });
}

/** The turn of the item: the item itself, or the first turn of a start. */
function turnOf(item: CommitItem): TurnItem | undefined {
  if (item.kind === "turn") return item;
  return item.kind === "start" ? item.firstTurn : undefined;
}

function failed(error: PerdureError): CommitResult {
  return { kind: "error", error };
}

// Group commit: many items, one transaction.
//   G1. Each item succeeds or is refused on its own; a refusal has written nothing (C1).
//   G2. Everyday items go in one round trip, as if every fence held. Where one does not, or an item needs more than
//       that, the group is done step by step: judged first, then written.
//   G3. An item that the database cannot take (too big, a broken constraint) fails alone: its group is halved
//       until it stands by itself. So is one that waits for a lock which a stranger holds; it is to be sent again by
//       itself, and nobody waits with it (semantics 32).
//   G4. What concerns the store and not an item fails the call; nothing of that transaction is written then.

import type { PerdureError } from "../core/errors.ts";
import type { CommitItem, CommitResult } from "../core/provider/commit.ts";
import { BUSY } from "../core/provider/results.ts";
import { receiversIn, writeBatch, type BatchResults, type BatchWriters } from "./batch.ts";
import type { Blocks } from "./blocks.ts";
import type { Connection, Statements } from "./connection.ts";
import type { Endings } from "./ending.ts";
import { concernsItem, isBusy, isRefused, toPerdureError } from "./errors.ts";
import type { Forks } from "./fork.ts";
import { NewsDraft } from "./news.ts";
import type { Notifier } from "./notifications.ts";
import type { Pauses } from "./pause.ts";
import { Pipeline } from "./pipeline.ts";
import { segmentsOf, type EverydayItem, type RareItem, type Segment } from "./segments.ts";
import { cancelsOf } from "./turn.ts";

export interface Writers extends BatchWriters {
  readonly endings: Endings;
  readonly pauses: Pauses;
  readonly blocks: Blocks;
  readonly forks: Forks;
}

/** How long a group waits for a lock; and how long its halves, when somebody is known to hold one. */
const LOCK_MS = 100;
const LOCK_MS_HALVED = 20;

interface Manner {
  readonly lockMs: number;
  /** Judged first, then written; not at once. */
  readonly stepwise: boolean;
}

export class GroupCommit {
  readonly #connection: Connection;
  readonly #writers: Writers;
  readonly #notifier: Notifier;

  constructor(connection: Connection, writers: Writers, notifier: Notifier) {
    this.#connection = connection;
    this.#writers = writers;
    this.#notifier = notifier;
  }

  async commit(items: readonly CommitItem[]): Promise<readonly CommitResult[]> {
    if (items.length === 0) return [];
    return this.#halving(distinct(items), { lockMs: LOCK_MS, stepwise: false });
  }

  async #halving(items: readonly CommitItem[], manner: Manner): Promise<CommitResult[]> {
    try {
      return await this.#group(items, manner);
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
    const halved = { ...manner, lockMs: LOCK_MS_HALVED };
    const first = await this.#halving(items.slice(0, middle), halved);
    return [...first, ...(await this.#halving(items.slice(middle), halved))];
  }

  async #group(items: readonly CommitItem[], manner: Manner): Promise<CommitResult[]> {
    const segments = segmentsOf(items);
    const [first] = segments;
    if (!manner.stepwise && segments.length === 1 && first?.kind === "together") {
      const results = await this.#atOnce(first.items, manner.lockMs);
      if (results !== null) return this.#withLeftovers(first.items, results, manner);
    }
    const results = await this.#inSteps(segments, manner.lockMs);
    return items.map((item) => results.get(item) ?? missing(item));
  }

  /** In one round trip. Null: it has to be done step by step. */
  async #atOnce(items: readonly EverydayItem[], lockMs: number): Promise<BatchResults | null> {
    const news = new NewsDraft();
    const pipeline = new Pipeline();
    const options = { writers: this.#writers, stepwise: false };
    const read = writeBatch(pipeline, items, news, options);
    try {
      await this.#connection.write(pipeline, { owners: ownersIn(items), lockMs });
    } catch (error) {
      if (isRefused(error)) return null;
      throw error;
    }
    const results = read();
    this.#notifier.publish(news);
    return results;
  }

  /** What is left over has written nothing; it follows in transactions of its own, and fails in them alone. */
  async #withLeftovers(
    items: readonly EverydayItem[],
    results: BatchResults,
    manner: Manner,
  ): Promise<CommitResult[]> {
    const left = items.filter((item) => results.get(item) === null);
    if (left.length === 0) return items.map((item) => results.get(item) ?? missing(item));
    const rest = await this.#halving(left, { ...manner, stepwise: true });
    const byItem = new Map(left.map((item, index) => [item, rest[index]]));
    return items.map((item) => results.get(item) ?? byItem.get(item) ?? missing(item));
  }

  async #inSteps(
    segments: readonly Segment[],
    lockMs: number,
  ): Promise<Map<CommitItem, CommitResult>> {
    const news = new NewsDraft();
    const items = segments.flatMap((segment): readonly CommitItem[] =>
      segment.kind === "alone" ? [segment.item] : segment.items,
    );
    const results = await this.#connection.transact(
      { owners: ownersIn(items), lockMs },
      async (statements) => {
        const results = new Map<CommitItem, CommitResult>();
        for (const segment of segments) {
          if (segment.kind === "together") {
            await this.#together(statements, segment.items, news, results);
          } else {
            results.set(segment.item, await this.#alone(statements, segment.item, news));
          }
        }
        return results;
      },
    );
    this.#notifier.publish(news);
    return results;
  }

  async #together(
    statements: Statements,
    items: readonly EverydayItem[],
    news: NewsDraft,
    results: Map<CommitItem, CommitResult>,
  ): Promise<void> {
    const { turns, endings, arrivals } = this.#writers;
    await arrivals.bring(statements, receiversIn(items), news);
    const turnItems = items.filter((item) => item.kind === "turn");
    const refused = await turns.judge(statements, turnItems);
    for (const [item, result] of refused) results.set(item, result);
    const passed = items.filter((item) => item.kind !== "turn" || !refused.has(item));
    const pipeline = new Pipeline();
    const options = { writers: this.#writers, stepwise: true };
    const read = writeBatch(pipeline, passed, news, options);
    await statements.all(pipeline);
    for (const cancel of cancelsOf(turnItems.filter((item) => !refused.has(item)))) {
      await endings.postCancel(statements, cancel, news);
    }
    for (const [item, result] of read()) {
      if (result !== null) results.set(item, result);
      else await this.#leftOver(statements, item, news, results);
    }
  }

  async #leftOver(
    statements: Statements,
    item: EverydayItem,
    news: NewsDraft,
    results: Map<CommitItem, CommitResult>,
  ): Promise<void> {
    const { starts, sends } = this.#writers;
    let result: CommitResult | null = null;
    if (item.kind === "start") result = await starts.meet(statements, item, news);
    if (item.kind === "send") result = await sends.sendToMissing(statements, item);
    if (result !== null) results.set(item, result);
    // What was there is gone, or what was missing is there: once more from the beginning.
    else await this.#together(statements, [item], news, results);
  }

  #alone(statements: Statements, item: RareItem, news: NewsDraft): Promise<CommitResult> {
    const { endings, pauses, blocks, forks } = this.#writers;
    switch (item.kind) {
      case "cancel":
        return endings.cancel(statements, item, news);
      case "terminate":
        return endings.terminate(statements, item, news);
      case "block":
        return blocks.block(statements, item, news);
      case "unblock":
        return blocks.unblock(statements, item, news);
      case "pause":
        return pauses.pause(statements, item, news);
      case "resume":
        return pauses.resume(statements, item, news);
      case "fork":
        return forks.fork(statements, item, news);
    }
  }
}

/** Results are kept by item: the same one twice is two. */
function distinct(items: readonly CommitItem[]): readonly CommitItem[] {
  if (new Set(items).size === items.length) return items;
  return items.map((item) => ({ ...item }));
}

/** Who gets leases by these. */
function ownersIn(items: readonly CommitItem[]): string[] {
  const owners = new Set<string>();
  for (const item of items) {
    if (item.kind === "start" && item.lease !== null) owners.add(item.lease.owner);
    if (item.kind !== "turn") continue;
    for (const { lease } of item.tasks) if (lease !== null) owners.add(lease.owner);
  }
  return [...owners];
}

function failed(error: PerdureError): CommitResult {
  return { kind: "error", error };
}

function missing(item: CommitItem): never {
  throw new Error(`An item of kind ${item.kind} was not answered.`);
}

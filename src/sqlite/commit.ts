// Group commit: many items, one transaction.
//   G1. Each item succeeds or is refused on its own; a refusal has written nothing (C1).
//   G2. An item that the database cannot take (too big, a broken constraint) fails alone: its group is halved
//       until it stands by itself (semantics 32).
//   G3. What concerns the store and not an item fails the call; everything is rolled back then.

import type { PerdureError } from "../core/errors.ts";
import type { CommitItem, CommitResult } from "../core/provider/commit.ts";
import type { Blocks } from "./blocks.ts";
import type { Connection } from "./connection.ts";
import type { Endings } from "./ending.ts";
import { concernsStore, toPerdureError } from "./errors.ts";
import type { Forks } from "./fork.ts";
import type { InstanceLeases } from "./leases.ts";
import { NewsDraft } from "./news.ts";
import type { Notifier } from "./notifications.ts";
import type { Pauses } from "./pause.ts";
import type { Sends } from "./send.ts";
import type { Starts } from "./start.ts";
import type { StepOutcomes } from "./step-outcomes.ts";
import type { Tasks } from "./tasks.ts";
import { TaskGone, type GroupTransaction, type Turns } from "./turn.ts";

export interface Writers {
  readonly starts: Starts;
  readonly turns: Turns;
  readonly tasks: Tasks;
  readonly sends: Sends;
  readonly endings: Endings;
  readonly leases: InstanceLeases;
  readonly pauses: Pauses;
  readonly blocks: Blocks;
  readonly forks: Forks;
  readonly stepOutcomes: StepOutcomes;
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
    return this.#halving(items);
  }

  async #halving(items: readonly CommitItem[]): Promise<readonly CommitResult[]> {
    try {
      return await this.#group(items);
    } catch (error) {
      if (concernsStore(error)) throw toPerdureError(error);
      const failure = toPerdureError(error);
      if (failure.code === "STORE_UNAVAILABLE") throw failure;
      if (items.length === 1) return [failed(failure)];
    }
    const middle = items.length >> 1;
    const first = await this.#halving(items.slice(0, middle));
    return [...first, ...(await this.#halving(items.slice(middle)))];
  }

  async #group(items: readonly CommitItem[]): Promise<readonly CommitResult[]> {
    try {
      return await this.#once(items, false);
    } catch (error) {
      if (!(error instanceof TaskGone)) throw error;
      return await this.#once(items, true);
    }
  }

  async #once(items: readonly CommitItem[], careful: boolean): Promise<readonly CommitResult[]> {
    const news = new NewsDraft();
    const { results, publish } = await this.#connection.transaction(() => {
      const transaction = { now: this.#connection.now(), news, careful };
      const results = items.map((item) => this.#write(item, transaction));
      return { results, publish: this.#notifier.prepare(news) };
    });
    publish();
    return results;
  }

  #write(item: CommitItem, transaction: GroupTransaction): CommitResult {
    const { starts, turns, tasks, sends, endings, leases, pauses, blocks } = this.#writers;
    switch (item.kind) {
      case "turn":
        return turns.commit(item, transaction);
      case "start":
        return starts.start(item, transaction);
      case "completion":
        return tasks.complete(item, transaction);
      case "retry":
        return tasks.retry(item, transaction);
      case "releaseTask":
        return tasks.release(item, transaction);
      case "send":
        return sends.send(item, transaction);
      case "cancel":
        return endings.cancel(item, transaction);
      case "terminate":
        return endings.terminate(item, transaction);
      case "block":
        return blocks.block(item, transaction);
      case "unblock":
        return blocks.unblock(item, transaction);
      case "pause":
        return pauses.pause(item, transaction);
      case "resume":
        return pauses.resume(item, transaction);
      case "stepOutcome":
        return this.#writers.stepOutcomes.record(item, transaction);
      case "fork":
        return this.#writers.forks.fork(item, transaction);
      case "releaseInstance":
        return leases.release(item, transaction);
    }
  }
}

function failed(error: PerdureError): CommitResult {
  return { kind: "error", error };
}

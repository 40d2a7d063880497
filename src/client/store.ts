// What a client and its handles share: the store, read through its troubles, and its answers turned into errors.
//   SX1. Reads go through trouble for as long as it takes (P6), or as the caller has time; a closed store is told
//        at once.

import type { Codec } from "../core/codec.ts";
import { backOff, Committer } from "../core/committer.ts";
import { isPerdureError, PerdureError } from "../core/errors.ts";
import type { HistoryRow } from "../core/history-row.ts";
import { verifyRows, type VerifyOptions } from "../core/history-seal.ts";
import type {
  CommitItem,
  CommitResult,
  ErrorResult,
  InstanceRecord,
  SendItem,
  SimpleResult,
  StartItem,
  StartResult,
} from "../core/provider/index.ts";
import type { Provider } from "../core/provider/provider.ts";

type SimpleItem = Exclude<CommitItem, { readonly kind: "start" | "turn" | "fork" }>;

export class Store {
  readonly provider: Provider;
  readonly committer: Committer;
  readonly codec: Codec;

  constructor(provider: Provider, codec: Codec) {
    this.provider = provider;
    this.committer = Committer.of(provider);
    this.codec = codec;
  }

  async read<T>(read: (provider: Provider) => Promise<T>, until = Infinity): Promise<T> {
    const { environment } = this.provider;
    for (let attempt = 0; ; attempt++) {
      try {
        return await read(this.provider);
      } catch (error) {
        if (!isPerdureError(error, "STORE_UNAVAILABLE")) throw error;
        if (this.committer.isClosed || environment.monotonic() >= until) throw error;
        await backOff(environment, attempt);
      }
    }
  }

  async record(id: string, until = Infinity): Promise<InstanceRecord> {
    const record = await this.read((provider) => provider.readInstance(id), until);
    if (record === null) throw notFound(id);
    return record;
  }

  /** Throws HISTORY_CORRUPT if rows of an execution are not this instance's; KEY_MISSING if that cannot be known. */
  verifyRows(
    { id, runId, execution: newest }: InstanceRecord,
    execution: number,
    rows: readonly HistoryRow[],
    options: Omit<VerifyOptions, "mayEnd"> = {},
  ): void {
    const origin = { id, execution, ...(execution === newest ? { runId } : {}) };
    verifyRows(rows, origin, this.codec.rowSeal, { ...options, mayEnd: true });
  }

  /** Writes a start within a transaction of the user's (semantics 31). */
  async startWithin(transaction: object, item: StartItem): Promise<StartResult> {
    if (item.onConflict !== "fail" && item.onConflict !== "useExisting") {
      const message = `With tx, onConflict is "fail" or "useExisting", not "${item.onConflict}".`;
      throw new PerdureError("INVALID_ARGUMENT", message);
    }
    return answered((await this.#within(transaction, item))[0]) as StartResult; // of a start
  }
  async sendWithin(transaction: object, item: SendItem): Promise<void> {
    const result = answered((await this.#within(transaction, item))[0]);
    accept(item.id, result as SimpleResult); // of a send
  }
  #within(transaction: object, item: StartItem | SendItem): Promise<readonly CommitResult[]> {
    const { writeWithin } = this.provider;
    if (writeWithin !== undefined) return writeWithin.call(this.provider, transaction, [item]);
    const message = `The store (${this.provider.name}) shares no transactions.`;
    throw new PerdureError("INVALID_ARGUMENT", message);
  }

  /** Writes an item about an instance; a refusal becomes the error that says so. */
  async write(id: string, item: SimpleItem): Promise<void> {
    accept(id, await this.committer.submit(item));
  }
}

/** What the store answered within a user's transaction: an answer, or an item that it will never take. */
function answered(result: CommitResult | undefined): Exclude<CommitResult, ErrorResult> {
  if (result === undefined) throw new Error("The store gave no answer.");
  if (result.kind === "error") throw result.error;
  return result;
}

function accept(id: string, result: SimpleResult): void {
  if (result.kind === "done") return;
  switch (result.code) {
    case "INSTANCE_NOT_FOUND":
      throw notFound(id);
    case "INSTANCE_FINISHED":
      throw new PerdureError("INSTANCE_FINISHED", `Instance "${id}" has already ended.`);
    case "LIMIT_EXCEEDED": {
      const message = `Too many messages wait for "${id}", which does not exist.`;
      throw new PerdureError("LIMIT_EXCEEDED", message);
    }
    case "KEY_REUSED":
      throw keyReused(id);
    case "LEASE_LOST":
      throw new PerdureError("LEASE_LOST", `Instance "${id}" is held by somebody else.`);
  }
}

export function keyReused(id: string): PerdureError {
  const message = `The request id was used before, for another request to instance "${id}".`;
  return new PerdureError("KEY_REUSED", message);
}

export function notFound(id: string): PerdureError {
  return new PerdureError("INSTANCE_NOT_FOUND", `There is no instance "${id}".`);
}

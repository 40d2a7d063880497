// Access to the store for a client and its handles: retries reads, and converts refused writes to errors.
//   - A read is retried while the store is unavailable (P6), until the caller's deadline if there is one. A
//        closed store raises an error at once.

import type { Telemetry } from "../core/telemetry/telemetry.ts";
import type { Codec } from "../core/values/codec.ts";
import { backOff } from "../core/commit/back-off.ts";
import { Committer } from "../core/commit/committer.ts";
import {
  askRefusalMessage,
  refusalMessage,
  type RefusalCode,
} from "../core/errors/built-in-failures.ts";
import { isPerdureError, PerdureError } from "../core/errors/errors.ts";
import type { HistoryRow } from "../core/history/rows.ts";
import { verifyRows, type VerifyOptions } from "../core/history/seal.ts";
import { NO_LAYERS, type Layers } from "../core/middleware/middleware.ts";
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
import { KEEP_MS } from "../core/provider/shared/early-messages.ts";

type SimpleItem = Exclude<
  CommitItem,
  {
    readonly kind:
      "start" | "enqueue" | "enqueueMany" | "turn" | "fork" | "rewind" | "ask" | "append";
  }
>;

export class Store {
  readonly provider: Provider;
  readonly committer: Committer;
  readonly codec: Codec;
  readonly telemetry: Telemetry | null;
  /** How long an event waits for an instance that does not exist, unless the caller says otherwise. */
  readonly keepForMs: number;
  /** The middleware. */
  readonly layers: Layers;

  constructor(
    provider: Provider,
    codec: Codec,
    options: {
      readonly telemetry?: Telemetry | null;
      readonly keepForMs?: number;
      readonly layers?: Layers;
    } = {},
  ) {
    this.provider = provider;
    this.telemetry = options.telemetry ?? null;
    this.committer = Committer.of(provider);
    this.codec = codec;
    this.keepForMs = options.keepForMs ?? KEEP_MS;
    this.layers = options.layers ?? NO_LAYERS;
  }

  /** `until`: deadline for retries, in monotonic milliseconds. */
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

  /**
   * Throws HISTORY_CORRUPT if a row belongs to another instance or execution; KEY_MISSING without the key
   * to check it.
   */
  verifyRows(
    { id, runId, execution: newest }: InstanceRecord,
    execution: number,
    rows: readonly HistoryRow[],
    options: Omit<VerifyOptions, "mayEnd"> = {},
  ): void {
    const origin = { id, execution, ...(execution === newest ? { runId } : {}) };
    verifyRows(rows, origin, this.codec.rowSeal, { ...options, mayEnd: true });
  }

  /** Writes a start in the user's transaction (semantics 31). */
  async startWithin(transaction: object, item: StartItem): Promise<StartResult> {
    if (item.onConflict !== "fail" && item.onConflict !== "useExisting") {
      const message = `With tx, onConflict must be "fail" or "useExisting"; got "${item.onConflict}".`;
      throw new PerdureError("INVALID_ARGUMENT", message);
    }
    return resultOrThrow((await this.#within(transaction, item))[0]) as StartResult; // a start's result
  }
  /** Writes an event in the user's transaction (semantics 31). */
  async sendWithin(transaction: object, item: SendItem): Promise<void> {
    const result = resultOrThrow((await this.#within(transaction, item))[0]);
    throwIfRefused(item.id, result as SimpleResult); // a send's result
  }
  #within(transaction: object, item: StartItem | SendItem): Promise<readonly CommitResult[]> {
    const { writeWithin } = this.provider;
    if (writeWithin !== undefined) return writeWithin.call(this.provider, transaction, [item]);
    const message = `The store (${this.provider.name}) does not support tx.`;
    throw new PerdureError("INVALID_ARGUMENT", message);
  }

  /** Commits an item. If the store refuses the item, throws an error with the reason. */
  async write(id: string, item: SimpleItem): Promise<void> {
    throwIfRefused(id, await this.committer.submit(item));
  }
}

function resultOrThrow(result: CommitResult | undefined): Exclude<CommitResult, ErrorResult> {
  if (result === undefined) throw new Error("writeWithin returned no result for the item.");
  if (result.kind === "error") throw result.error;
  return result;
}

function throwIfRefused(id: string, result: SimpleResult): void {
  if (result.kind === "refused") throw refusedWrite(result.code, id);
}

/** The error of a write that the store refused. */
export function refusedWrite(code: RefusalCode, id: string): PerdureError {
  return new PerdureError(code, refusalMessage(code, id));
}

/** As `refusedWrite`, for an ask. */
export function refusedAsk(code: RefusalCode, id: string): PerdureError {
  return new PerdureError(code, askRefusalMessage(code, id));
}

export function keyReused(id: string): PerdureError {
  return refusedWrite("KEY_REUSED", id);
}

export function notFound(id: string): PerdureError {
  return refusedWrite("INSTANCE_NOT_FOUND", id);
}

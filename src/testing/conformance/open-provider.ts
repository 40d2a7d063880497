// Open provider: the function that the caller of the suite passes in. It opens a fresh store for each case
// and optionally offers access to the store that no provider has.

import type { Environment } from "../../core/time/environment.ts";
import type { Provider, TaskAddress } from "../../core/provider/index.ts";

/** Opens an empty store that uses the clock of the environment. */
export type OpenProvider = (options: {
  readonly environment: Environment;
}) => Promise<OpenedProvider>;

/** A fresh store, with optional access for tests. */
export interface OpenedProvider {
  readonly provider: Provider;
  /** Opens another provider on the same store, as another process would. The suite closes it. */
  reopen?(): Promise<Provider>;
  /**
   * Begins a user transaction on the store's database, for stores that can write within user transactions.
   */
  begin?(): Promise<OpenTransaction>;
  /** Whether other connections can write while a user transaction has uncommitted writes. */
  readonly concurrentWrites?: true;
  /** Changes stored data directly, without the provider. */
  readonly tamper?: Tampering;
  /** Closes the provider and removes the store. */
  cleanup(): Promise<void>;
}

/** An open user transaction. */
export interface OpenTransaction {
  /** The transaction object for `writeWithin`. */
  readonly transaction: unknown;
  commit(): Promise<void>;
  rollback(): Promise<void>;
}

/** Changes to stored data that no provider makes. Each is optional. */
export interface Tampering {
  /** Replaces the text of a history row. */
  corruptHistory?(row: {
    readonly key: number;
    readonly execution: number;
    readonly first: number;
    readonly text: string;
  }): Promise<void>;
  /** Replaces the text of a message. */
  corruptMessage?(message: { readonly id: number; readonly text: string }): Promise<void>;
  /** Replaces an encoded text of a task: its options or its tags. */
  corruptTask?(task: TaskAddress & { readonly text: string }): Promise<void>;
  /** Replaces the stored answer to an ask. */
  corruptAnswer?(ask: {
    readonly key: number;
    readonly requestId: string;
    readonly text: string;
  }): Promise<void>;
  /** Replaces the text of the chunk of a stream that begins with the entry `first`. */
  corruptStream?(chunk: {
    readonly key: number;
    readonly name: string;
    readonly first: number;
    readonly text: string;
  }): Promise<void>;
  /** Sets the counters so that the next instance key and the next message id are at least `least`. */
  setNextIds?(least: number): Promise<void>;
}

/** Something that a case may need beyond a provider. */
export type Need = "reopen" | "begin" | "concurrentWrites" | keyof Tampering;

export function has(opened: OpenedProvider, need: Need): boolean {
  if (need === "reopen" || need === "begin" || need === "concurrentWrites") {
    return opened[need] !== undefined;
  }
  return opened.tamper?.[need] !== undefined;
}

// What the suite asks of whoever runs it: a fresh store a test, and ways to do to it what no provider does.

import type { Environment } from "../../core/environment.ts";
import type { Provider, TaskAddress } from "../../core/provider/index.ts";

/** Opens a store that holds nothing, on a clock that is the environment's. */
export type OpenProvider = (options: {
  readonly environment: Environment;
}) => Promise<OpenedProvider>;

/** A fresh store, and what can be done to it. */
export interface OpenedProvider {
  readonly provider: Provider;
  /** Another provider on the same store, as another process would open it; the suite closes it. */
  reopen?(): Promise<Provider>;
  /** Begins a transaction of a user's own on the store's database, for stores that share them. */
  begin?(): Promise<OpenTransaction>;
  /** Whether others may write while such a transaction is open and has written. */
  readonly concurrentWrites?: true;
  /** Writes to the store behind the provider's back. */
  readonly tamper?: Tampering;
  /** Closes the provider and removes the store. */
  cleanup(): Promise<void>;
}

/** A user's transaction that is under way. */
export interface OpenTransaction {
  /** What `writeWithin` is given. */
  readonly transaction: unknown;
  commit(): Promise<void>;
  rollback(): Promise<void>;
}

/** Ways to do to a store what no provider does. Each is optional. */
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
  /** Replaces whatever the store keeps as encoded text of a task: its options or its tags. */
  corruptTask?(task: TaskAddress & { readonly text: string }): Promise<void>;
  /** Makes the next instance key and the next message id at least `least`. */
  setNextIds?(least: number): Promise<void>;
}

/** What a case may need beyond a provider. */
export type Need = "reopen" | "begin" | "concurrentWrites" | keyof Tampering;

export function has(opened: OpenedProvider, need: Need): boolean {
  if (need === "reopen" || need === "begin" || need === "concurrentWrites") {
    return opened[need] !== undefined;
  }
  return opened.tamper?.[need] !== undefined;
}

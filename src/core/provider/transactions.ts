// Transactions that the store shares with its user (semantics 31–33).
//   - provider.transactions.1: Within a user's transaction the store only inserts: starts that fail on or
//     use an existing instance, and sends. It does not touch the row of a live instance, and gives no
//     lease. The user commits.
//   - provider.transactions.2: The transaction of a step contains the user's statements and the step's
//     fenced outcome: both or neither. It runs on its own connection. It may run more than once, and
//     commits once.
//   - provider.transactions.3: An error of the store is thrown (provider.2), even if the user's code
//     caught it. An error of the user's code never reaches the store: the function returns null instead.

import { PerdureError } from "../errors/errors.ts";
import type { CommitResult, SendItem, SimpleResult, StartItem, StepOutcomeItem } from "./commit.ts";

/** `why`: the user's code did something that is not allowed. */
export type Transacted =
  SimpleResult | { readonly kind: "rolledBack"; readonly why?: PerdureError };

/** The part of a provider that shares transactions with its user. */
export interface TransactionStore {
  /** Whether the function of a step must be synchronous, because the database driver is. */
  readonly transactions: "synchronous" | "asynchronous";
  /** INVALID_ARGUMENT if it is not an open transaction on this store's database. */
  writeWithin(
    transaction: unknown,
    items: readonly (StartItem | SendItem)[],
  ): Promise<readonly CommitResult[]>;
  /**
   * If `work` returns null, the transaction is rolled back. The outcome goes to the inbox, as kind
   * "step".
   */
  transact(
    work: (transaction: unknown) => StepOutcomeItem | null | Promise<StepOutcomeItem | null>,
  ): Promise<Transacted>;
}

/** The user's function ran COMMIT or ROLLBACK on the transaction of its step. */
export function endedByUser(): PerdureError {
  const message =
    "The function of ctx.tx ended its transaction. Remove its COMMIT or ROLLBACK: Perdure ends the transaction.";
  return new PerdureError("INVALID_ARGUMENT", message);
}

/** The `tx` of a call cannot be used. */
export function unusableTransaction(why: string, cause?: unknown): PerdureError {
  const message = `Cannot write within a transaction: ${why}.`;
  return new PerdureError("INVALID_ARGUMENT", message, cause === undefined ? {} : { cause });
}

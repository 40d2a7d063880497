// Transactions that the store shares with its user (semantics 31–33).
//   TX1. Within a user's transaction only inserts are made: starts that fail on or use an existing instance, and
//        sends. Nothing of a live instance's row is touched, and no lease is given. The user commits.
//   TX2. A step's transaction holds the user's statements and the step's fenced outcome: both or neither. It runs on a
//        connection of its own; it may run more than once, it commits once.
//   TX3. An error of the store's is thrown (S3), whatever the user's code made of it; one of the user's own code
//        never reaches the store: it says so by returning null.

import type { PerdureError } from "../errors.ts";
import type { CommitResult, SendItem, SimpleResult, StartItem, StepOutcomeItem } from "./commit.ts";

/** `why`: the user's code did what it may not. */
export type Transacted =
  SimpleResult | { readonly kind: "rolledBack"; readonly why?: PerdureError };

/** The part of a provider that shares transactions with its user. */
export interface TransactionStore {
  /** Whether a step's function must be synchronous, because the database is. */
  readonly transactions: "synchronous" | "asynchronous";
  /** INVALID_ARGUMENT for what is no open transaction on this store's database. */
  writeWithin(
    transaction: unknown,
    items: readonly (StartItem | SendItem)[],
  ): Promise<readonly CommitResult[]>;
  /** Null from `work`: rolled back. The outcome goes to the inbox, as kind "step". */
  transact(
    work: (transaction: unknown) => StepOutcomeItem | null | Promise<StepOutcomeItem | null>,
  ): Promise<Transacted>;
}

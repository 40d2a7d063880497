// Shared transactions: writes on the user's connection, or on a separate one for a step (semantics 31–33).
//   - A user's transaction must be open and must see this store (borrowed-transaction.ts). Perdure only
//     inserts in it: a new instance, or an outbox row that is moved into an inbox after the commit.
//   - The transaction of a step has a separate connection (step-transactions.ts).
//   - PostgreSQL sends the notification of a user's transaction at its commit; a process that misses it
//     finds the change by polling.

import type { CommitResult } from "../../core/provider/commit.ts";
import type { TransactionStore } from "../../core/provider/transactions.ts";
import type { Outbox } from "./outbox.ts";
import type { Connection } from "../connection/connection.ts";
import { BorrowedTransactions } from "./borrowed-transaction.ts";
import { ChangeDraft } from "../notify/change-draft.ts";
import type { ChangeNotifier } from "../notify/change-notifier.ts";
import type { StartsWithin } from "./start-within.ts";
import type { StepTransactions } from "./step-transactions.ts";

export function sharedTransactions(
  connection: Connection,
  parts: {
    readonly outbox: Outbox;
    readonly startsWithin: StartsWithin;
    readonly notifier: ChangeNotifier;
    readonly steps: StepTransactions;
  },
): Pick<TransactionStore, "writeWithin" | "transact"> {
  const { outbox, startsWithin, notifier, steps } = parts;
  const borrowing = new BorrowedTransactions(connection);
  return {
    async writeWithin(transaction, items) {
      connection.assertWritable();
      const borrowed = await borrowing.enter(transaction);
      const changes = new ChangeDraft();
      const results: CommitResult[] = [];
      for (const item of items) {
        const written =
          item.kind === "start"
            ? startsWithin.start(borrowed, item, changes)
            : outbox.send(borrowed, item, changes);
        results.push(await written);
      }
      await notifier.publishWithin(borrowed, changes);
      return results;
    },
    transact: (work) => steps.transact(work),
  };
}

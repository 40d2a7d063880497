// Transactions shared with the user: on his connection, or on one of ours (semantics 31–33).
//   X1. A transaction of the user's is taken if it is open and sees this very store (lent.ts). What it writes is
//       inserted: a birth, or an arrival that is brought into its inbox when the transaction has committed.
//   X2. A step's transaction has a connection of its own (step-transactions.ts).
//   X3. What a user's transaction brings about is told by itself, at its commit; who misses that finds it by polling.

import type {
  CommitResult,
  SendItem,
  StartItem,
  StepOutcomeItem,
} from "../core/provider/commit.ts";
import type { Transacted } from "../core/provider/transactions.ts";
import type { Arrivals } from "./arrivals.ts";
import type { Connection } from "./connection.ts";
import { Lending } from "./lent.ts";
import { NewsDraft } from "./news.ts";
import type { Notifier } from "./notifications.ts";
import type { StartsWithin } from "./start-within.ts";
import type { StepTransactions } from "./step-transactions.ts";

export interface SharedParts {
  readonly arrivals: Arrivals;
  readonly startsWithin: StartsWithin;
  readonly notifier: Notifier;
  readonly steps: StepTransactions;
}

export class SharedTransactions {
  readonly #connection: Connection;
  readonly #lending: Lending;
  readonly #parts: SharedParts;

  constructor(connection: Connection, parts: SharedParts) {
    this.#connection = connection;
    this.#lending = new Lending(connection);
    this.#parts = parts;
  }

  async writeWithin(
    transaction: unknown,
    items: readonly (StartItem | SendItem)[],
  ): Promise<readonly CommitResult[]> {
    this.#connection.assertWritable();
    const { arrivals, startsWithin, notifier } = this.#parts;
    const lent = await this.#lending.enter(transaction);
    const news = new NewsDraft();
    const results: CommitResult[] = [];
    for (const item of items) {
      const written =
        item.kind === "start"
          ? startsWithin.start(lent, item, news)
          : arrivals.send(lent, item, news);
      results.push(await written);
    }
    await notifier.publishWithin(lent, news);
    return results;
  }

  transact(
    work: (transaction: unknown) => StepOutcomeItem | null | Promise<StepOutcomeItem | null>,
  ): Promise<Transacted> {
    return this.#parts.steps.transact(work);
  }
}

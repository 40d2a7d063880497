// Transactions shared with the user: on the user's handle, or on a second one of ours (semantics 31–33).
//   X1. A handle of the user's is taken if it is open on this very file and inside a transaction.
//   X2. A step's transaction has a handle of its own, so that no statement of the user's can be part of a shared
//       commit; in memory there is one handle only, and being synchronous keeps them apart.
//   X3. News of a transaction that the user commits reaches others as any foreign write does: by the counter.

import { realpathSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { PerdureError } from "../core/errors.ts";
import type {
  CommitResult,
  SendItem,
  StartItem,
  StepOutcomeItem,
} from "../core/provider/commit.ts";
import type { Transacted } from "../core/provider/transactions.ts";
import type { Connection } from "./connection.ts";
import { toPerdureError } from "./errors.ts";
import { NewsDraft } from "./news.ts";
import { assemble, type Parts } from "./parts.ts";

interface Place {
  readonly connection: Connection;
  readonly parts: Parts;
}
/** Thrown to roll back; never leaves this file. */
class RolledBack extends Error {
  readonly result: Transacted;
  constructor(result: Transacted) {
    super("rolled back");
    this.result = result;
  }
}

export class SharedTransactions {
  readonly #own: Place;
  readonly #lent = new WeakMap<DatabaseSync, Place>();
  #second: Place | null = null;

  constructor(connection: Connection, parts: Parts) {
    this.#own = { connection, parts };
  }

  async writeWithin(
    transaction: unknown,
    items: readonly (StartItem | SendItem)[],
  ): Promise<readonly CommitResult[]> {
    const { connection, parts } = this.#placeOf(transaction);
    return connection.writeWithin(() => {
      const news = new NewsDraft();
      const at = { now: connection.now(), news };
      const results = items.map((item) =>
        item.kind === "start"
          ? parts.starts.start({ ...item, lease: null }, at) // TX1
          : parts.sends.send(item, at),
      );
      parts.notifier.prepare(news); // raises the counter inside the user's transaction (X3)
      return results;
    });
  }

  async transact(
    work: (transaction: unknown) => StepOutcomeItem | null | Promise<StepOutcomeItem | null>,
  ): Promise<Transacted> {
    const { connection, parts } = this.#ofSteps();
    const news = new NewsDraft();
    try {
      const publish = await connection.transaction(() => {
        const item = work(connection.database);
        if (item instanceof Promise)
          throw new Error("A step's transaction on SQLite is synchronous.");
        if (!connection.database.isTransaction) {
          throw new RolledBack({ kind: "rolledBack", why: endedByUser() });
        }
        if (item === null) throw new RolledBack({ kind: "rolledBack" });
        const result = parts.stepOutcomes.record(item, { now: connection.now(), news });
        if (result.kind === "refused") throw new RolledBack(result);
        return parts.notifier.prepare(news);
      });
      publish();
      // Another handle's commit: those who listen hear of it from the handle they listen on.
      if (connection !== this.#own.connection) this.#own.parts.notifier.told(news);
      return { kind: "done" };
    } catch (error) {
      if (error instanceof RolledBack) return error.result;
      throw toPerdureError(error);
    }
  }

  close(): void {
    this.#second?.connection.close();
  }

  #ofSteps(): Place {
    const { connection } = this.#own;
    if (connection.path === null) return this.#own;
    return (this.#second ??= place(connection.again()));
  }

  #placeOf(transaction: unknown): Place {
    if (!(transaction instanceof DatabaseSync)) {
      throw invalid("tx is a DatabaseSync of node:sqlite on the store's own file");
    }
    const { path } = this.#own.connection;
    if (transaction === this.#own.connection.database) return this.#own;
    const location = transaction.isOpen ? transaction.location() : null;
    if (path === null || location === null || realpathSync(location) !== realpathSync(path)) {
      throw invalid(
        `tx is open on ${location ?? "a database in memory"}, not on ${path ?? "this"}`,
      );
    }
    if (!transaction.isTransaction) throw invalid("tx has no transaction open: BEGIN first");
    let lent = this.#lent.get(transaction);
    if (lent === undefined) {
      lent = place(this.#own.connection.over(transaction));
      this.#lent.set(transaction, lent);
    }
    return lent;
  }
}

function place(connection: Connection): Place {
  return { connection, parts: assemble(connection) };
}

function endedByUser(): PerdureError {
  const message = "The function of ctx.tx ended its transaction itself; leave that to Perdure.";
  return new PerdureError("INVALID_ARGUMENT", message);
}

function invalid(why: string): PerdureError {
  return new PerdureError("INVALID_ARGUMENT", `Cannot write within a transaction: ${why}.`);
}

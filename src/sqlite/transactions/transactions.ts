// Shared transactions: writes on the user's handle, or on a second handle for a step (semantics 31–33).
//   - The user's handle must be open on the store's file and inside a transaction.
//   - The transaction of a step has a separate handle, so no statement of the user can become part of a
//     group commit. A store in memory has only one handle; there, synchronous execution keeps them apart.
//   - sqlite.transactions.1: A user's transaction notifies other processes like any write from elsewhere:
//     by the counter in the database.

import { realpathSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import {
  endedByUser,
  unusableTransaction,
  type Transacted,
  type TransactionStore,
} from "../../core/provider/transactions.ts";
import type { Connection } from "../connection/connection.ts";
import { toPerdureError } from "../connection/errors.ts";
import { ChangeDraft, type Transaction } from "../notify/change-draft.ts";
import { assemble, type SqliteParts } from "../assemble.ts";

/** A database handle with the store's statements prepared on it. */
interface Handle {
  readonly connection: Connection;
  readonly parts: SqliteParts;
}
/** Rolls the transaction back; caught in `transact`. */
class RolledBack extends Error {
  readonly result: Transacted;
  constructor(result: Transacted) {
    super("rolled back");
    this.result = result;
  }
}

export class SharedTransactions {
  readonly #own: Handle;
  readonly #borrowed = new WeakMap<DatabaseSync, Handle>();
  #second: Handle | null = null;

  constructor(connection: Connection, parts: SqliteParts) {
    this.#own = { connection, parts };
  }

  readonly writeWithin: TransactionStore["writeWithin"] = async (transaction, items) => {
    const { connection, parts } = this.#handleOf(transaction);
    return connection.writeWithin(() => {
      const changes = new ChangeDraft();
      const at: Transaction = { now: connection.now(), changes };
      const results = items.map((item) =>
        item.kind === "start"
          ? parts.starts.start({ ...item, lease: null }, at) // provider.transactions.1
          : parts.sends.send(item, at),
      );
      parts.notifier.prepare(changes); // raises the counter inside the user's transaction (sqlite.transactions.1)
      return results;
    });
  };

  readonly transact: TransactionStore["transact"] = async (work) => {
    const { connection, parts } = this.#stepHandle();
    const changes = new ChangeDraft();
    try {
      const publish = await connection.transaction(() => {
        const item = work(connection.database);
        if (item instanceof Promise)
          throw new Error(
            "The transaction of a step must be synchronous on SQLite; its function returned a promise.",
          );
        if (!connection.database.isTransaction) {
          throw new RolledBack({ kind: "rolledBack", why: endedByUser() });
        }
        if (item === null) throw new RolledBack({ kind: "rolledBack" });
        const result = parts.stepOutcomes.record(item, { now: connection.now(), changes });
        if (result.kind === "refused") throw new RolledBack(result);
        return parts.notifier.prepare(changes);
      });
      publish();
      // The listeners subscribed on the store's own handle; notify them of this handle's commit. The store may
      // have been closed during the sync.
      const own = this.#own;
      if (connection !== own.connection && own.connection.database.isOpen)
        own.parts.notifier.published(changes);
      return { kind: "done" };
    } catch (error) {
      if (error instanceof RolledBack) return error.result;
      throw toPerdureError(error);
    }
  };

  close(): void {
    this.#second?.connection.close();
  }

  #stepHandle(): Handle {
    const { connection } = this.#own;
    if (connection.path === null) return this.#own;
    return (this.#second ??= openHandle(connection.openSecondHandle()));
  }

  #handleOf(transaction: unknown): Handle {
    if (!(transaction instanceof DatabaseSync)) {
      throw unusableTransaction(
        `tx must be a DatabaseSync of node:sqlite; got ${typeof transaction}`,
      );
    }
    const { path } = this.#own.connection;
    if (transaction === this.#own.connection.database) return this.#own;
    const location = transaction.isOpen ? transaction.location() : null;
    if (path === null || location === null || realpathSync(location) !== realpathSync(path)) {
      const state = transaction.isOpen ? `open on ${location ?? "a database in memory"}` : "closed";
      throw unusableTransaction(
        `tx must be open on ${path ?? "this database in memory"}; it is ${state}`,
      );
    }
    if (!transaction.isTransaction)
      throw unusableTransaction("tx has no open transaction; run BEGIN first");
    let borrowed = this.#borrowed.get(transaction);
    if (borrowed === undefined) {
      borrowed = openHandle(this.#own.connection.onHandle(transaction));
      this.#borrowed.set(transaction, borrowed);
    }
    return borrowed;
  }
}

function openHandle(connection: Connection): Handle {
  return { connection, parts: assemble(connection) };
}

// In transaction: runs work in a transaction of a handle that has no Connection.

import type { DatabaseSync } from "node:sqlite";

/** `begin` is the statement that begins the transaction. A transaction whose work throws is rolled back. */
export function inTransaction<T>(database: DatabaseSync, begin: string, work: () => T): T {
  database.exec(begin);
  try {
    const result = work();
    database.exec("COMMIT");
    return result;
  } catch (error) {
    if (database.isTransaction) database.exec("ROLLBACK");
    throw error;
  }
}

// Stores for the contract suite: SQLite in memory and in a file, with functions that tamper with its rows.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { SqliteProvider } from "../../../src/sqlite/index.ts";
import { followSyncs } from "../../support/synced-log.ts";
import type {
  ContractOptions,
  OpenProvider,
  Tampering,
} from "../../../src/testing/conformance/index.ts";

const TAMPERING = [
  "corruptHistory",
  "corruptMessage",
  "corruptTask",
  "corruptAnswer",
  "corruptStream",
  "setNextIds",
] as const;
export const IN_MEMORY: ContractOptions = { offers: TAMPERING };
export const IN_FILE: ContractOptions = { offers: ["reopen", "begin", ...TAMPERING] };

export const openInMemory: OpenProvider = async ({ environment }) => {
  const { provider, database } = await openWithDatabase(() =>
    SqliteProvider.open(":memory:", { environment }),
  );
  return {
    provider,
    tamper: tampering((work) => work(database)),
    cleanup: () => provider.close(),
  };
};

export const openInFile: OpenProvider = async ({ environment }) => {
  const directory = await mkdtemp(join(tmpdir(), "perdure-contract-"));
  const path = join(directory, "store.db");
  const open = async () => withSyncedCalls(await SqliteProvider.open(path, { environment }), path);
  const provider = await open();
  const opened: DatabaseSync[] = [];
  return {
    provider,
    reopen: open,
    async begin() {
      const database = new DatabaseSync(path);
      opened.push(database);
      database.exec("BEGIN");
      return {
        transaction: database,
        commit: async () => database.exec("COMMIT"),
        rollback: async () => database.exec("ROLLBACK"),
      };
    },
    tamper: tampering((work) => {
      using database = new DatabaseSync(path);
      work(database);
    }),
    async cleanup() {
      for (const database of opened) database.close();
      await provider.close();
      await rm(directory, { recursive: true });
    },
  };
};

/** The same provider. A call fails if it returns before everything that was written meanwhile is on disk (P1). */
function withSyncedCalls(provider: SqliteProvider, path: string): SqliteProvider {
  const log = followSyncs(path);
  return new Proxy(provider, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== "function") return member;
      return (...args: readonly unknown[]): unknown => {
        const before = log().bytes;
        const result: unknown = Reflect.apply(member, target, args);
        if (!(result instanceof Promise) || name === "close") return result;
        return result.then((value: unknown) => {
          const { bytes, syncedBytes } = log();
          if (bytes > before && syncedBytes < bytes) {
            throw new Error(`${String(name)} returned with ${bytes - syncedBytes} unsynced bytes.`);
          }
          return value;
        });
      };
    },
  });
}

/** A database in memory has only the connection of the provider. This captures it at its first statement. */
async function openWithDatabase(
  open: () => Promise<SqliteProvider>,
): Promise<{ provider: SqliteProvider; database: DatabaseSync }> {
  const captured: DatabaseSync[] = [];
  const { exec } = DatabaseSync.prototype;
  DatabaseSync.prototype.exec = function (sql) {
    captured.push(this);
    exec.call(this, sql);
  };
  const opening = open(); // the first statement runs synchronously
  DatabaseSync.prototype.exec = exec;
  const provider = await opening;
  const [database] = captured;
  if (database === undefined) throw new Error("the provider did not open a database synchronously");
  return { provider, database };
}

function tampering(use: (work: (database: DatabaseSync) => void) => void): Required<Tampering> {
  const change = (sql: string, ...values: (string | number | null)[]): void =>
    use((database) => {
      const { changes } = database.prepare(sql).run(...values);
      if (changes !== 1) throw new Error(`${changes} rows changed by: ${sql}`);
    });
  return {
    async corruptHistory({ key, execution, first, text }) {
      change(
        "UPDATE history SET data = ? WHERE instance = ? AND execution = ? AND first = ?",
        text,
        key,
        execution,
        first,
      );
    },
    async corruptMessage({ id, text }) {
      change("UPDATE inbox SET data = ? WHERE id = ?", text, id);
    },
    async corruptTask({ key, execution, sequence, text }) {
      change(
        `UPDATE tasks SET options = ?1, tags = ?1
         WHERE instance = ?2 AND execution = ?3 AND sequence = ?4`,
        text,
        key,
        execution,
        sequence,
      );
    },
    async corruptAnswer({ key, requestId, text }) {
      change(
        "UPDATE requests SET answer = ? WHERE instance = ? AND kind = 'ask' AND id = ?",
        text,
        key,
        requestId,
      );
    },
    async corruptStream({ key, name, first, text }) {
      change(
        "UPDATE stream_chunks SET data = ? WHERE instance = ? AND name = ? AND first = ?",
        text,
        key,
        name,
        first,
      );
    },
    async setNextIds(least) {
      use((database) => {
        database.exec("DELETE FROM sqlite_sequence");
        const insert = database.prepare("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)");
        for (const table of ["instances", "inbox"]) insert.run(table, least - 1);
      });
    },
  };
}

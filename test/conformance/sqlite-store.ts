// Stores for the suite: SQLite in memory and in a file of its own, with hands to write behind its back.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { SqliteProvider } from "../../src/sqlite/index.ts";
import type {
  ContractOptions,
  OpenProvider,
  Tampering,
} from "../../src/testing/conformance/index.ts";

const TAMPERING = ["corruptHistory", "corruptMessage", "corruptTask", "setNextIds"] as const;
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
  const provider = await SqliteProvider.open(path, { environment });
  const opened: DatabaseSync[] = [];
  return {
    provider,
    reopen: () => SqliteProvider.open(path, { environment }),
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

/** A database in memory has one connection, the provider's own: it is caught at its first statement. */
async function openWithDatabase(
  open: () => Promise<SqliteProvider>,
): Promise<{ provider: SqliteProvider; database: DatabaseSync }> {
  const caught: DatabaseSync[] = [];
  const { exec } = DatabaseSync.prototype;
  DatabaseSync.prototype.exec = function (sql) {
    caught.push(this);
    exec.call(this, sql);
  };
  const opening = open(); // its first statement runs before anything else can
  DatabaseSync.prototype.exec = exec;
  const provider = await opening;
  const [database] = caught;
  if (database === undefined) throw new Error("the provider opened no database at once");
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
    async setNextIds(least) {
      use((database) => {
        database.exec("DELETE FROM sqlite_sequence");
        const insert = database.prepare("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)");
        for (const table of ["instances", "inbox"]) insert.run(table, least - 1);
      });
    },
  };
}

// The stores under test, and queries that bypass the engine.
//   - Disposing of a store deletes it, unless `keep` was called.

import { rmSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { selectMiscounts } from "../../../src/core/provider/tallies.ts";
import { dropSchema, freshSchema, postgres } from "../../support/postgres.ts";
import { partsOf, SQLITE } from "./store-address.ts";

export const STORE_KINDS = ["sqlite", "postgres"] as const;
export type StoreKind = (typeof STORE_KINDS)[number];

export interface StoreUnderTest extends AsyncDisposable {
  readonly kind: StoreKind;
  readonly address: string;
  /** Name and version of the database. */
  readonly database: string;
  /** The first column of a query's result, as text. In the SQL an @ precedes every table name. */
  column(sql: string): Promise<readonly string[]>;
  /** Whether no transaction is open. */
  isFree(): Promise<boolean>;
  /** Damage that the database itself reports; empty if there is none. */
  damage(): Promise<readonly string[]>;
  keep(): void;
}

/** A new store: a file of that name in the folder, or a new schema. */
export async function storeUnderTest(
  kind: StoreKind,
  folder: string,
  name = "store",
): Promise<StoreUnderTest> {
  return kind === "sqlite" ? sqliteStore(join(folder, `${name}.db`)) : postgresStore();
}

export function sqliteStore(path: string): StoreUnderTest {
  const column = (sql: string): string[] => {
    using database = new DatabaseSync(path, { timeout: 5_000 });
    const rows = database.prepare(sql.replaceAll("@", "")).all();
    return rows.map((row) => String(Object.values(row)[0]));
  };
  let kept = false;
  return {
    kind: "sqlite",
    address: `${SQLITE}${path}`,
    database: `SQLite ${process.versions.sqlite ?? "of unknown version"}`,
    column: async (sql) => column(sql),
    async isFree() {
      using database = new DatabaseSync(path, { timeout: 0 });
      try {
        database.exec("BEGIN IMMEDIATE; ROLLBACK");
        return true;
      } catch {
        return false;
      }
    },
    damage: async () => [
      ...column("PRAGMA integrity_check").filter((line) => line !== "ok"),
      ...column(selectMiscounts("")).map((status) => `metrics miscount status ${status}`),
    ],
    keep: () => (kept = true),
    async [Symbol.asyncDispose]() {
      if (!kept) for (const end of ["", "-wal", "-shm"]) rmSync(`${path}${end}`, { force: true });
    },
  };
}

/** A store of an earlier run, which stays. PostgreSQL: on the server that DATABASE_URL names. */
export async function existingStore(address: string): Promise<StoreUnderTest> {
  if (!address.startsWith(SQLITE) && process.env["DATABASE_URL"] !== partsOf(address).url) {
    throw new Error(`DATABASE_URL must name the server of ${address}, so that the store stays`);
  }
  const store = address.startsWith(SQLITE)
    ? sqliteStore(address.slice(SQLITE.length))
    : await postgresStore(partsOf(address).schema);
  store.keep();
  return store;
}

async function postgresStore(schema = freshSchema()): Promise<StoreUnderTest> {
  const { url, query } = await postgres();
  const address = new URL(url);
  address.hash = schema;
  let kept = false;
  const [version] = await query("SHOW server_version");
  return {
    kind: "postgres",
    address: address.href,
    database: `PostgreSQL ${String(version?.["server_version"])}`,
    async column(sql) {
      const rows = await query(sql.replaceAll("@", `${schema}.`));
      return rows.map((row) => String(Object.values(row)[0]));
    },
    async isFree() {
      const open = `SELECT 1 FROM pg_stat_activity WHERE state LIKE 'idle in transaction%'`;
      return (await query(open)).length === 0;
    },
    async damage() {
      const rows = await query(selectMiscounts("@").replaceAll("@", `${schema}.`));
      return rows.map(({ status }) => `metrics miscount status ${String(status)}`);
    },
    keep: () => (kept = true),
    async [Symbol.asyncDispose]() {
      if (!kept) await dropSchema(schema);
    },
  };
}

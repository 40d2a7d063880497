// A small bank: transfers in ctx.tx whose process is killed repeatedly. Each transfer commits exactly once.

import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { Client, type Provider } from "../../../src/index.ts";
import { PostgresProvider } from "../../../src/postgres/index.ts";
import { SqliteProvider } from "../../../src/sqlite/index.ts";
import { ownSchema } from "../../stores/postgres/support.ts";
import { postgres } from "../../support/postgres.ts";
import { temporaryFolder } from "../../faults/trouble/support.ts";

const SMALL = { instances: 20, kills: 3 };
const LARGE = { instances: 60, kills: 6 };
const ON_POSTGRES = process.env["PERDURE_FULL"] === "1" ? LARGE : SMALL;
const TWICE = "SELECT id, n FROM moves GROUP BY id, n HAVING count(*) > 1";
const BALANCES = "SELECT id, balance FROM accounts ORDER BY id";

interface Bank {
  readonly provider: Provider;
  /** The arguments with which a worker finds the store. */
  readonly place: readonly string[];
  query(sql: string): Promise<readonly object[]>;
  moves(): Promise<number>;
}

async function inSqlite(): Promise<Bank> {
  const path = join(temporaryFolder(), "bank.db");
  const provider = await SqliteProvider.open(path);
  const database = new DatabaseSync(path);
  onTestFinished(() => database.close());
  database.exec(`
    CREATE TABLE accounts (id TEXT PRIMARY KEY, balance INTEGER NOT NULL) STRICT;
    INSERT INTO accounts VALUES ('from', 10000), ('to', 0);
    CREATE TABLE moves (id TEXT NOT NULL, n INTEGER NOT NULL) STRICT`);
  return {
    provider,
    place: ["sqlite", path],
    query: async (sql) => database.prepare(sql).all(),
    async moves() {
      return Number(database.prepare("SELECT count(*) AS n FROM moves").get()?.["n"]);
    },
  };
}

async function inPostgres(): Promise<Bank> {
  const { url, query } = await postgres();
  const schema = ownSchema();
  const provider = await PostgresProvider.open(url, { schema, poolSize: 4 });
  await query(`
    CREATE TABLE ${schema}.accounts (id text PRIMARY KEY, balance int NOT NULL);
    INSERT INTO ${schema}.accounts VALUES ('from', 10000), ('to', 0);
    CREATE TABLE ${schema}.moves (id text NOT NULL, n int NOT NULL)`);
  const within = (sql: string) => query(sql.replace("FROM ", `FROM ${schema}.`));
  return {
    provider,
    place: ["postgres", url, schema],
    query: within,
    async moves() {
      const [row] = await within("SELECT count(*)::int AS n FROM moves");
      return Number(row?.["n"]);
    },
  };
}

test.each([["SQLite", LARGE, inSqlite] as const, ["PostgreSQL", ON_POSTGRES, inPostgres] as const])(
  "on %s each transfer commits once although its process is killed repeatedly, and no money is lost (provider.transactions.2)",
  async (_, { instances, kills }, open) => {
    const { provider, place, query, moves } = await open();
    const client = new Client(provider);
    const begin = (): ChildProcess => {
      const worker = fork(join(import.meta.dirname, "worker.ts"), place, { stdio: "inherit" });
      onTestFinished(() => void worker.kill("SIGKILL"));
      return worker;
    };
    const ids = Array.from({ length: instances }, (_, n) => `t${n}`);
    const handles = await Promise.all(ids.map((id) => client.start("transfers", id, { id })));
    let landed = 0;
    for (let kill = 1; kill <= kills; kill++) {
      const worker = begin();
      await once(worker, "message");
      const goal = (kill * instances * 10) / (kills + 1);
      while ((await moves()) < goal) await new Promise((resolve) => setImmediate(resolve));
      if (worker.kill("SIGKILL")) landed++;
      await once(worker, "exit");
    }
    const last = begin();
    const results = await Promise.all(handles.map((handle) => handle.result({ timeout: "40s" })));
    last.kill("SIGKILL");
    await once(last, "exit");
    await provider.close();
    expect(landed).toBe(kills);
    expect(results).toEqual(ids);
    expect(await query(TWICE)).toEqual([]);
    expect(await moves()).toBe(instances * 10);
    expect(await query(BALANCES)).toEqual([
      { id: "from", balance: 10_000 - instances * 10 },
      { id: "to", balance: instances * 10 },
    ]);
  },
  120_000, // seven processes have to start
);

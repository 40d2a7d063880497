// A shop with a table next to the tables of the store, in SQLite and in PostgreSQL. The same scenarios run on both.

import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import pg from "pg";
import { onTestFinished } from "vitest";
import { Perdure, type Client, type Registrable, type RuntimeOptions } from "../../../src/index.ts";
import { PostgresProvider, type PostgresOptions } from "../../../src/postgres/index.ts";
import { ownSchema } from "../../stores/postgres/support.ts";
import { postgres } from "../../support/postgres.ts";
import { temporaryFolder } from "../../faults/trouble/support.ts";

/** A transaction of the user. */
export interface UserTransaction {
  /** The value of the option `tx` of `start` and `raise`. */
  readonly tx: object;
  insert(id: string): Promise<void>;
  commit(): Promise<void>;
  rollback(): Promise<void>;
}
export interface Shop {
  readonly client: Client;
  /** The ids of the rows of the shop. */
  rows(): Promise<string[]>;
  begin(): Promise<UserTransaction>;
  /** A connection without an open transaction. */
  idle(): Promise<object>;
  /** Inserts a row inside the function of ctx.tx. Returns a promise if the database is asynchronous. */
  insert(tx: unknown, id: string): void | Promise<void>;
  /** Runs one statement inside the function of ctx.tx. */
  exec(tx: unknown, sql: string): void | Promise<void>;
}
export interface ShopOptions {
  readonly register?: readonly Registrable[];
  readonly runtime?: RuntimeOptions;
}
export type OpenShop = (options?: ShopOptions) => Promise<Shop>;

const QUIET: RuntimeOptions = { log: () => undefined };

/** Continues after a value that may be a promise, so that one function works in ctx.tx on both stores. */
export function after<T>(first: void | Promise<void>, next: () => T): T | Promise<T> {
  return first instanceof Promise ? first.then(next) : next();
}

export const sqliteShop: OpenShop = async ({ register = [], runtime = {} } = {}) => {
  const path = join(temporaryFolder(), "shop.db");
  const perdure = await Perdure.open(`sqlite:${path}`, {
    register,
    runtime: { ...QUIET, ...runtime },
  });
  const database = new DatabaseSync(path);
  database.exec("CREATE TABLE orders (id TEXT PRIMARY KEY, note TEXT) STRICT");
  onTestFinished(async () => {
    database.close();
    await perdure.close({ graceMs: 0 });
  });
  const add = (tx: DatabaseSync, id: string): void =>
    void tx.prepare("INSERT INTO orders (id) VALUES (?)").run(id);
  return {
    client: perdure.client,
    async rows() {
      const rows = database.prepare("SELECT id FROM orders ORDER BY id").all();
      return rows.map((row) => String(row["id"]));
    },
    async begin() {
      database.exec("BEGIN");
      return {
        tx: database,
        insert: async (id) => add(database, id),
        commit: async () => database.exec("COMMIT"),
        rollback: async () => database.exec("ROLLBACK"),
      };
    },
    idle: async () => database,
    insert: (tx, id) => add(tx as DatabaseSync, id),
    exec: (tx, sql) => (tx as DatabaseSync).exec(sql),
  };
};

export interface PostgresShop extends Shop {
  readonly provider: PostgresProvider;
  readonly url: string;
  /** The schema of the orders and of the store. */
  readonly schema: string;
  /** A client that is closed after the test. */
  connect(): Promise<pg.Client>;
}

/** `through` is the address that the store connects to, such as that of a proxy. */
export async function postgresShop({
  register = [],
  runtime = {},
  through,
  ...options
}: ShopOptions & PostgresOptions & { readonly through?: string } = {}): Promise<PostgresShop> {
  const { url, query } = await postgres();
  const schema = ownSchema();
  const provider = await PostgresProvider.open(through ?? url, {
    poolSize: 4,
    ...options,
    schema,
  });
  const perdure = await Perdure.open(provider, { register, runtime: { ...QUIET, ...runtime } });
  onTestFinished(async () => {
    await perdure.close({ graceMs: 0 });
    await provider.close();
  });
  await query(`CREATE TABLE ${schema}.orders (id text PRIMARY KEY, note text)`);
  const add = (tx: pg.ClientBase, id: string): Promise<unknown> =>
    tx.query(`INSERT INTO ${schema}.orders (id) VALUES ($1)`, [id]);
  const connect = async (): Promise<pg.Client> => {
    const client = new pg.Client(url);
    client.on("error", () => undefined);
    await client.connect();
    onTestFinished(() => client.end());
    return client;
  };
  return {
    client: perdure.client,
    provider,
    url,
    schema,
    connect,
    async rows() {
      const rows = await query(`SELECT id FROM ${schema}.orders ORDER BY id`);
      return rows.map(({ id }) => String(id));
    },
    async begin() {
      const client = await connect();
      await client.query("BEGIN");
      return {
        tx: client,
        insert: async (id) => void (await add(client, id)),
        commit: async () => void (await client.query("COMMIT")),
        rollback: async () => void (await client.query("ROLLBACK")),
      };
    },
    idle: connect,
    insert: async (tx, id) => void (await add(tx as pg.ClientBase, id)),
    exec: async (tx, sql) => void (await (tx as pg.ClientBase).query(sql)),
  };
}

export const SHOPS: readonly (readonly [string, OpenShop])[] = [
  ["SQLite", sqliteShop],
  ["PostgreSQL", postgresShop],
];

// A process that runs orchestrations with transactions until it is killed:
// node transactions/worker.ts sqlite PATH | postgres URL SCHEMA

import type { DatabaseSync } from "node:sqlite";
import type pg from "pg";
import { orchestration, Perdure } from "../../../src/index.ts";
import { PostgresProvider } from "../../../src/postgres/index.ts";
import { SqliteProvider } from "../../../src/sqlite/index.ts";

const [store, place = "", schema = ""] = process.argv.slice(2);

/** One transfer, with synchronous statements on SQLite and asynchronous ones on PostgreSQL. */
function transfer(tx: unknown, id: string, n: number): void | Promise<void> {
  if (store === "sqlite") {
    const database = tx as DatabaseSync;
    database.prepare("INSERT INTO moves (id, n) VALUES (?, ?)").run(id, n);
    database.exec("UPDATE accounts SET balance = balance - 1 WHERE id = 'from'");
    database.exec("UPDATE accounts SET balance = balance + 1 WHERE id = 'to'");
    return undefined;
  }
  const { query } = tx as pg.ClientBase;
  return (async () => {
    await query(`INSERT INTO ${schema}.moves (id, n) VALUES ($1, $2)`, [id, n]);
    await query(`UPDATE ${schema}.accounts SET balance = balance - 1 WHERE id = 'from'`);
    await query(`UPDATE ${schema}.accounts SET balance = balance + 1 WHERE id = 'to'`);
  })();
}

const transfers = orchestration("transfers", async (ctx, id: string) => {
  for (let n = 0; n < 10; n++) await ctx.tx(`transfer-${n}`, (tx) => transfer(tx, id, n));
  return id;
});

const provider =
  store === "sqlite"
    ? await SqliteProvider.open(place)
    : await PostgresProvider.open(place, { schema });
await Perdure.open(provider, {
  register: [transfers],
  runtime: { log: () => undefined, shadowReplay: "never" },
});
process.send?.("up");

// The bank's ledger: user tables in a separate database, unknown to the engine.
//   - One transaction writes every booking to two books: to the keyed books once per idempotency key, and to the
//       unkeyed books on every call. The surplus in the unkeyed books counts the duplicates that the keys prevented.

import { DatabaseSync } from "node:sqlite";
import { partsOf } from "../store-address.ts";

export const ACCOUNTS = 1_000;
export const OPENING_BALANCE = 1_000;

export interface Booking {
  /** The activity's idempotency key. */
  readonly key: string;
  readonly transfer: string;
  readonly what: "debit" | "credit" | "refund";
  readonly account: number;
  /** The change to the balance; negative for a debit. */
  readonly amount: number;
}
export type Booked = "booked" | "insufficient";

export interface Ledger {
  book(booking: Booking): Promise<Booked>;
  close(): Promise<void>;
}

/** In the SQL an @ precedes every table name; for SQLite `$1` becomes `?1`. */
const TABLES = [
  "CREATE TABLE @accounts (id integer PRIMARY KEY, balance integer NOT NULL)",
  `CREATE TABLE @bookings (key text PRIMARY KEY, transfer text NOT NULL, what text NOT NULL,
     account integer NOT NULL, amount integer NOT NULL)`,
  `CREATE TABLE @careless (transfer text NOT NULL, what text NOT NULL, account integer NOT NULL,
     amount integer NOT NULL)`,
];
const OPEN_ACCOUNT = `INSERT INTO @accounts VALUES ($1, ${OPENING_BALANCE})`;
const FIND = "SELECT 1 AS found FROM @bookings WHERE key = $1";
const BALANCE = "SELECT balance FROM @accounts WHERE id = $1";
const MOVE = "UPDATE @accounts SET balance = balance + $1 WHERE id = $2";
const NOTE = "INSERT INTO @bookings VALUES ($1, $2, $3, $4, $5)";
const NOTE_CARELESSLY = "INSERT INTO @careless VALUES ($1, $2, $3, $4)";

/** The address is `sqlite:<file>`, or a PostgreSQL URL with the schema as its fragment. */
export async function openLedger(address: string): Promise<Ledger> {
  return address.startsWith("sqlite:") ? sqliteLedger(address.slice(7)) : postgresLedger(address);
}

/** Creates the tables and opens the accounts. */
export async function foundBank(address: string): Promise<void> {
  if (address.startsWith("sqlite:")) {
    using database = new DatabaseSync(address.slice(7));
    database.exec("PRAGMA journal_mode = wal");
    database.exec("BEGIN");
    for (const table of TABLES) database.exec(table.replaceAll("@", ""));
    const open = database.prepare(inSqlite(OPEN_ACCOUNT));
    for (let id = 0; id < ACCOUNTS; id++) open.run(id);
    database.exec("COMMIT");
    return;
  }
  const { url, schema } = partsOf(address);
  const { default: pg } = await import("pg");
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(`CREATE SCHEMA ${schema}`);
  for (const table of TABLES) await client.query(inSchema(table, schema));
  for (let id = 0; id < ACCOUNTS; id++) await client.query(inSchema(OPEN_ACCOUNT, schema), [id]);
  await client.end();
}

function sqliteLedger(path: string): Ledger {
  const database = new DatabaseSync(path, { timeout: 10_000 });
  database.exec("PRAGMA synchronous = normal");
  const find = database.prepare(inSqlite(FIND));
  const balance = database.prepare(inSqlite(BALANCE));
  const move = database.prepare(inSqlite(MOVE));
  const note = database.prepare(inSqlite(NOTE));
  const noteCarelessly = database.prepare(inSqlite(NOTE_CARELESSLY));
  return {
    async book({ key, transfer, what, account, amount }) {
      database.exec("BEGIN IMMEDIATE");
      const isDone = find.get(key) !== undefined;
      if (!isDone && Number(balance.get(account)?.["balance"]) + amount < 0) {
        database.exec("ROLLBACK");
        return "insufficient";
      }
      noteCarelessly.run(transfer, what, account, amount);
      if (!isDone) {
        note.run(key, transfer, what, account, amount);
        move.run(amount, account);
      }
      database.exec("COMMIT");
      return "booked";
    },
    close: async () => database.close(),
  };
}

async function postgresLedger(address: string): Promise<Ledger> {
  const { url, schema } = partsOf(address);
  const { default: pg } = await import("pg");
  const pool = new pg.Pool({ connectionString: url, max: 4 });
  const sql = (text: string): string => inSchema(text, schema);
  return {
    async book({ key, transfer, what, account, amount }) {
      const client = await pool.connect();
      try {
        await client.query("BEGIN");
        // The account's row is the lock: a concurrent call for the same booking waits here.
        const held = await client.query<{ balance: number }>(sql(`${BALANCE} FOR UPDATE`), [
          account,
        ]);
        const isDone = (await client.query(sql(FIND), [key])).rows.length > 0;
        if (!isDone && Number(held.rows[0]?.balance) + amount < 0) {
          await client.query("ROLLBACK");
          return "insufficient";
        }
        await client.query(sql(NOTE_CARELESSLY), [transfer, what, account, amount]);
        if (!isDone) {
          await client.query(sql(NOTE), [key, transfer, what, account, amount]);
          await client.query(sql(MOVE), [amount, account]);
        }
        await client.query("COMMIT");
        return "booked";
      } finally {
        client.release();
      }
    },
    close: () => pool.end(),
  };
}

function inSqlite(sql: string): string {
  return sql.replaceAll("@", "").replaceAll("$", "?");
}

function inSchema(sql: string, schema: string): string {
  return sql.replaceAll("@", `${schema}.`);
}

// Borrowed transactions: run statements in a transaction of the user, and never end it (semantics 31).
//   - borrowed-transaction.1: The transaction must be open: two statements must see the same transaction
//     id. This rejects a pool, which would run each statement in a separate transaction, and a client
//     without BEGIN.
//   - The transaction must see this store: the same database, the same table, the same creation time.
//   - borrowed-transaction.2: A client of `pg` gets the statements together, in one round trip. Any other
//     object gets them one by one, with only texts as values: every driver can send those, and every
//     library passes them on.
//   - Perdure changes no setting of the transaction that the user's statements could notice.

import type pg from "pg";
import { unusableTransaction } from "../../core/provider/transactions.ts";
import { only, text, type Row } from "../../sql/columns.ts";
import { Subject } from "../connection/subject.ts";
import { isRefused, sqlState, toPerdureError } from "../connection/errors.ts";
import { rowsOf, type Pipeline, type Statement, type Value } from "../connection/pipeline.ts";
import type { WireValue } from "../connection/wire.ts";
import type { PostgresTransaction } from "./adapters.ts";

/** The user's connection, for the duration of one call to Perdure. */
export interface BorrowedTransaction {
  run(pipeline: Pipeline): Promise<void>;
  ask(statement: Statement, values?: readonly Value[]): Promise<Row[]>;
}

/** SQL of the columns that identify this store. */
const STORE_IDENTITY = `
  m.tableoid AS meta_table, m.value AS created_at,
  (SELECT d.oid FROM pg_database AS d WHERE d.datname = current_database()) AS database
  FROM @meta AS m WHERE m.name = 'created_at'`;
/** The longest timer there is: the settings of the user's connection limit how long a statement may take. */
const NO_TIMEOUT_MS = 2 ** 31 - 1;

export class BorrowedTransactions extends Subject {
  readonly #look = this.prepare(`SELECT ${STORE_IDENTITY}`);
  readonly #enter = this.prepare(`
    SELECT set_config('perdure.now', $1, true) AS now, pg_current_xact_id()::text AS number,
      current_setting('transaction_read_only') AS read_only, ${STORE_IDENTITY}`);
  readonly #guard = this.prepare(`
    SELECT @refuse('no transaction') AS refused
    WHERE pg_current_xact_id_if_assigned()::text IS DISTINCT FROM $1::text`);
  #identity: Promise<string> | null = null;

  /** Throws INVALID_ARGUMENT unless `transaction` is an open transaction that sees this store. */
  async enter(transaction: unknown): Promise<BorrowedTransaction> {
    if (!isTransaction(transaction)) {
      const wanted =
        "a pg client with an open transaction, or made by fromDrizzle, fromKysely or fromPrisma";
      throw unusableTransaction(`tx must be ${wanted}; got ${typeof transaction}`);
    }
    const borrowed = borrow(transaction);
    const identity = await this.#ownIdentity();
    const { transactionTime } = this.connection.clock;
    const row = await translateEntry(async () =>
      only(await borrowed.ask(this.#enter, [transactionTime])),
    );
    if (identityIn(row) !== identity) {
      throw unusableTransaction(
        "tx must be open on the database of this store; it is open on another database or schema",
      );
    }
    if (text(row, "read_only") !== "off")
      throw unusableTransaction("its transaction must not be read-only");
    await translateEntry(() => borrowed.ask(this.#guard, [text(row, "number")])); // borrowed-transaction.1
    return borrowed;
  }

  async #ownIdentity(): Promise<string> {
    const identity = (this.#identity ??= this.connection
      .read(this.#look)
      .then((rows) => identityIn(only(rows))));
    identity.catch(() => (this.#identity = null));
    return identity;
  }
}

function isTransaction(value: unknown): value is PostgresTransaction {
  return (
    typeof value === "object" &&
    value !== null &&
    "query" in value &&
    typeof value.query === "function"
  );
}

/**
 * Whether it is a client of `pg` (borrowed-transaction.2). A client in pipeline mode is excluded: it sends
 * statements before the previous result has arrived, and would mix Perdure's statements with the user's.
 */
function isDriver(value: object): value is pg.ClientBase {
  if (!("connection" in value) || ("pipeline" in value && value.pipeline === true)) return false;
  const { connection } = value;
  return typeof connection === "object" && connection !== null && "parse" in connection;
}

function borrow(transaction: PostgresTransaction): BorrowedTransaction {
  const run = isDriver(transaction)
    ? (pipeline: Pipeline) => pipeline.run(transaction, { prepare: false, answerMs: NO_TIMEOUT_MS })
    : (pipeline: Pipeline) => runOneByOne(transaction, pipeline);
  const runAndTranslate = async (pipeline: Pipeline): Promise<void> => {
    try {
      await run(pipeline);
    } catch (error) {
      throw toPerdureError(rootOf(error));
    }
  };
  return {
    run: runAndTranslate,
    ask: (statement, values) => rowsOf(runAndTranslate, statement, values),
  };
}

async function runOneByOne(transaction: PostgresTransaction, pipeline: Pipeline): Promise<void> {
  for (const { statement, values, answer } of pipeline.steps) {
    const { rows } = await transaction.query(asTexts(statement), values.map(asText));
    for (const row of rows) answer.rows.push(toRow(row));
    answer.count = rows.length;
  }
}

/** The statement with every parameter declared as text; PostgreSQL casts it from there. */
function asTexts({ text: sql }: Statement): string {
  return sql.replaceAll(/\$\d+/g, "$&::text");
}

function asText(value: string | WireValue | null): string | null {
  return typeof value === "object" && value !== null ? value.toLiteral() : value;
}

/** Converts the driver's values back to the text that the server sent (columns.1). */
function toRow(row: unknown): Row {
  const texts = Object.entries(row ?? {}).map(([name, value]): [string, string | null] => {
    if (value === null || value === undefined) return [name, null];
    if (typeof value === "boolean") return [name, value ? "t" : "f"];
    return [name, String(value)];
  });
  return Object.fromEntries(texts);
}

function identityIn(row: Row): string {
  return `${text(row, "database")}/${text(row, "meta_table")}/${text(row, "created_at")}`;
}

/** The database's error: libraries wrap it in their own errors. */
function rootOf(error: unknown): unknown {
  let root = error;
  for (let depth = 0; depth < 10 && root instanceof Error; depth++) {
    if (sqlState(root) !== undefined || root.cause === undefined) break;
    root = root.cause;
  }
  return root;
}

/** SQLSTATEs: a table, schema or function does not exist, or the role may not use it. */
const INVISIBLE: ReadonlySet<string | undefined> = new Set(["42P01", "3F000", "42883", "42501"]);

/** Translates errors of the first statements: a transaction that cannot be used is an INVALID_ARGUMENT. */
async function translateEntry<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    const { cause } = error instanceof Error ? error : {};
    if (isRefused(cause))
      throw unusableTransaction("tx has no open transaction; run BEGIN first", cause);
    const state = sqlState(cause);
    if (state === "25P02")
      throw unusableTransaction("its transaction has failed; roll it back", cause);
    if (INVISIBLE.has(state)) {
      throw unusableTransaction(
        "tx cannot see the tables of this store: it is open on another database, or its role lacks privileges",
        cause,
      );
    }
    if (cause instanceof Error && /was closed|released/i.test(cause.message)) {
      throw unusableTransaction("tx is closed", cause);
    }
    throw error;
  }
}

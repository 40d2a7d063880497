// Lent transactions: a user's own, on which statements of ours are run and nothing is ended (semantics 31).
//   LE1. It is taken if it is open: a number of it that is asked for twice is the same. So neither a pool, which would
//        run each statement by itself, nor a client without BEGIN is.
//   LE2. It is taken if it sees this very store: the same database, the same table, the same birth.
//   LE3. A client of `pg` gets our statements together, in one round trip. Whatever else can run a statement gets them
//        one by one, with nothing but texts as values: any driver can send those, and any library hand them on.
//   LE4. No setting of the transaction is changed that a statement of the user's could notice.

import type pg from "pg";
import { PerdureError } from "../core/errors.ts";
import { literalOf } from "./column-arrays.ts";
import { only, text, type Row } from "./columns.ts";
import type { Connection } from "./connection.ts";
import { isRefused, sqlState, toPerdureError } from "./errors.ts";
import { Pipeline, type Statement, type Value } from "./pipeline.ts";
import type { PostgresTransaction } from "./adapters.ts";

/** The user's connection, as long as one call of ours lasts. */
export interface Lent {
  run(pipeline: Pipeline): Promise<void>;
  ask(statement: Statement, values?: readonly Value[]): Promise<Row[]>;
}

/** What tells one store from any other. */
const PLACE = `
  m.tableoid AS place, m.value AS birth,
  (SELECT d.oid FROM pg_database AS d WHERE d.datname = current_database()) AS database
  FROM @meta AS m WHERE m.name = 'created_at'`;
/** As long as a timer can be set for: the user's own settings say how long a statement may take. */
const NO_HURRY_MS = 2 ** 31 - 1;

export class Lending {
  readonly #connection: Connection;
  readonly #look: Statement;
  readonly #enter: Statement;
  readonly #guard: Statement;
  #place: Promise<string> | null = null;

  constructor(connection: Connection) {
    this.#connection = connection;
    this.#look = connection.prepare(`SELECT ${PLACE}`);
    this.#enter = connection.prepare(`
      SELECT set_config('perdure.now', $1, true) AS now, pg_current_xact_id()::text AS number,
        current_setting('transaction_read_only') AS read_only, ${PLACE}`);
    this.#guard = connection.prepare(`
      SELECT @refuse('no transaction') AS refused
      WHERE pg_current_xact_id_if_assigned()::text IS DISTINCT FROM $1::text`);
  }

  /** INVALID_ARGUMENT unless it is an open transaction that sees this store. */
  async enter(transaction: unknown): Promise<Lent> {
    if (!isTransaction(transaction)) {
      throw invalid("tx is a client of pg with a transaction open, or made by an adapter");
    }
    const lent = lend(transaction);
    const place = await this.#placeOf();
    const { given } = this.#connection.clock;
    const row = await entered(async () => only(await lent.ask(this.#enter, [given])));
    if (placeIn(row) !== place) throw invalid("tx is open on another database or store");
    if (text(row, "read_only") !== "off") throw invalid("its transaction is read-only");
    await entered(() => lent.ask(this.#guard, [text(row, "number")])); // LE1
    return lent;
  }

  async #placeOf(): Promise<string> {
    const place = (this.#place ??= this.#connection
      .read(this.#look)
      .then((rows) => placeIn(only(rows))));
    place.catch(() => (this.#place = null));
    return place;
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

/** LE3. A client that sends what it is given before the last answer is there would mix our statements with others. */
function isDriver(value: object): value is pg.ClientBase {
  if (!("connection" in value) || ("pipeline" in value && value.pipeline === true)) return false;
  const { connection } = value;
  return typeof connection === "object" && connection !== null && "parse" in connection;
}

function lend(transaction: PostgresTransaction): Lent {
  const run = isDriver(transaction)
    ? (pipeline: Pipeline) => pipeline.run(transaction, { prepare: false, answerMs: NO_HURRY_MS })
    : (pipeline: Pipeline) => oneByOne(transaction, pipeline);
  const told = async (pipeline: Pipeline): Promise<void> => {
    try {
      await run(pipeline);
    } catch (error) {
      throw toPerdureError(rootOf(error));
    }
  };
  return {
    run: told,
    async ask(statement, values = []) {
      const pipeline = new Pipeline();
      const answer = pipeline.add(statement, values);
      await told(pipeline);
      return answer.rows;
    },
  };
}

async function oneByOne(transaction: PostgresTransaction, pipeline: Pipeline): Promise<void> {
  for (const { statement, values, answer } of pipeline.steps) {
    const { rows } = await transaction.query(asTexts(statement), values.map(asText));
    for (const row of rows) answer.rows.push(toRow(row));
    answer.count = rows.length;
  }
}

/** A statement whose parameters are all texts, whatever they are made into. */
function asTexts({ text: sql }: Statement): string {
  return sql.replaceAll(/\$\d+/g, "$&::text");
}

function asText(value: string | Buffer | null): string | null {
  return Buffer.isBuffer(value) ? literalOf(value) : value;
}

/** As the server itself would have written it (C1 of columns.ts). */
function toRow(row: unknown): Row {
  const texts = Object.entries(row ?? {}).map(([name, value]): [string, string | null] => {
    if (value === null || value === undefined) return [name, null];
    if (typeof value === "boolean") return [name, value ? "t" : "f"];
    return [name, String(value)];
  });
  return Object.fromEntries(texts);
}

function placeIn(row: Row): string {
  return `${text(row, "database")}/${text(row, "place")}/${text(row, "birth")}`;
}

/** Libraries put what the database said into errors of their own. */
function rootOf(error: unknown): unknown {
  let root = error;
  for (let depth = 0; depth < 10 && root instanceof Error; depth++) {
    if (sqlState(root) !== undefined || root.cause === undefined) break;
    root = root.cause;
  }
  return root;
}

const NOT_HERE: ReadonlySet<string | undefined> = new Set(["42P01", "3F000", "42883", "42501"]);

/** What keeps a transaction from being taken at all is the caller's doing, unless the network's. */
async function entered<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    const { cause } = error instanceof Error ? error : {};
    if (isRefused(cause)) throw invalid("tx has no transaction open: BEGIN first", cause);
    const state = sqlState(cause);
    if (state === "25P02") throw invalid("its transaction has failed: roll it back", cause);
    if (NOT_HERE.has(state)) {
      throw invalid("tx sees no table of this store: another database, or too few rights", cause);
    }
    if (cause instanceof Error && /was closed|released/i.test(cause.message)) {
      throw invalid("tx is closed", cause);
    }
    throw error;
  }
}

function invalid(why: string, cause?: unknown): PerdureError {
  const message = `Cannot write within a transaction: ${why}.`;
  return new PerdureError("INVALID_ARGUMENT", message, cause === undefined ? {} : { cause });
}

// Freeze: the mark of a store that takes part in a move, and what keeps everybody else from writing to it.
//   FZ1. The table of the mark and the triggers are made when a store is marked, and gone when it is not: a store
//        that never moves pays nothing for them. A trigger holds for every process, whatever its version or role.
//        Making one takes the tables' owner.
//   FZ2. Whoever marks a store holds its tables against every writer, and has looked that no runtime has a row.
//        Whoever marks, unmarks or copies takes one lock first, so that no two of them wait for each other.
//   FZ3. The copy itself says in its transactions which move it is; the triggers let it pass.

import { PerdureError } from "../core/errors.ts";
import {
  TRANSFER_TABLES,
  toldByMark,
  type ClearRequest,
  type MoveMark,
} from "../core/provider/transfer.ts";
import { integer, text, textOrNull, word } from "./columns.ts";
import type { Connection, Statements } from "./connection.ts";
import { MOVED } from "./errors.ts";
import { Statement } from "./pipeline.ts";

/** Tables of PostgreSQL's that hold what moves. */
export const MOVED_TABLES = TRANSFER_TABLES.map(({ name }) => name);
const TABLES = [...MOVED_TABLES, "arrivals", "runtimes"];

export class Freeze {
  readonly #connection: Connection;
  readonly #alone: readonly [Statement, readonly [string]];
  readonly #exists: Statement;
  readonly #select: Statement;
  readonly #lock: Statement;
  readonly #create: Statement;
  readonly #upsert: Statement;
  readonly #note: Statement;
  readonly #pass: Statement;

  constructor(connection: Connection) {
    this.#connection = connection;
    const alone = new Statement("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))");
    this.#alone = [alone, [`${connection.schema}:move`]];
    this.#exists = connection.prepare("SELECT to_regclass('@move') IS NOT NULL AS found");
    this.#select = connection.prepare(
      "SELECT id, role, state, other, at, progress FROM @move LIMIT 1",
    );
    const tables = TABLES.map((table) => `@${table}`).join(", ");
    this.#lock = connection.prepare(`LOCK TABLE ${tables} IN SHARE ROW EXCLUSIVE MODE`);
    this.#create = connection.prepare(`
      CREATE TABLE IF NOT EXISTS @move (
        id text PRIMARY KEY, role text NOT NULL, state text NOT NULL, other text NOT NULL,
        at bigint NOT NULL, progress text)`);
    this.#upsert = connection.prepare(`
      INSERT INTO @move (id, role, state, other, at) VALUES ($1, $2, $3, $4, (SELECT @clock()))
      ON CONFLICT (id) DO UPDATE SET state = excluded.state, other = excluded.other`);
    this.#note = connection.prepare("UPDATE @move SET progress = $2 WHERE id = $1");
    this.#pass = new Statement("SELECT set_config('perdure.move', $1, true)");
  }

  async read(statements: Pick<Statements, "run">): Promise<MoveMark | null> {
    const [exists] = await statements.run(this.#exists);
    if (exists?.["found"] !== "t") return null;
    const [row] = await statements.run(this.#select);
    if (row === undefined) return null;
    return {
      id: text(row, "id"),
      role: word(row, "role", ["source", "target"]),
      state: word(row, "state", ["moving", "moved", "broken"]),
      other: text(row, "other"),
      at: integer(row, "at"),
      progress: textOrNull(row, "progress"),
    };
  }

  async set(statements: Statements, mark: Omit<MoveMark, "at" | "progress">): Promise<void> {
    await statements.run(...this.#alone);
    await statements.run(this.#lock);
    const found = await this.read(statements);
    if (found !== null && found.id !== mark.id) {
      throw new PerdureError("STORE_MOVED", toldByMark(found));
    }
    if (await this.#holds(statements, "runtimes")) {
      throw new PerdureError("STORE_IN_USE", "A runtime is registered on the PostgreSQL store.");
    }
    if (found === null && (await this.#holds(statements, "arrivals"))) {
      const why = "events of users' transactions are still on their way into inboxes; try again";
      throw new PerdureError("STORE_IN_USE", `The PostgreSQL store is at work: ${why}.`);
    }
    if (found === null && mark.role === "target") await this.#assertEmpty(statements);
    await statements.run(this.#create);
    await statements.run(this.#upsert, [mark.id, mark.role, mark.state, mark.other]);
    for (const statement of this.#freezing(mark)) await statements.run(statement);
  }

  async unset(statements: Statements, id: string, progress?: string): Promise<void> {
    await statements.run(...this.#alone);
    await statements.run(this.#lock);
    const found = await this.read(statements);
    if (found?.id !== id) return;
    if (progress !== undefined && progress !== found.progress) throw taken();
    const { schema } = this.#connection;
    await statements.run(new Statement(`DROP FUNCTION ${schema}.frozen() CASCADE`));
    await statements.run(new Statement(`DROP TABLE ${schema}.move`));
  }

  /** As the move of that id; what the copy has come to is noted with it (TR3). */
  async pass(statements: Statements, { move, before, after }: ClearRequest): Promise<void> {
    await statements.run(...this.#alone);
    const mark = await this.read(statements);
    if (mark?.id !== move || mark.role !== "target") throw taken();
    if (before !== undefined && mark.progress !== before) throw taken();
    await statements.run(this.#note, [move, after]);
    await statements.run(this.#pass, [move]);
  }

  /** The words are the function's own: whoever is refused need not be allowed to read the mark. */
  #freezing(mark: Omit<MoveMark, "at" | "progress">): Statement[] {
    const { schema } = this.#connection;
    const body = `
      BEGIN
        IF current_setting('perdure.move', true) = ${literal(mark.id)} THEN
          IF TG_OP = 'DELETE' THEN RETURN OLD; END IF;
          RETURN NEW;
        END IF;
        RAISE EXCEPTION '%', ${literal(toldByMark(mark))} USING ERRCODE = '${MOVED}';
      END`;
    const making = `CREATE OR REPLACE FUNCTION ${schema}.frozen() RETURNS trigger LANGUAGE plpgsql AS ${literal(body)}`;
    const triggers = TABLES.map(
      (table) => `
        CREATE OR REPLACE TRIGGER frozen BEFORE INSERT OR UPDATE OR DELETE ON ${schema}.${table}
        FOR EACH ROW EXECUTE FUNCTION ${schema}.frozen()`,
    );
    return [making, ...triggers].map((sql) => new Statement(sql));
  }

  async #assertEmpty(statements: Statements): Promise<void> {
    for (const table of MOVED_TABLES) {
      if (!(await this.#holds(statements, table))) continue;
      const message = `The PostgreSQL store is not empty: there are rows in ${table}. Move to a new one.`;
      throw new PerdureError("STORE_NOT_EMPTY", message);
    }
  }

  async #holds(statements: Statements, table: string): Promise<boolean> {
    const sql = `SELECT 1 AS one FROM @${table} LIMIT 1`;
    return (await statements.run(this.#connection.prepare(sql))).length > 0;
  }
}

function taken(): PerdureError {
  return new PerdureError("STORE_IN_USE", "Another process is at work on this move.");
}

function literal(words: string): string {
  return `'${words.replaceAll("'", "''")}'`;
}

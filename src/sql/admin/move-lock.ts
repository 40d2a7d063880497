// Move lock: the mark on a store that is being moved, and the triggers that reject every other write to it.
//   - The mark's table and the triggers are created when a store is marked and dropped when it is unmarked:
//       a store that never moves pays nothing for them. A trigger applies to every process, whatever its
//       version.
//   - The transaction that sets the mark also checks that no runtime is registered; afterwards none can
//       register.

import { PerdureError } from "../../core/errors/errors.ts";
import {
  TRANSFER_TABLES,
  moveMarkMessage,
  type ClearRequest,
  type MoveMark,
} from "../../core/provider/transfer.ts";
import { integer, text, textOrNull, word } from "../columns.ts";
import { first, run, type Script } from "../script/script.ts";
import { Statement } from "../script/statement.ts";

export type NewMark = Omit<MoveMark, "at" | "progress">;

/** What differs between the stores. */
export interface MoveParts {
  /** The name of the store in messages. */
  readonly title: string;
  /** Returns a row if the table of the mark exists. */
  readonly findTable: Statement;
  /** Waits for other calls of a move. "tables": also locks the tables against every other writer. */
  lock(what?: "tables"): Script<void>;
  /** Throws if the store refuses to be marked now. */
  assertMovable(): Script<void>;
  /** Creates the triggers that reject other writers, or replaces them. */
  freeze(mark: NewMark): Script<void>;
  unfreeze(): Script<void>;
  /** Runs `work` as the copy of this move, which the triggers let pass. */
  asCopy(mark: MoveMark, work: () => Script<void>): Script<void>;
}

/** The tables whose rows are moved. */
export const MOVED_TABLES = TRANSFER_TABLES.map(({ name }) => name);

const SELECT = new Statement("SELECT id, role, state, other, at, progress FROM @move LIMIT 1");
const CREATE = new Statement(`
  CREATE TABLE IF NOT EXISTS @move (
    id text PRIMARY KEY, role text NOT NULL, state text NOT NULL, other text NOT NULL,
    at bigint NOT NULL, progress text)`);
const UPSERT = new Statement(`
  INSERT INTO @move (id, role, state, other, at) VALUES ($1, $2, $3, $4, @now)
  ON CONFLICT (id) DO UPDATE SET state = excluded.state, other = excluded.other`);
const NOTE = new Statement("UPDATE @move SET progress = $2 WHERE id = $1");
const DROP = new Statement("DROP TABLE @move");
const FIND_ROW: ReadonlyMap<string, Statement> = new Map(
  [...MOVED_TABLES, "runtimes"].map((table) => [
    table,
    new Statement(`SELECT 1 AS found FROM @${table} LIMIT 1`),
  ]),
);

export class MoveLock {
  readonly #parts: MoveParts;

  constructor(parts: MoveParts) {
    this.#parts = parts;
  }

  *read(): Script<MoveMark | null> {
    if ((yield* first(this.#parts.findTable)) === undefined) return null;
    const row = yield* first(SELECT);
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

  *set(mark: NewMark): Script<void> {
    const { title } = this.#parts;
    yield* this.#parts.lock("tables");
    const found = yield* this.read();
    if (found !== null && found.id !== mark.id) {
      throw new PerdureError("STORE_MOVED", moveMarkMessage(found));
    }
    if (yield* hasRows("runtimes")) {
      const message = `A runtime is registered on the ${title} store. Stop every worker first.`;
      throw new PerdureError("STORE_IN_USE", message);
    }
    if (found === null) yield* this.#parts.assertMovable();
    if (found === null && mark.role === "target") yield* this.#assertEmpty();
    yield* run(CREATE);
    yield* run(UPSERT, mark.id, mark.role, mark.state, mark.other);
    yield* this.#parts.freeze(mark);
  }

  *unset(id: string, progress?: string): Script<void> {
    yield* this.#parts.lock("tables");
    const found = yield* this.read();
    if (found?.id !== id) return;
    if (progress !== undefined && progress !== found.progress) throw otherMover();
    yield* this.#parts.unfreeze();
    yield* run(DROP);
  }

  /** Writes as the copy of this move. Stores the progress with it (provider.transfer.2). */
  *writeAsCopy(request: ClearRequest, work: () => Script<void>): Script<void> {
    const { move, before, after } = request;
    yield* this.#parts.lock();
    const mark = yield* this.read();
    if (mark?.id !== move || mark.role !== "target") throw otherMover();
    if (before !== undefined && mark.progress !== before) throw otherMover();
    yield* run(NOTE, move, after);
    yield* this.#parts.asCopy(mark, work);
  }

  *#assertEmpty(): Script<void> {
    for (const table of MOVED_TABLES) {
      if (!(yield* hasRows(table))) continue;
      const message = `The ${this.#parts.title} store is not empty: table ${table} has rows. Move to a new store.`;
      throw new PerdureError("STORE_NOT_EMPTY", message);
    }
  }
}

function* hasRows(table: string): Script<boolean> {
  const statement = FIND_ROW.get(table);
  return statement !== undefined && (yield* first(statement)) !== undefined;
}

function otherMover(): PerdureError {
  return new PerdureError("STORE_IN_USE", "Another process is running this move.");
}

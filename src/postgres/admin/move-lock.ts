// Move lock of PostgreSQL: how a store is frozen (sql/admin/move-lock.ts).
//   - The transaction that sets the mark locks the tables against every writer. Marking, unmarking and
//       copying take one advisory lock first, so that no two of them deadlock.
//   - Only the owner of the tables can create triggers. They apply to every role.
//   - The copy names its move in its transactions, and the triggers let it pass.

import { PerdureError } from "../../core/errors/errors.ts";
import { moveMarkMessage } from "../../core/provider/transfer.ts";
import { MOVED_TABLES, type MoveParts, type NewMark } from "../../sql/admin/move-lock.ts";
import { first, run } from "../../sql/script/script.ts";
import { Statement as SharedStatement } from "../../sql/script/statement.ts";
import type { Connection } from "../connection/connection.ts";
import { MOVED } from "../connection/errors.ts";
import { Pipeline, Statement } from "../connection/pipeline.ts";

const TABLES = [...MOVED_TABLES, "arrivals", "runtimes"];

const FIND_TABLE = new SharedStatement("SELECT 1 AS found WHERE to_regclass('@move') IS NOT NULL");
const LOCK_MOVE = new SharedStatement("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))");
const LOCK_TABLES = new SharedStatement(`
  LOCK TABLE ${TABLES.map((table) => `@${table}`).join(", ")} IN SHARE ROW EXCLUSIVE MODE`);
const FIND_ARRIVAL = new SharedStatement("SELECT 1 AS found FROM @arrivals LIMIT 1");
const PASS = new SharedStatement("SELECT set_config('perdure.move', $1, true)");

export function moveParts(connection: Connection): MoveParts {
  const { schema } = connection;
  return {
    title: "PostgreSQL",
    findTable: FIND_TABLE,
    *lock(what) {
      yield* run(LOCK_MOVE, `${schema}:move`);
      if (what === "tables") yield* run(LOCK_TABLES);
    },
    *assertMovable() {
      if ((yield* first(FIND_ARRIVAL)) === undefined) return;
      const why = "events from user transactions have not reached their inboxes yet. Try again";
      throw new PerdureError("STORE_IN_USE", `The PostgreSQL store is in use: ${why}.`);
    },
    *freeze(mark) {
      yield new Pipeline(...triggers(schema, mark));
    },
    *unfreeze() {
      yield new Pipeline(new Statement(`DROP FUNCTION ${schema}.frozen() CASCADE`));
    },
    *asCopy({ id }, work) {
      yield* run(PASS, id);
      yield* work();
    },
  };
}

/** The function holds its message, so that a rejected role needs no right to read the mark. */
function triggers(schema: string, mark: NewMark): Statement[] {
  const body = `
    BEGIN
      IF current_setting('perdure.move', true) = ${literal(mark.id)} THEN
        IF TG_OP = 'DELETE' THEN RETURN OLD; END IF;
        RETURN NEW;
      END IF;
      RAISE EXCEPTION '%', ${literal(moveMarkMessage(mark))} USING ERRCODE = '${MOVED}';
    END`;
  const making = `CREATE OR REPLACE FUNCTION ${schema}.frozen() RETURNS trigger LANGUAGE plpgsql AS ${literal(body)}`;
  const created = TABLES.map(
    (table) => `
      CREATE OR REPLACE TRIGGER frozen BEFORE INSERT OR UPDATE OR DELETE ON ${schema}.${table}
      FOR EACH ROW EXECUTE FUNCTION ${schema}.frozen()`,
  );
  return [making, ...created].map((sql) => new Statement(sql));
}

function literal(words: string): string {
  return `'${words.replaceAll("'", "''")}'`;
}

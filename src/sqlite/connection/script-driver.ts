// Script driver: runs scripts (sql/script/script.ts) on a connection, synchronously inside the transaction
// that the caller has opened.

import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { Script } from "../../sql/script/script.ts";
import type { Answer, Call, Statement, Value } from "../../sql/script/statement.ts";
import { translate } from "./translate.ts";

interface Prepared {
  readonly statement: StatementSync;
  readonly needsNow: boolean;
  readonly returnsRows: boolean;
}

export class ScriptDriver {
  readonly #database: DatabaseSync;
  readonly #prepared = new WeakMap<Statement, Prepared>();

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  run<T>(script: Script<T>, now: number): T {
    let step = script.next([]);
    while (step.done !== true) {
      const { value } = step;
      if ("isNative" in value) throw new Error("SQLite cannot run a step of another store.");
      step = script.next(value.map((call) => this.#answer(call, now)));
    }
    return step.value;
  }

  #answer({ statement, values }: Call, now: number): Answer {
    const { statement: prepared, needsNow, returnsRows } = this.#prepare(statement);
    const bound = values.map(toBound);
    if (needsNow) bound.push(now);
    if (!returnsRows) return { rows: [], count: Number(prepared.run(...bound).changes) };
    const rows = prepared.all(...bound);
    return { rows, count: rows.length };
  }

  #prepare(statement: Statement): Prepared {
    let prepared = this.#prepared.get(statement);
    if (prepared === undefined) {
      const { sql, needsNow } = translate(statement.text);
      const own = this.#database.prepare(sql);
      prepared = { statement: own, needsNow, returnsRows: own.columns().length > 0 };
      this.#prepared.set(statement, prepared);
    }
    return prepared;
  }
}

function toBound(value: Value): string | number | null {
  if (typeof value === "boolean") return value ? 1 : 0;
  return typeof value === "object" && value !== null ? JSON.stringify(value) : value;
}

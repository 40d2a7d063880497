// Script driver: runs scripts (sql/script/script.ts) on PostgreSQL.
//   - Each step of a script is one pipeline.
//   - A shared statement gets the schema's name once per store; `SharedStatements` keeps the result.

import type { Script } from "../../sql/script/script.ts";
import type {
  Answer,
  Call,
  Statement as SharedStatement,
  Value as SharedValue,
} from "../../sql/script/statement.ts";
import type { Connection } from "./connection.ts";
import { plain, texts } from "../sql/column-arrays.ts";
import { Pipeline, type Statement, type Value } from "./pipeline.ts";

export class SharedStatements {
  readonly #connection: Pick<Connection, "prepare">;
  readonly #known = new WeakMap<SharedStatement, Statement>();

  constructor(connection: Pick<Connection, "prepare">) {
    this.#connection = connection;
  }

  get(shared: SharedStatement): Statement {
    let statement = this.#known.get(shared);
    if (statement === undefined) {
      statement = this.#connection.prepare(shared.text);
      this.#known.set(shared, statement);
    }
    return statement;
  }
}

/** Runs a script; `send` runs one pipeline of it. */
export async function runScript<T>(
  script: Script<T>,
  statements: SharedStatements,
  send: (pipeline: Pipeline) => Promise<void>,
): Promise<T> {
  let step = script.next([]);
  while (step.done !== true) {
    const { value } = step;
    if (value instanceof Pipeline) {
      await send(value);
      step = script.next([]);
    } else if ("isNative" in value) {
      throw new Error("PostgreSQL cannot run a step of another store.");
    } else {
      const pipeline = new Pipeline();
      const answers = addCalls(pipeline, value, statements);
      await send(pipeline);
      step = script.next(answers);
    }
  }
  return step.value;
}

/** Adds calls of shared statements to a pipeline. Running the pipeline fills their answers. */
export function addCalls(
  pipeline: Pipeline,
  calls: readonly Call[],
  statements: SharedStatements,
): readonly Answer[] {
  return calls.map(({ statement, values }) =>
    pipeline.add(statements.get(statement), values.map(toValue)),
  );
}

function toValue(value: SharedValue): Value {
  if (typeof value !== "object" || value === null) return value;
  return typeof value[0] === "string" ? texts(value) : plain(value);
}

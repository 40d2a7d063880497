// Statements: an open transaction, and the ways in which statements are run in it.

import type { Row } from "../../sql/columns.ts";
import type { Script } from "../../sql/script/script.ts";
import { rowsOf, type Pipeline, type Statement, type Value } from "./pipeline.ts";
import { runScript, type SharedStatements } from "./script-driver.ts";

export interface Statements {
  /** The store's time when the transaction began. */
  readonly now: number;
  run(statement: Statement, values?: readonly Value[]): Promise<Row[]>;
  all(pipeline: Pipeline): Promise<void>;
  script<T>(script: Script<T>): Promise<T>;
}

export function statementsOn(
  send: (pipeline: Pipeline) => Promise<void>,
  now: number,
  shared: SharedStatements,
): Statements {
  const all = (pipeline: Pipeline): Promise<void> =>
    pipeline.isEmpty ? Promise.resolve() : send(pipeline);
  return {
    now,
    all,
    run: (statement, values) => rowsOf(all, statement, values),
    script: (script) => runScript(script, shared, all),
  };
}

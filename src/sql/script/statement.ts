// Statement: SQL text that both stores run.
//   - statement.1: The text is PostgreSQL's SQL, restricted to what SQLite's driver can translate
//     (sqlite/connection/translate.ts). Tables are named `@instances`, parameters `$1`, and the time of the
//     store `@now`.
//   - Statements are constants of their modules. Each driver prepares a statement once per connection.

import type { Row } from "../columns.ts";

export type Value = string | number | boolean | null | readonly number[] | readonly string[];

export class Statement {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** A statement with the values of its parameters. */
export interface Call {
  readonly statement: Statement;
  readonly values: readonly Value[];
}

export interface Answer {
  readonly rows: readonly Row[];
  /** How many rows the statement returned or changed. */
  readonly count: number;
}

export function call(statement: Statement, ...values: readonly Value[]): Call {
  return { statement, values };
}

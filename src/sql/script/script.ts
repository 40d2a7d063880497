// Script: an operation on the store, written once for both stores.
//   - A script is a generator. It yields statements and gets their answers; its driver runs them. SQLite's
//     driver runs a script synchronously inside the open transaction. PostgreSQL's driver awaits each
//     answer. Statements that are yielded together are one round trip.
//   - A script must not keep a value of the store across transactions, and must not catch errors
//     of statements: the driver rolls the transaction back.
//   - A store can offer its own parts to scripts, as generators of the same type. Such a part may yield a
//     `NativeStep`, which only the driver of that store can run.

import type { Row } from "../columns.ts";
import type { Answer, Call, Statement, Value } from "./statement.ts";

export type Script<T> = Generator<readonly Call[] | NativeStep, T, readonly Answer[]>;

/** Statements of one store that are one round trip. The part that yields them reads their answers itself. */
export interface NativeStep {
  readonly isNative: true;
}

/** Runs one statement and returns its rows. */
export function* run(statement: Statement, ...values: readonly Value[]): Script<readonly Row[]> {
  const [answer] = yield [{ statement, values }];
  return answer?.rows ?? [];
}

/** Runs one statement and returns its first row. */
export function* first(statement: Statement, ...values: readonly Value[]): Script<Row | undefined> {
  return (yield* run(statement, ...values))[0];
}

/** Runs statements in one round trip. */
export function* together<const Calls extends readonly Call[]>(
  ...calls: Calls
): Script<{ readonly [Index in keyof Calls]: Answer }> {
  const answers = yield calls;
  if (answers.length !== calls.length) throw new Error("A driver must answer every statement.");
  return answers as { readonly [Index in keyof Calls]: Answer }; // one answer per call, in order
}

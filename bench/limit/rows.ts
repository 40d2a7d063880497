// The row writes that no engine on this schema can avoid, without an engine.
//   - Every write here is required by the contract: an instance is a row; a turn is its instance's row, a history row,
//       the tasks it ends and begins, the message it consumed, the timer it sets.
//   - A group is one transaction; a write that an engine must wait for is a separate group.
//   The program for a store is `<store>-rows.ts`.

import type { Setting } from "../subject.ts";
import { openPostgresRows } from "./postgres-rows.ts";
import { openSqliteRows } from "./sqlite-rows.ts";

export interface StartRows {
  readonly kind: "start";
  readonly key: number;
}
export interface SendRows {
  readonly kind: "send";
  readonly key: number;
  readonly message: number;
}
export interface TurnRows {
  readonly kind: "turn";
  readonly key: number;
  /** The first of the two events that the turn appends. */
  readonly first: number;
  readonly consumed?: number;
  /** Tasks by their sequence numbers. */
  readonly finished?: readonly number[];
  readonly begun?: readonly number[];
  /** A message that is due later. */
  readonly timer?: { readonly message: number; readonly dueAt: number };
  readonly ended?: boolean;
  /** The result that the turn records, in place of a small one. */
  readonly payload?: string;
}
export type RowWrite = StartRows | SendRows | TurnRows;

export interface Rows {
  commit(group: readonly RowWrite[]): Promise<void>;
  /** The texts of one instance's history. */
  history(key: number): Promise<readonly string[]>;
  /** The number of ended instances, to check that everything was written. */
  ended(): Promise<number>;
  close(): Promise<void>;
}

export const GROUP_MAX = 256;

export async function withRows<T>(setting: Setting, work: (rows: Rows) => Promise<T>): Promise<T> {
  const { database } = setting;
  const rows = database === null ? openSqliteRows(setting) : await openPostgresRows(database);
  try {
    return await work(rows);
  } finally {
    await rows.close();
  }
}

/** Writes everything, in groups. */
export async function commitAll(rows: Rows, writes: readonly RowWrite[]): Promise<void> {
  for (let i = 0; i < writes.length; i += GROUP_MAX) {
    await rows.commit(writes.slice(i, i + GROUP_MAX));
  }
}

/** Step `index` of an instance with two events per turn: ends a task, then begins the next one or ends the instance. */
export function stepOf(key: number, index: number, isLast: boolean, payload?: string): TurnRows {
  const first = 1 + 2 * index;
  const finished = index === 0 ? [] : [first - 1];
  const result = index === 0 || payload === undefined ? {} : { payload };
  return isLast
    ? { kind: "turn", key, first, finished, ended: true, ...result }
    : { kind: "turn", key, first, finished, begun: [first + 1], ...result };
}

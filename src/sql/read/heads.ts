// Heads: the columns of an instance that decide about an item. A head is never cached.

import { HEAD_COLUMNS, toHead, type InstanceHead } from "../rows/instance-rows.ts";
import { first, type Script } from "../script/script.ts";
import { Statement } from "../script/statement.ts";

const HEAD = `SELECT ${HEAD_COLUMNS} FROM @instances`;
const LOCK = new Statement(`${HEAD} WHERE id = $1 FOR NO KEY UPDATE`);
const SELECT = new Statement(`${HEAD} WHERE id = $1`);
const SELECT_BY_KEY = new Statement(`${HEAD} WHERE key = $1`);

/** Locks the row: the head stays as it is until the transaction ends. */
export function* lockHead(id: string): Script<InstanceHead | null> {
  return toHead(yield* first(LOCK, id));
}

/** Reads a head without a lock; the instance may change at any time. */
export function* readHead(id: string): Script<InstanceHead | null> {
  return toHead(yield* first(SELECT, id));
}

export function* readHeadByKey(key: number): Script<InstanceHead | null> {
  return toHead(yield* first(SELECT_BY_KEY, key));
}

// Enqueue keys: the rows that say which instance a further start under a key meets, and the release of an instance
// that waits for another one (provider.enqueue.2).
//   - enqueue-keys.1: A transaction locks the rows of its keys in their order, before it locks anything else. So calls
//     with one key take effect one after the other, and no two of them wait for each other. Other transactions skip
//     locked rows.
//   - enqueue-keys.2: The columns `next` and `next_due` change only under the lock of the instance. So a transaction that
//     ends the instance, and holds that lock, finds the instance that waits for the end. It does not change the row: the
//     next call under the key does.
//   - enqueue-keys.3: An instance that waits has a start message that becomes visible at WAITING_AT. So it is cancelled at
//     once, and events for it wait, as before any other start in the future.
//   - enqueue-keys.4: A start that replaces another one also replaces the run id. The run id of the start that inserted
//     the instance is then kept as a request id, so that `settle` knows the instance.
//   - A row of a throttle window that is over says nothing. Later calls delete such rows, a few at a time.

import type { EnqueueItem, EnqueueKey } from "../../core/provider/enqueue.ts";
import type { NewInstance } from "../../core/provider/commit.ts";
import type { Message } from "../../core/provider/messages.ts";
import { checksumOf, checksumOfCopy } from "../../core/values/checksum.ts";
import {
  flag,
  integer,
  integerOrNull,
  only,
  text,
  textOrNull,
  word,
  type Row,
} from "../columns.ts";
import { exists, notExists } from "../index-lookup.ts";
import type { ReadParts } from "../parts.ts";
import { hasDue, readInbox } from "../read/inbox.ts";
import { HEAD_COLUMNS, TARGET, toHead, type InstanceHead } from "../rows/instance-rows.ts";
import { addDue, type Scope } from "../script/scope.ts";
import { first, run, together, type Script } from "../script/script.ts";
import { call, Statement, type Call } from "../script/statement.ts";

/** enqueue-keys.3. The last time that a `Date` can hold. */
export const WAITING_AT = 8.64e15;
/** How many windows that are over one call deletes. */
const SWEPT_MAX = 10;

/** The row of a key. */
export interface KeyRow {
  /** 0: the key has no instance yet. */
  readonly instance: number;
  readonly id: string;
  readonly next: number | null;
  readonly nextId: string | null;
  readonly nextDue: number | null;
  readonly openedAt: number;
  readonly until: number | null;
  readonly nextUntil: number | null;
}
/** A pending instance whose start no runtime has seen, with its messages. */
export interface Unbegun {
  readonly head: InstanceHead;
  readonly messages: readonly Message[];
}
/** The columns of the primary key. */
export type KeyAddress = readonly [name: string, kind: EnqueueKey["kind"], key: string];

/** The columns that only some rows use. */
export const NO_NEXT = {
  next: null,
  nextId: null,
  nextDue: null,
  until: null,
  nextUntil: null,
} as const;
const KINDS = ["unique", "debounce", "throttle"] as const;

const COLUMNS = "instance, id, next, next_id, next_due, opened_at, until, next_until";
const ADDRESS = "name = $1 AND kind = $2 AND key = $3";
const LOCK = new Statement(`
  INSERT INTO @enqueue_keys AS k (name, kind, key, instance, id, opened_at) VALUES ($1, $2, $3, 0, '', 0)
  ON CONFLICT (name, kind, key) DO UPDATE SET instance = k.instance RETURNING ${COLUMNS}`);
const SELECT = new Statement(`SELECT ${COLUMNS} FROM @enqueue_keys WHERE ${ADDRESS}`);
const SET = new Statement(`
  UPDATE @enqueue_keys SET instance = $4, id = $5, next = $6, next_id = $7, next_due = $8, opened_at = $9,
    until = $10, next_until = $11
  WHERE ${ADDRESS}`);
const DELETE = new Statement(`DELETE FROM @enqueue_keys WHERE ${ADDRESS}`);
const LOCK_OVER = new Statement(`
  SELECT name, kind, key FROM @enqueue_keys
  WHERE until IS NOT NULL AND coalesce(next_until, until) <= $1
  ORDER BY coalesce(next_until, until) LIMIT ${SWEPT_MAX} FOR UPDATE SKIP LOCKED`);
const SELECT_WAITING = new Statement(`
  SELECT next, next_due FROM @enqueue_keys
  WHERE instance = ANY ($1::bigint[]) AND kind = 'unique' AND next IS NOT NULL ORDER BY next`);
const LOCK_OF_INSTANCES = new Statement(`
  SELECT k.name, k.kind, k.key, ${COLUMNS}, ${exists("FROM @instances AS i WHERE i.key = k.next")} AS next_is_left
  FROM @enqueue_keys AS k WHERE k.instance = ANY ($1::bigint[]) FOR UPDATE OF k SKIP LOCKED`);
const LOCK_HEADS = new Statement(`
  SELECT ${HEAD_COLUMNS} FROM @instances WHERE key = ANY ($1::bigint[]) ORDER BY key + 0
  FOR NO KEY UPDATE`);
const SET_INSTANCE = new Statement(`
  UPDATE @instances SET run_id = $2, version = $3, priority = $4, attributes = $5, attributes_checksum = $6,
    updated_at = $7
  WHERE key = $1`);
const SET_MESSAGE = new Statement(`
  UPDATE @inbox AS m SET visible_at = $2, data = $3, checksum = $4,
    priority = (SELECT i.priority FROM @instances AS i WHERE i.key = m.instance),
    target = (SELECT ${TARGET} FROM @instances AS i WHERE i.key = m.instance)
  WHERE m.id = $1`);

// enqueue-keys.4; only the first one.
const NOTE_FIRST = new Statement(`
  INSERT INTO @requests (instance, execution, created_at, kind, id, outcome)
  SELECT $1::bigint, $2::bigint, $3::bigint, 'start', $4::text, 'started'
  WHERE ${notExists("FROM @requests WHERE instance = $1 AND kind = 'start'")}`);
const SELECT_FIRST = new Statement(`
  SELECT execution FROM @requests WHERE instance = $1 AND kind = 'start' AND id = $2`);

export function addressOf({ start, key }: EnqueueItem): KeyAddress {
  return [start.name, key.kind, key.key];
}

/** Locks the row of the key, which may be a new one (enqueue-keys.1). */
export function* lockKey(address: KeyAddress): Script<KeyRow> {
  return toKeyRow(only(yield* run(LOCK, ...address)));
}

/** Locks the rows of all these keys, in their order (enqueue-keys.1). Returns the instances that they name. */
export function* lockKeys(addresses: readonly KeyAddress[]): Script<number[]> {
  const distinct = new Map(addresses.map((address) => [JSON.stringify(address), address]));
  const inOrder = [...distinct].sort(([a], [b]) => (a < b ? -1 : 1));
  const answers = yield* together(...inOrder.map(([, address]) => call(LOCK, ...address)));
  const rows = answers.flatMap((answer) => answer.rows.map(toKeyRow));
  return rows.flatMap(({ instance, next }) => [instance, next ?? []].flat());
}

/** Reads the row of a key without a lock. */
export function* readKey(address: KeyAddress): Script<KeyRow | null> {
  const [row] = yield* run(SELECT, ...address);
  return row === undefined ? null : toKeyRow(row);
}

/** Null deletes the row: the key has no instance. */
export function* writeKey(address: KeyAddress, row: KeyRow | null, { now }: Scope): Script<void> {
  if (row === null) {
    yield* run(DELETE, ...address);
    return;
  }
  if (row.until === null) {
    yield* together(setKey(address, row));
    return;
  }
  const [, over] = yield* together(setKey(address, row), call(LOCK_OVER, now));
  if (over.count > 0)
    yield* together(...over.rows.map((found) => call(DELETE, ...toAddress(found))));
}

function setKey(address: KeyAddress, row: KeyRow): Call {
  const { instance, id, next, nextId, nextDue, openedAt, until, nextUntil } = row;
  return call(SET, ...address, instance, id, next, nextId, nextDue, openedAt, until, nextUntil);
}

/** Locks the instances of a key in the order of their keys. A missing one is not in the result. */
export function* lockHeads({
  instance,
  next,
}: Pick<KeyRow, "instance" | "next">): Script<ReadonlyMap<number, InstanceHead>> {
  if (instance === 0) return new Map();
  const rows = yield* run(LOCK_HEADS, next === null ? [instance] : [instance, next]);
  const heads = rows.flatMap((row) => toHead(row) ?? []);
  return new Map(heads.map((head) => [head.key, head]));
}

/** Null: the instance is missing, has begun, is leased or is cancelled, so its start cannot be changed. */
export function* findUnbegun(
  head: InstanceHead | undefined,
  parts: ReadParts,
): Script<Unbegun | null> {
  if (head?.status !== "pending" || head.token !== null) return null;
  const messages = yield* readInbox(head.key, parts);
  if (messages.some(({ kind }) => kind === "cancel")) return null;
  return messages.some(({ kind }) => kind === "start") ? { head, messages } : null;
}

/** Whether the instance waits for another one (enqueue-keys.3). */
export function isWaiting({ messages }: Unbegun): boolean {
  return messages.some(({ kind, visibleAt }) => kind === "start" && visibleAt >= WAITING_AT);
}

/** Gives an instance that has not begun another start, and its messages another time. */
export function* replaceStart(
  { head, messages }: Unbegun,
  begin: { readonly instance: NewInstance; readonly visibleAt: number },
  scope: Scope,
  parts: ReadParts,
): Script<void> {
  const { key, id } = head;
  const { runId, version, priority, attributes, started } = begin.instance;
  const stored = JSON.stringify(attributes);
  const columns = [runId, version, priority, stored, checksumOf(stored), scope.now] as const;
  const answers = yield* together(
    noteFirst(head, scope),
    call(SET_INSTANCE, key, ...columns),
    ...messages.map((message) => {
      const { damaged: _, ...start } = { ...message, data: started };
      return messageCall(key, message.kind === "start" ? start : message, begin, parts);
    }),
    hasDue(key),
  );
  addDue(answers.at(-1)?.rows ?? [], scope.changes);
  scope.changes.changed(id);
}

/** The execution that this run id began: the last one, or the one that was inserted (enqueue-keys.4). Null: none. */
export function* executionOf(head: InstanceHead, runId: string): Script<number | null> {
  if (head.runId === runId) return head.execution;
  const row = yield* first(SELECT_FIRST, head.key, runId);
  return row === undefined ? null : integer(row, "execution");
}

/** Keeps the run id of the start that inserted the instance; to be called before it changes (enqueue-keys.4). */
export function noteFirst({ key, execution, runId }: InstanceHead, { now }: Scope): Call {
  return call(NOTE_FIRST, key, execution, now, runId);
}

/**
 * Makes the instances due that wait for the end of these instances, which end now. The caller holds the locks of the
 * ended ones (enqueue-keys.2).
 */
export function* releaseWaiting(
  ended: readonly number[],
  scope: Scope,
  parts: ReadParts,
): Script<void> {
  if (ended.length === 0) return;
  for (const row of yield* run(SELECT_WAITING, ended)) {
    const next = integer(row, "next");
    const heads = yield* lockHeads({ instance: next, next: null });
    const unbegun = yield* findUnbegun(heads.get(next), parts);
    if (unbegun !== null && isWaiting(unbegun)) {
      yield* release(unbegun, integerOrNull(row, "next_due"), scope, parts);
    }
  }
}

/** Makes an instance due that waits for another one. */
export function* release(
  { head: { key }, messages }: Unbegun,
  dueAt: number | null,
  scope: Scope,
  parts: ReadParts,
): Script<void> {
  const visibleAt = Math.max(scope.now, dueAt ?? scope.now);
  const moved = messages.map((message) => messageCall(key, message, { visibleAt }, parts));
  const answers = yield* together(...moved, hasDue(key));
  addDue(answers.at(-1)?.rows ?? [], scope.changes);
}

/** Locks the keys of instances; to be called after they were deleted. `forgetKeys` takes the rows. */
export function keysOfDeleted(instances: readonly number[]): Call {
  return call(LOCK_OF_INSTANCES, instances);
}

/**
 * Removes the keys of deleted instances. A key whose waiting instance is left belongs to that one, and the row of a
 * throttle window stays until the window is over.
 */
export function* forgetKeys(rows: readonly Row[], { now }: Scope): Script<void> {
  const calls = rows.flatMap((row) => {
    const address = toAddress(row);
    const { next, nextId, until, nextUntil, openedAt } = toKeyRow(row);
    const isOpen = until !== null && (nextUntil ?? until) > now;
    if (isOpen) return [];
    if (until !== null || next === null || nextId === null || !flag(row, "next_is_left")) {
      return [call(DELETE, ...address)];
    }
    return [setKey(address, { ...NO_NEXT, instance: next, id: nextId, openedAt })];
  });
  if (calls.length > 0) yield* together(...calls);
}

function messageCall(
  key: number,
  message: Message,
  { visibleAt }: { readonly visibleAt: number },
  { coveredOf }: ReadParts,
): Call {
  const { id, data } = message;
  const checksum = checksumOfCopy(message, ...coveredOf(key, { ...message, visibleAt }));
  return call(SET_MESSAGE, id, visibleAt, data, checksum);
}

function toAddress(row: Row): KeyAddress {
  return [text(row, "name"), word(row, "kind", KINDS), text(row, "key")];
}

function toKeyRow(row: Row): KeyRow {
  return {
    instance: integer(row, "instance"),
    id: text(row, "id"),
    next: integerOrNull(row, "next"),
    nextId: textOrNull(row, "next_id"),
    nextDue: integerOrNull(row, "next_due"),
    openedAt: integer(row, "opened_at"),
    until: integerOrNull(row, "until"),
    nextUntil: integerOrNull(row, "next_until"),
  };
}

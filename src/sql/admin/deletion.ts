// Deletion: removes an instance and its descendants, with all their rows, in one transaction (admin.3).
//   - The rows are deleted, and with them every lease token: a later commit of a lease owner finds no row
//       to write to. A key is never used again (provider.instances.1).
//   - deletion.1: A parent that waits for a deleted child is notified that the child has ended, and so is an
//       instance that waits for an answer (sql.asks.1). An instance that waits for the end of a deleted one becomes
//       due (enqueue-keys.2).
//   - deletion.2: The whole tree is locked before anything is decided. A turn that was in flight may have
//       added children, so the tree is read again until it no longer changes.
//   - deletion.3: A sweep waits for no lock: it skips an instance, and its whole tree, that another
//       transaction is changing. So it cannot take part in a deadlock. Descendants are read again after
//       they were locked; a tree that changed in between is left for the next sweep.

import type {
  DeletedEnded,
  DeleteEndedRequest,
  DeleteResult,
  Removed,
} from "../../core/provider/admin.ts";
import { refusedAsChild, refusedAsLive } from "../../core/provider/shared/delete-refusals.ts";
import { DELETED } from "../../core/provider/shared/outcomes.ts";
import { flag, integer, only, type Row, text } from "../columns.ts";
import { indexEquals } from "../index-lookup.ts";
import type { StoreStatements } from "../parts.ts";
import { lockHead } from "../read/heads.ts";
import type { InstanceHead } from "../rows/instance-rows.ts";
import type { Scope } from "../script/scope.ts";
import { run, type Script, together } from "../script/script.ts";
import { call, Statement } from "../script/statement.ts";
import { releaseAskers } from "../write/asks.ts";
import { forgetKeys, keysOfDeleted, releaseWaiting } from "../write/enqueue-keys.ts";
import type { RareWriters } from "../write/rare-items.ts";
import { isTerminalStatus, TERMINAL_STATUSES } from "../../core/provider/instances.ts";
import { PerdureError } from "../../core/errors/errors.ts";

const LOCK_ALL = `
  SELECT i.key FROM unnest($1::bigint[]) AS k (key)
  JOIN @instances AS i ON ${indexEquals("i.key", "k.key")} FOR NO KEY UPDATE OF i`;
const LOCK = new Statement(LOCK_ALL);
const LOCK_FREE = new Statement(`${LOCK_ALL} SKIP LOCKED`);
const DELETE = new Statement(`
  DELETE FROM @instances WHERE key = ANY ($1::bigint[])
  RETURNING 1 + past_executions AS executions, last_event + past_events AS events`);
// Tasks before messages: the message of a task that completes in between is deleted too.
const DELETE_TASKS = new Statement(`
  DELETE FROM @tasks WHERE instance = ANY ($1::bigint[]) RETURNING instance`);
const DELETE_MESSAGES = new Statement("DELETE FROM @inbox WHERE instance = ANY ($1::bigint[])");
const IS_EXPIRED = "delete_after <= @now AND parent_id IS NULL";
/** SQL: whether `deleteExpired` would find an instance. */
export const ANY_EXPIRED = `EXISTS (SELECT 1 FROM @instances WHERE ${IS_EXPIRED})`;
const HAS_EXPIRED = new Statement(`SELECT ${ANY_EXPIRED} AS found`);
const LOCK_EXPIRED = new Statement(`
  SELECT key, delete_after FROM @instances
  WHERE ${IS_EXPIRED} AND (delete_after, key) > ($1::bigint, $2::bigint)
  ORDER BY delete_after, key LIMIT $3::bigint FOR NO KEY UPDATE SKIP LOCKED`);
const REST = ["history", "kv", "requests", "streams", "stream_calls", "stream_chunks"];
const DELETE_REST = REST.map(
  (table) => new Statement(`DELETE FROM @${table} WHERE instance = ANY ($1::bigint[])`),
);

export const NOTHING: Removed = { instances: 0, executions: 0, events: 0, messages: 0 };

export function* deleteInstance<S extends Scope>(
  { id, force }: { readonly id: string; readonly force: boolean },
  scope: S,
  { parts, terminations }: RareWriters<S>,
): Script<DeleteResult> {
  yield* parts.lockFamily(id); // the parent too (deletion.1)
  // Read before the tree, so that a child inserted in between is in the tree.
  const root = yield* lockHead(id);
  if (root === null) {
    return { kind: "refused", code: "INSTANCE_NOT_FOUND", message: `No instance "${id}" exists.` };
  }
  const tree = yield* lockTree(root.key, parts.statements);
  const refusal = force ? null : yield* refusalOf(root, tree);
  if (refusal !== null) return refusal;
  if (!isTerminalStatus(root.status)) yield* terminations.notifyParent(root, DELETED, scope);
  if (force) {
    const live = liveOf(tree);
    yield* releaseAskers(live, scope, parts);
    yield* releaseWaiting(
      live.map(({ key }) => key),
      scope,
      parts,
    );
  }
  return { kind: "deleted", ...(yield* removeAll(tree, scope)) };
}

export function* deleteEnded(
  { status, completedBefore, limit, cursor }: DeleteEndedRequest,
  scope: Scope,
  statements: StoreStatements,
): Script<DeletedEnded> {
  const before = Math.ceil(completedBefore);
  const place = parseEndCursor(cursor);
  const roots = yield* run(statements.lockEnded, status, before, ...place, limit);
  const last = roots.length < limit ? undefined : roots.at(-1);
  const next = last === undefined ? null : toCursor(last, "completed_at");
  return { ...(yield* removeEnded(roots, scope, statements)), cursor: next };
}

/** Whether `deleteExpired` would find an instance. */
export function* hasExpired(): Script<boolean> {
  return flag(only(yield* run(HAS_EXPIRED)), "found");
}

export function* deleteExpired(
  { limit, cursor }: { readonly limit: number; readonly cursor: string | null },
  scope: Scope,
  statements: StoreStatements,
): Script<DeletedEnded> {
  const roots = yield* run(LOCK_EXPIRED, ...parseEndCursor(cursor), limit);
  const last = roots.length < limit ? undefined : roots.at(-1);
  const next = last === undefined ? null : toCursor(last, "delete_after");
  return { ...(yield* removeEnded(roots, scope, statements)), cursor: next };
}

/** Deletes the trees of these locked instances in which every instance has ended. */
function* removeEnded(
  roots: readonly Row[],
  scope: Scope,
  statements: StoreStatements,
): Script<Removed> {
  if (roots.length === 0) return NOTHING;
  return yield* removeAll(yield* endedTrees(roots, statements), scope);
}

/** deletion.3: the members, all locked, of the trees in which every instance has ended. */
function* endedTrees(
  roots: readonly Row[],
  { selectTrees }: StoreStatements,
): Script<readonly Row[]> {
  const keys = keysOf(roots);
  const locked = new Set(keys);
  const seen = yield* run(selectTrees, keys);
  const below = keysOf(seen).filter((key) => !locked.has(key));
  if (below.length === 0) return seen;
  for (const key of keysOf(yield* run(LOCK_FREE, inOrder(below)))) locked.add(key);
  const members = yield* run(selectTrees, keys);
  const isSpared = (row: Row): boolean => isLiveRow(row) || !locked.has(integer(row, "key"));
  const spared = new Set(members.filter(isSpared).map((row) => integer(row, "root")));
  return members.filter((row) => !spared.has(integer(row, "root")));
}

/** deletion.2 */
function* lockTree(root: number, { selectTrees }: StoreStatements): Script<readonly Row[]> {
  let locked = new Set<number>();
  for (;;) {
    const tree = yield* run(selectTrees, [root]);
    const keys = keysOf(tree);
    if (keys.every((key) => locked.has(key))) return tree;
    yield* run(LOCK, inOrder(keys));
    locked = new Set(keys);
  }
}

function* refusalOf(
  { id, parent }: InstanceHead,
  tree: readonly Row[],
): Script<DeleteResult | null> {
  const live = tree.find(isLiveRow);
  if (live !== undefined) return refusedAsLive(id, text(live, "id"));
  if (parent === null || (yield* lockHead(parent.id)) === null) return null;
  return refusedAsChild(id, parent.id);
}

function* removeAll(tree: readonly Row[], scope: Scope): Script<Removed> {
  const { changes } = scope;
  if (tree.length === 0) return NOTHING;
  const keys = inOrder(keysOf(tree));
  const [deleted, tasks, messages, ...rest] = yield* together(
    call(DELETE, keys),
    call(DELETE_TASKS, keys),
    call(DELETE_MESSAGES, keys),
    ...DELETE_REST.map((statement) => call(statement, keys)),
    keysOfDeleted(keys),
  );
  yield* forgetKeys(rest.at(-1)?.rows ?? [], scope);
  const withTasks = new Set(tasks.rows.map((row) => integer(row, "instance")));
  for (const row of tree) {
    const id = text(row, "id");
    changes.changed(id);
    if (withTasks.has(integer(row, "key"))) changes.withdrawn(id);
  }
  const sum = (column: string): number =>
    deleted.rows.reduce((total, row) => total + integer(row, column), 0);
  return {
    instances: deleted.count,
    executions: sum("executions"),
    events: sum("events"),
    messages: messages.count,
  };
}

function keysOf(rows: readonly Row[]): number[] {
  return rows.map((row) => integer(row, "key"));
}

function inOrder(keys: readonly number[]): number[] {
  return keys.toSorted((a, b) => a - b);
}

/** The members that have not ended. */
function liveOf(tree: readonly Row[]) {
  return tree.filter(isLiveRow).map((row) => ({ key: integer(row, "key"), id: text(row, "id") }));
}

function isLiveRow(row: Row): boolean {
  return !(TERMINAL_STATUSES as readonly string[]).includes(text(row, "status"));
}

function toCursor(row: Row, column: string): string {
  return `${integer(row, column)}:${integer(row, "key")}`;
}

/** The position after which the sweep continues; null: before the first instance. */
function parseEndCursor(cursor: string | null): readonly [at: number, key: number] {
  if (cursor === null) return [Number.MIN_SAFE_INTEGER, 0];
  const place = /^(-?\d{1,16}):(\d{1,16})$/.exec(cursor);
  if (place !== null) return [Number(place[1]), Number(place[2])];
  const message = `cursor must come from an earlier step of the sweep; got "${cursor}".`;
  throw new PerdureError("INVALID_ARGUMENT", message);
}

// Keyed starts: what a start of a job under a key does (provider.enqueue).
//   - The row of the key decides, under its lock (enqueue-keys.1). The instances that it names are locked after it, and
//     then the tasks of the instance that a start replaces.
//   - A start that is refused, or meets an existing instance, has written nothing.
//   - A job that is due at once begins with its first turn (commit.6). A start that a later call may replace in place has a
//     start message.

import type { StartItem, TurnItem } from "../../core/provider/commit.ts";
import type { EnqueueItem, EnqueueKey, EnqueueResult } from "../../core/provider/enqueue.ts";
import { isTerminalStatus } from "../../core/provider/instances.ts";
import { byReplacement } from "../../core/provider/shared/terminations.ts";
import { flag } from "../columns.ts";
import { readHead, readHeadByKey } from "../read/heads.ts";
import type { InstanceHead } from "../rows/instance-rows.ts";
import type { Scope } from "../script/scope.ts";
import { run, together, type Script } from "../script/script.ts";
import { Statement } from "../script/statement.ts";
import {
  addressOf,
  executionOf,
  findUnbegun,
  isWaiting,
  lockHeads,
  lockKey,
  NO_NEXT,
  noteFirst,
  readKey,
  release,
  replaceStart,
  WAITING_AT,
  writeKey,
  type KeyRow,
  type Unbegun,
} from "./enqueue-keys.ts";
import { schedulesOnly } from "./bulk-starts.ts";
import { targetOf } from "./fork.ts";
import type { RareWriters } from "./rare-items.ts";
import { restart } from "./restart.ts";

type KeyOf<Kind extends EnqueueKey["kind"]> = Extract<EnqueueKey, { readonly kind: Kind }>;
/** The result of a start, and the row of its key after it; null: the row stays. */
interface Decision {
  readonly result: EnqueueResult;
  readonly row: KeyRow | null;
}

const LOCK_TASKS = new Statement(`
  SELECT attempt = 0 AND deaths = 0 AND lease_owner IS NULL AND deferred_until IS NULL AS waits
  FROM @tasks WHERE instance = $1 FOR UPDATE`);

export function* enqueue<S extends Scope>(
  item: EnqueueItem,
  scope: S,
  writers: RareWriters<S>,
): Script<EnqueueResult> {
  const address = addressOf(item);
  const row = yield* lockKey(address);
  const { result, row: changed } = yield* decide(item, row, scope, writers);
  // A new row whose start was refused is not left behind.
  if (changed !== null || row.instance === 0) yield* writeKey(address, changed, scope);
  return result;
}

function decide<S extends Scope>(
  { start, key }: EnqueueItem,
  row: KeyRow,
  scope: S,
  writers: RareWriters<S>,
): Script<Decision> {
  switch (key.kind) {
    case "unique":
      return unique(start, key, row, scope, writers);
    case "debounce":
      return debounce(start, key, row, scope, writers);
    case "throttle":
      return throttle(start, key, row, scope, writers);
  }
}

/** provider.enqueue.2 */
function* unique<S extends Scope>(
  start: StartItem,
  { onConflict }: KeyOf<"unique">,
  row: KeyRow,
  scope: S,
  writers: RareWriters<S>,
): Script<Decision> {
  if (onConflict === "replace") yield* lockFamilies(row, writers);
  const { holder, waiting } = yield* holderOf(row, scope, writers);
  const openedAt = scope.now;
  if (holder === null) {
    const result = yield* insert(start, dueAtOf(start, scope), scope, writers);
    return inserted(result, { ...NO_NEXT, openedAt });
  }
  if (onConflict === "fail") {
    return { result: { kind: "refused", code: "INSTANCE_EXISTS", id: holder.id }, row: null };
  }
  if (onConflict === "useExisting") return { result: met("existing", holder), row: null };
  const { id, key } = holder;
  const held = { ...NO_NEXT, instance: key, id, openedAt: row.openedAt };
  const dueAt = dueAtOf(start, scope);
  // A start without a delay is due when the other one ends, also if the clock has gone back by then.
  const nextDue = dueAt > scope.now ? dueAt : null;
  if (waiting !== null) {
    yield* replaceStart(waiting, { instance: start, visibleAt: WAITING_AT }, scope, writers.parts);
    const { head } = waiting;
    const row = { ...held, next: head.key, nextId: head.id, nextDue };
    return { result: met("replaced", head), row };
  }
  if (yield* hasBegun(holder)) {
    const result = yield* insert(start, WAITING_AT, scope, writers);
    if (result.kind !== "started") return { result, row: null };
    return { result, row: { ...held, next: result.key, nextId: result.id, nextDue } };
  }
  const execution = yield* replace(holder, start, dueAt, scope, writers);
  return { result: { kind: "replaced", id, key, execution }, row: held };
}

/** Ends an instance and starts it again; returns its new execution. */
function* replace<S extends Scope>(
  holder: InstanceHead,
  start: StartItem,
  visibleAt: number,
  scope: S,
  { terminations, parts }: RareWriters<S>,
): Script<number> {
  const { id, cancelRequested } = holder;
  yield* together(noteFirst(holder, scope));
  yield* terminations.end(holder, byReplacement(start.terminated, cancelRequested), scope);
  const beginning = { lease: null, visibleAt };
  const { execution } = yield* restart({ ...start, id }, holder, beginning, scope, parts);
  if (visibleAt <= scope.now) scope.changes.due(id, { owner: null, target: targetOf(start) });
  return execution;
}

/** termination.1: before the instances of the key are locked. */
function* lockFamilies<S extends Scope>(
  { id, nextId }: KeyRow,
  { parts }: RareWriters<S>,
): Script<void> {
  yield* parts.lockFamily(id);
  if (nextId !== null) yield* parts.lockFamily(nextId);
}

/** The live instance of a unique key, and the one that waits for its end. */
function* holderOf<S extends Scope>(
  row: KeyRow,
  scope: S,
  { parts }: RareWriters<S>,
): Script<{ readonly holder: InstanceHead | null; readonly waiting: Unbegun | null }> {
  const { instance, next, nextDue } = row;
  const heads = yield* lockHeads(row);
  const first = liveOf(heads.get(instance));
  const second = next === null ? null : liveOf(heads.get(next));
  if (second === null) return { holder: first, waiting: null };
  const unbegun = yield* findUnbegun(second, parts);
  if (unbegun === null || !isWaiting(unbegun)) return { holder: second, waiting: null };
  if (first !== null) return { holder: first, waiting: unbegun };
  yield* release(unbegun, nextDue, scope, parts);
  return { holder: second, waiting: null };
}

/** provider.enqueue.3 */
function* debounce<S extends Scope>(
  start: StartItem,
  { waitMs, maxMs }: KeyOf<"debounce">,
  row: KeyRow,
  scope: S,
  writers: RareWriters<S>,
): Script<Decision> {
  const { now } = scope;
  const heads = yield* lockHeads(row);
  const unbegun = yield* findUnbegun(heads.get(row.instance), writers.parts);
  if (unbegun === null) {
    const result = yield* insert(start, after(now, least(waitMs, maxMs)), scope, writers);
    return inserted(result, { ...NO_NEXT, openedAt: now });
  }
  const latest = maxMs === null ? Infinity : after(row.openedAt, maxMs);
  const visibleAt = Math.max(Math.min(after(now, waitMs), latest), now);
  yield* replaceStart(unbegun, { instance: start, visibleAt }, scope, writers.parts);
  return { result: met("existing", unbegun.head), row: null };
}

/** provider.enqueue.4 */
function* throttle<S extends Scope>(
  start: StartItem,
  { perMs, trailing }: KeyOf<"throttle">,
  stored: KeyRow,
  scope: S,
  writers: RareWriters<S>,
): Script<Decision> {
  const { now } = scope;
  const heads = yield* lockHeads(stored);
  const next = trailing && stored.next !== null ? heads.get(stored.next) : undefined;
  const unbegun = yield* findUnbegun(next, writers.parts);
  if (unbegun !== null && isWithin(now, stored.openedAt, stored.nextUntil)) {
    const visibleAt = stored.until ?? now;
    yield* replaceStart(unbegun, { instance: start, visibleAt }, scope, writers.parts);
    return { result: met("existing", unbegun.head), row: null };
  }
  const row = currentWindow(stored, now);
  const { until } = row;
  if (until === null || !isWithin(now, row.openedAt, until)) {
    const result = yield* insert(start, now, scope, writers);
    return inserted(result, { ...NO_NEXT, openedAt: now, until: after(now, perMs) });
  }
  if (!trailing) {
    const { instance: key, id } = row;
    const execution = heads.get(key)?.execution ?? 1; // a deleted instance
    return { result: { kind: "existing", id, key, execution }, row: null };
  }
  const result = yield* insert(start, until, scope, writers);
  if (result.kind !== "started") return { result, row: null };
  const nextUntil = after(until, perMs);
  return { result, row: { ...row, next: result.key, nextId: result.id, nextUntil } };
}

/** The window that its trailing instance has opened, if the stored one is over. */
function currentWindow(row: KeyRow, now: number): KeyRow {
  const { next, nextId, until, nextUntil } = row;
  if (next === null || nextId === null || until === null || now < until) return row;
  return { ...NO_NEXT, instance: next, id: nextId, openedAt: until, until: nextUntil };
}

/** Whether the time is in the window. The clock may have gone back, by at most the length of the window. */
function isWithin(now: number, openedAt: number, until: number | null): boolean {
  return until !== null && now < until && openedAt - now < until - openedAt;
}

/** Whether the activity of a job has begun: an attempt was leased or failed, or waits for its completion. */
function* hasBegun({ key, status }: InstanceHead): Script<boolean> {
  if (status === "pending") return false;
  const tasks = yield* run(LOCK_TASKS, key);
  const [task] = tasks;
  return tasks.length !== 1 || task === undefined || !flag(task, "waits");
}

function* insert<S extends Scope>(
  start: StartItem,
  dueAt: number,
  scope: S,
  { parts }: RareWriters<S>,
): Script<EnqueueResult> {
  const { id, firstTurn } = start;
  const { delayMs: _, ...plain } = start;
  const key =
    firstTurn !== undefined && dueAt <= scope.now && isWaitingJob(start, firstTurn)
      ? yield* parts.begin(start, firstTurn, scope)
      : yield* parts.start({ ...plain, dueAt }, scope);
  if (key === null) return { kind: "refused", code: "INSTANCE_EXISTS", id };
  return { kind: "started", id, key, execution: 1, leased: null };
}

/** Whether the first turn only puts tasks into the queue. */
function isWaitingJob(start: StartItem, turn: TurnItem): boolean {
  return schedulesOnly(start, turn) && turn.tasks.every(({ lease }) => lease === null);
}

/** What became of a keyed start whose reply was lost. Null: it has written nothing, or a later call has replaced it. */
export function* settleEnqueue(item: EnqueueItem): Script<EnqueueResult | null> {
  const { id, runId } = item.start;
  const own = yield* readHead(id);
  const execution = own === null ? null : yield* executionOf(own, runId);
  if (own !== null && execution !== null) {
    return { kind: "started", id, key: own.key, execution, leased: null };
  }
  const row = yield* readKey(addressOf(item));
  for (const key of [row?.instance ?? null, row?.next ?? null]) {
    const head = key === null ? null : yield* readHeadByKey(key);
    if (head?.runId === runId)
      return met(item.key.kind === "unique" ? "replaced" : "existing", head);
  }
  return null;
}

/** For bulk items that were written before. */
export const WRITTEN_KEYS = {
  settle: settleEnqueue,
  *idUnder(item: EnqueueItem): Script<string | null> {
    const row = yield* readKey(addressOf(item));
    return row === null || row.instance === 0 ? null : row.id;
  },
};

/** The key belongs to the new instance, if there is one. */
function inserted(result: EnqueueResult, row: Omit<KeyRow, "instance" | "id">): Decision {
  if (result.kind !== "started") return { result, row: null };
  return { result, row: { ...row, instance: result.key, id: result.id } };
}

function met<Kind extends "existing" | "replaced">(
  kind: Kind,
  { id, key, execution }: InstanceHead,
) {
  return { kind, id, key, execution } as const;
}

function liveOf(head: InstanceHead | undefined): InstanceHead | null {
  return head === undefined || isTerminalStatus(head.status) ? null : head;
}

/** When a start without a key would become due. */
function dueAtOf({ dueAt, delayMs }: StartItem, { now }: Scope): number {
  return Math.max(dueAt === undefined ? after(now, delayMs ?? 0) : whole(dueAt), now);
}

function after(at: number, ms: number): number {
  return whole(at + ms);
}

/** Rounded up, so that a time never ends early. */
function whole(at: number): number {
  return Math.min(Math.ceil(at), Number.MAX_SAFE_INTEGER);
}

function least(ms: number, maxMs: number | null): number {
  return maxMs === null ? ms : Math.min(ms, maxMs);
}

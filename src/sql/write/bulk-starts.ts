// Bulk starts: jobs that are written together, or not at all (provider.enqueue.5).
//   - Each store first tries to insert all jobs of an item at once. This script writes every other item: one with an id that
//     exists, with keyed starts, or with starts that are not due yet.
//   - The script writes behind a savepoint, so a refused item leaves nothing. The changes that it has
//     announced stay announced: listeners read the store and find nothing new.
//   - On PostgreSQL another transaction may insert an id in between. The script then begins again.

import type { StartItem, TurnItem } from "../../core/provider/commit.ts";
import type {
  EnqueueItem,
  EnqueueManyItem,
  EnqueueManyResult,
  EnqueueResult,
} from "../../core/provider/enqueue.ts";
import { text } from "../columns.ts";
import { indexEquals } from "../index-lookup.ts";
import type { Scope } from "../script/scope.ts";
import { run, type Script } from "../script/script.ts";
import { Statement } from "../script/statement.ts";

/** The part of a store that starts many instances. */
export interface BulkWriter<S extends Scope> {
  /** Writes the starts. False: an id exists, and the caller must roll back. */
  startAll(starts: readonly StartItem[], scope: S): Script<boolean>;
}

/** What keyed starts do (keyed-starts.ts). */
export interface KeyedStarts {
  write(item: EnqueueItem): Script<EnqueueResult>;
  /** What became of a keyed start that was written before. Null: it has written nothing. */
  settle(item: EnqueueItem): Script<EnqueueResult | null>;
  /** The id of the instance that the key names now. Null: none. */
  idUnder(item: EnqueueItem): Script<string | null>;
}

const SAVEPOINT = new Statement("SAVEPOINT bulk");
const ROLLBACK = new Statement("ROLLBACK TO SAVEPOINT bulk");
const RELEASE = new Statement("RELEASE SAVEPOINT bulk");
const SELECT = new Statement(`
  SELECT i.id, i.run_id FROM unnest($1::text[]) AS t (id)
  JOIN @instances AS i ON ${indexEquals("i.id", "t.id")}`);

export function* enqueueMany<S extends Scope>(
  item: EnqueueManyItem,
  scope: S,
  writer: BulkWriter<S>,
  keyed: KeyedStarts,
): Script<EnqueueManyResult> {
  for (;;) {
    const found = yield* findBulk(item, keyed);
    if (found?.kind === "enqueued") return found;
    yield* run(SAVEPOINT);
    const limit = found?.index ?? item.starts.length;
    const result = yield* writeAll(item, limit, scope, writer, keyed);
    yield* run(result?.kind === "enqueued" ? RELEASE : ROLLBACK);
    if (result !== null) return result;
  }
}

/** Whether the item was written before, or the first start whose id exists. Null: neither. */
export function* findBulk(
  { starts }: EnqueueManyItem,
  keyed: Omit<KeyedStarts, "write">,
): Script<EnqueueManyResult | null> {
  const plain = starts.filter((start) => start.kind === "start");
  const rows = yield* run(
    SELECT,
    plain.map(({ id }) => id),
  );
  const runIds = new Map(rows.map((row) => [text(row, "id"), text(row, "run_id")]));
  const [first] = plain;
  if (first !== undefined && runIds.get(first.id) === first.runId) {
    return enqueuedAs(starts, yield* idsUnderKeys(starts, keyed));
  }
  if (first === undefined) {
    const ids = yield* idsUnderKeys(starts, keyed);
    if (ids.isWritten) return enqueuedAs(starts, ids);
  }
  const seen = new Set(runIds.keys());
  for (const [index, start] of starts.entries()) {
    if (start.kind !== "start") continue;
    if (seen.has(start.id)) return { kind: "refused", code: "INSTANCE_EXISTS", index };
    seen.add(start.id);
  }
  return null;
}

interface KeyedIds {
  /** Whether a keyed start of the item has written something. */
  readonly isWritten: boolean;
  readonly byIndex: ReadonlyMap<number, string>;
}

/** A keyed start may have met another instance. If it has written nothing, its key still names that instance. */
function* idsUnderKeys(
  starts: EnqueueManyItem["starts"],
  keyed: Omit<KeyedStarts, "write">,
): Script<KeyedIds> {
  const byIndex = new Map<number, string>();
  let isWritten = false;
  for (const [index, start] of starts.entries()) {
    if (start.kind === "start") continue;
    const settled = yield* keyed.settle(start);
    isWritten ||= settled !== null;
    const id = settled?.id ?? (yield* keyed.idUnder(start));
    if (id !== null) byIndex.set(index, id);
  }
  return { isWritten, byIndex };
}

function enqueuedAs(starts: EnqueueManyItem["starts"], { byIndex }: KeyedIds): EnqueueManyResult {
  return { kind: "enqueued", ids: starts.map((start, index) => byIndex.get(index) ?? idOf(start)) };
}

export function enqueued(starts: EnqueueManyItem["starts"]): EnqueueManyResult {
  return { kind: "enqueued", ids: starts.map(idOf) };
}

/** Whether the start is a job that is due at once, and its first turn does nothing but schedule tasks. */
export function schedulesOnly(start: StartItem, turn: TurnItem): boolean {
  const { timers, starts, sends, cancelledTasks, cancelledTimers, consumed, finished } = turn;
  return (
    (start.lease ?? start.requestId) === null &&
    (start.delayMs ?? start.dueAt) === undefined &&
    start.events.length === 0 &&
    turn.change.kind === "none" &&
    turn.release &&
    !turn.stepsOpen &&
    (turn.state ?? turn.cancelRequested) === null &&
    (turn.answers ?? turn.callbacks ?? turn.dispatched ?? turn.streams) === undefined &&
    turn.keepsSuspicion === undefined &&
    timers.length + starts.length + sends.length + consumed.length + finished.length === 0 &&
    cancelledTasks.length + cancelledTimers.length === 0 &&
    turn.tasks.every(({ lease }) => lease?.sessionClaim === undefined)
  );
}

/** Writes the item unless a start before the index `limit` is refused. Null: another transaction inserted an id. */
function* writeAll<S extends Scope>(
  { starts }: EnqueueManyItem,
  limit: number,
  scope: S,
  writer: BulkWriter<S>,
  keyed: KeyedStarts,
): Script<EnqueueManyResult | null> {
  const ids = starts.map(idOf);
  for (const [index, start] of starts.slice(0, limit).entries()) {
    if (start.kind === "start") continue;
    const { kind, id } = yield* keyed.write(start);
    if (kind === "refused") return { kind, code: "INSTANCE_EXISTS", index };
    ids[index] = id;
  }
  if (limit < starts.length) return { kind: "refused", code: "INSTANCE_EXISTS", index: limit };
  const plain = starts.filter((start) => start.kind === "start");
  return (yield* writer.startAll(plain, scope)) ? { kind: "enqueued", ids } : null;
}

function idOf(start: StartItem | EnqueueItem): string {
  return start.kind === "start" ? start.id : start.start.id;
}

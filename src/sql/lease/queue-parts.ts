// Queue parts: the lookups of tasks in one part of a queue, and the keys that have tasks there.

import { queueRank } from "../../core/provider/shared/ageing.ts";
import { runsAlone } from "../../core/provider/shared/blame.ts";
import type { QueueLoad } from "../../core/provider/shared/queue-admission.ts";
import type { LeaseTasksRequest } from "../../core/provider/tasks.ts";
import { integer, integerOrNull, text, textOrNull, type Row } from "../columns.ts";
import { together, type Script } from "../script/script.ts";
import { call, Statement, type Answer, type Call, type Value } from "../script/statement.ts";
import { toQueued, type RuledCandidate } from "./queue-loads.ts";
import type { QueueStatements } from "./queue-statements.ts";

/** A task of a queue with a rule, as both stores lease it. */
export interface QueuedCandidate extends RuledCandidate {
  readonly name: string;
  readonly tag_set: string;
  readonly priority: number;
}

/** The last key that a request of this process looked at, by part of a queue. */
export type KeyCursors = Map<string, string>;

/** A request, and what its search uses. */
export interface QueueSearch {
  readonly request: LeaseTasksRequest;
  readonly statements: QueueStatements;
  readonly cursors: KeyCursors;
}

/** The tasks of a queue with one set of tags and one priority. */
export interface Part {
  readonly load: QueueLoad;
  readonly suspect: boolean;
  readonly tagSet: string;
  readonly priority: number;
}
/** A due task. */
export interface FoundRow {
  readonly row: Row;
  readonly key: string;
  readonly weight: number;
  readonly availableAt: number;
}

/** The first due tasks of a part. */
export interface Front {
  readonly rows: readonly FoundRow[];
  /** Whether these are all due tasks of the part. */
  readonly isAll: boolean;
  /** One more than the request can take, to see whether there are more. */
  readonly wanted: number;
}

const KEYS_MAX = 256;
const CURSORS_MAX = 1_000;
const SELECT_NEXT_LANES = new Statement(`
  SELECT l.queue_key FROM @queue_lanes AS l WHERE l.name = $1 AND l.part = $2
  ORDER BY l.next_start LIMIT $3::bigint`);

/** queue-candidates.1: the keys of these tasks, and others. */
export function* otherKeys(
  { statements, cursors }: QueueSearch,
  part: Part,
  rows: readonly FoundRow[],
): Script<readonly string[]> {
  const id = JSON.stringify(placeOf(part));
  const after = cursors.get(id) ?? "";
  const [further, next] = yield* together(
    call(statements.queueKeys, ...placeOf(part), after, KEYS_MAX),
    call(SELECT_NEXT_LANES, part.load.name, partId(part), KEYS_MAX),
  );
  const keys = further.rows.map((row) => text(row, "queue_key"));
  const last = keys.length < KEYS_MAX ? undefined : keys.at(-1);
  if (cursors.size >= CURSORS_MAX) cursors.clear();
  if (last === undefined) cursors.delete(id);
  else cursors.set(id, last);
  const known = [...rows.map(({ key }) => key), ...next.rows.map((row) => text(row, "queue_key"))];
  return [...new Set(["", ...known, ...keys])];
}

interface Head {
  readonly key: string;
  readonly headAt: number;
  readonly weight: number;
}

/** The first due task of each of these keys. */
export function* headsOf(
  { statements }: QueueSearch,
  part: Part,
  keys: readonly string[],
): Script<readonly Head[]> {
  const [heads] = yield* together(call(statements.queueHeads, ...placeOf(part), keys));
  return heads.rows.flatMap((row) => {
    const headAt = integerOrNull(row, "head_at");
    if (headAt === null) return [];
    return [{ key: text(row, "queue_key"), headAt, weight: integerOrNull(row, "weight") ?? 1 }];
  });
}

/** The first due tasks of each key, as many as `counts` says. */
export function* rowsOf(
  { request, statements }: QueueSearch,
  part: Part,
  counts: ReadonlyMap<string, number>,
): Script<readonly FoundRow[]> {
  const answers = yield* answersOf(
    [...counts].map(([key, count]) =>
      call(statements.queueOfKey, ...placeOf(part), ...asked(request, count), key),
    ),
  );
  return answers.flatMap(({ rows }) => rows.map(toFound));
}

export function* answersOf(calls: readonly Call[]): Script<readonly Answer[]> {
  return calls.length === 0 ? [] : yield* together(...calls);
}

/** Parameters 1 to 4. */
export function placeOf({ load, suspect, tagSet, priority }: Part): readonly Value[] {
  return [suspect, load.name, tagSet, priority];
}

/** Parameters 5 to 7: which worker asks, how long it leaves tasks that it failed to others, and the limit. */
export function asked({ owner, avoidMs = 0 }: LeaseTasksRequest, limit: number): readonly Value[] {
  return [owner, Math.ceil(avoidMs), limit];
}

/** The part as the tables of fair order name it. */
export function partId({ tagSet, priority }: Part): string {
  return `${priority}:${tagSet}`;
}

export function toFound(row: Row): FoundRow {
  return {
    row,
    key: textOrNull(row, "queue_key") ?? "",
    weight: integerOrNull(row, "weight") ?? 1,
    availableAt: integer(row, "available_at"),
  };
}

export function distinct(rows: readonly FoundRow[]): FoundRow[] {
  const addressOf = ({ row }: FoundRow): string =>
    `${integer(row, "instance")}:${integer(row, "execution")}:${integer(row, "sequence")}`;
  return [...new Map(rows.map((row) => [addressOf(row), row])).values()];
}

export function candidate(
  { request }: QueueSearch,
  { load, suspect, tagSet, priority }: Part,
  { row, availableAt }: FoundRow,
): QueuedCandidate {
  return {
    instance: integer(row, "instance"),
    execution: integer(row, "execution"),
    sequence: integer(row, "sequence"),
    session: null,
    suspect,
    runsAlone: suspect && runsAlone(integer(row, "deaths")),
    rank: queueRank(availableAt, priority, request),
    queued: toQueued(load.name, row),
    name: load.name,
    tag_set: tagSet,
    priority,
  };
}

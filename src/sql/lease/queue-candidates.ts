// Queue candidates: the waiting tasks of queues with rules that a request could take, in order.
//   - A part of a queue is a set of tags and a priority, as in the plain queue (provider.tasks.2). Within a part the order
//     is that of `available_at`, or fair order.
//   - queue-candidates.1: The first FRONT_MAX due tasks of a part are read in order. If these are all, or if enough of them
//     can be taken, the choice is exact. Otherwise the queue is searched by key: the keys of these tasks, the keys that
//     are next in fair order, and KEYS_MAX further keys, in each request those after the keys of the previous request. So
//     tasks that a limit or fair order holds back are not read, however many there are (provider.queues.5).
//   - Delayed tasks are not read: the lookups of a key end at the current time.
//   - Suspects are read in order of time, also in a fair queue: a request takes at most one.

import { acceptsTags } from "../../core/ids/tags.ts";
import {
  allowance,
  keyAllowance,
  type QueueLoad,
} from "../../core/provider/shared/queue-admission.ts";
import type { TagFilter } from "../../core/provider/tasks.ts";
import { flag, integer, text, type Row } from "../columns.ts";
import { tagsOf } from "../rows/task-rows.ts";
import type { Script } from "../script/script.ts";
import { call } from "../script/statement.ts";
import { inFairOrder } from "./fair-candidates.ts";
import {
  answersOf,
  asked,
  candidate,
  distinct,
  headsOf,
  otherKeys,
  placeOf,
  rowsOf,
  toFound,
  type FoundRow,
  type Front,
  type Part,
  type QueuedCandidate,
  type QueueSearch,
} from "./queue-parts.ts";

const FRONT_MAX = 256;

/** The candidates of these queues. `loads` must be those of this transaction. */
export function* findQueued(
  search: QueueSearch,
  loads: readonly QueueLoad[],
): Script<readonly QueuedCandidate[]> {
  const { request, statements } = search;
  const found: QueuedCandidate[] = [...(yield* dueDeferred(search, loads))];
  const parts = yield* partsOf(search, loads);
  const limits = parts.map((part) => {
    const wanted = Math.min(request.limit, allowance(part.load)) + 1;
    return { wanted, limit: isKeyed(part) ? Math.max(FRONT_MAX, wanted) : wanted };
  });
  const answers = yield* answersOf(
    parts.map((part, index) =>
      call(statements.queueFront, ...placeOf(part), ...asked(request, limits[index]?.limit ?? 1)),
    ),
  );
  for (const [index, part] of parts.entries()) {
    const rows = (answers[index]?.rows ?? []).map(toFound);
    const { wanted, limit } = limits[index] ?? { wanted: 1, limit: 1 };
    const front: Front = { rows, isAll: rows.length < limit, wanted };
    if (!isKeyed(part)) found.push(...rows.map((row) => candidate(search, part, row)));
    else if (part.load.rule?.fair === true)
      found.push(...(yield* inFairOrder(search, part, front)));
    else found.push(...(yield* inOrderOfTime(search, part, front)));
  }
  return found;
}

/** Whether keys matter in this part. */
function isKeyed({ load, suspect }: Part): boolean {
  return !suspect && (load.rule?.fair === true || load.rule?.perKey !== undefined);
}

function* partsOf(
  { request: { tags, allowSuspect }, statements }: QueueSearch,
  loads: readonly QueueLoad[],
): Script<readonly Part[]> {
  const kinds = loads.flatMap((load) =>
    (allowSuspect ? [false, true] : [false]).map((suspect) => ({ load, suspect })),
  );
  const answers = yield* answersOf(
    kinds.map(({ load, suspect }) => call(statements.queueParts, suspect, load.name)),
  );
  return kinds.flatMap((kind, index) =>
    (answers[index]?.rows ?? [])
      .filter((row) => isAccepted(row, tags))
      .map((row) => ({
        ...kind,
        tagSet: text(row, "tag_set"),
        priority: integer(row, "priority"),
      })),
  );
}

function isAccepted(row: Row, filter: TagFilter): boolean {
  // Unreadable tags exclude no worker: the worker that leases the task fails it as poison (provider.3).
  const tags = tagsOf(row);
  return tags === undefined ? filter !== "none" : acceptsTags(filter, tags);
}

/** Deferred tasks whose attempts have timed out: they hold their slots already (queue-admission.1). */
function* dueDeferred(
  search: QueueSearch,
  loads: readonly QueueLoad[],
): Script<readonly QueuedCandidate[]> {
  const { request, statements } = search;
  const concerned = loads.filter(({ hasDeferred }) => hasDeferred);
  const answers = yield* answersOf(
    concerned.map(({ name }) => call(statements.queueDeferred, name, request.limit + 1)),
  );
  return concerned.flatMap((load, index) =>
    (answers[index]?.rows ?? []).flatMap((row) => {
      const suspect = flag(row, "suspect");
      if (!isAccepted(row, request.tags) || (suspect && !request.allowSuspect)) return [];
      const tagSet = text(row, "tag_set");
      const part = { load, suspect, tagSet, priority: integer(row, "priority") };
      return [candidate(search, part, toFound(row))];
    }),
  );
}

/** A queue with a limit per key and without fair order: the oldest tasks whose keys have a free slot. */
function* inOrderOfTime(
  search: QueueSearch,
  part: Part,
  { rows, isAll, wanted }: Front,
): Script<QueuedCandidate[]> {
  let chosen = takeable(part, rows, wanted);
  if (!isAll && chosen.length < wanted) {
    const keys = yield* otherKeys(search, part, rows);
    const open = (yield* headsOf(search, part, keys))
      .filter(({ key }) => keyAllowance(part.load, key) > 0)
      .toSorted((a, b) => a.headAt - b.headAt)
      .slice(0, wanted)
      .map(({ key }) => [key, Math.min(wanted, keyAllowance(part.load, key))] as const);
    const others = yield* rowsOf(search, part, new Map(open));
    const all = distinct([...rows, ...others]);
    chosen = takeable(
      part,
      all.toSorted((a, b) => a.availableAt - b.availableAt),
      wanted,
    );
  }
  // One task that is held back shows that the request must come again.
  const taken = new Set(chosen);
  const heldBack = rows.filter((row) => !taken.has(row)).slice(0, 1);
  return [...chosen, ...heldBack].map((row) => candidate(search, part, row));
}

/** The first `count` of these tasks that the limit per key allows. */
function takeable({ load }: Part, rows: readonly FoundRow[], count: number): readonly FoundRow[] {
  const taken = new Map<string, number>();
  const chosen: FoundRow[] = [];
  for (const row of rows) {
    if (chosen.length === count) break;
    const ofKey = taken.get(row.key) ?? 0;
    if (ofKey >= keyAllowance(load, row.key)) continue;
    taken.set(row.key, ofKey + 1);
    chosen.push(row);
  }
  return chosen;
}

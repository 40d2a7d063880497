// Next due: when the next work comes due that a caller could lease (provider.runtimes.6).
//   - Three statements in one round trip, if no queue of the caller has a rule. The stores find partitions in different ways, so they give the
//       statements. Tags are compared here.
//   - A queue with a rule needs more: how much of its limits is used, and, if slots are used up, which tasks need none.
//       The rest of such a queue does not count: the runtimes that use its slots take its next tasks.
//   - Tasks of sessions, and of a queue with a used-up limit per key, are read one by one. Only a process that drives asks,
//       when it begins and when it ends.

import { acceptsTags } from "../../core/ids/tags.ts";
import { NEVER } from "../../core/provider/callbacks.ts";
import type { NextDue, NextDueRequest } from "../../core/provider/runtimes.ts";
import { excludingEntry } from "../../core/provider/shared/blame.ts";
import { keyAllowance, type QueueLoad } from "../../core/provider/shared/queue-admission.ts";
import { flag, integer, integerOrNull, only, text, type Row } from "../columns.ts";
import { readLoads } from "../lease/queue-loads.ts";
import type { StoreStatements } from "../parts.ts";
import { RUNTIMES } from "../lease/runtimes.ts";
import { toRuntime } from "../rows/runtime-rows.ts";
import { tagsOf } from "../rows/task-rows.ts";
import { run, together, type Script } from "../script/script.ts";
import { call, Statement } from "../script/statement.ts";

// Tasks that hold a slot: deferred ones, and those whose lease ends.
const HOLDING = new Statement(`
  SELECT min(CASE WHEN lease_owner IS NULL THEN available_at ELSE lease_until END) AS at FROM @tasks
  WHERE name = $1 AND holds_slot
    AND (lease_owner IS NULL OR (lease_until IS NOT NULL AND lease_owner <> $2))`);
const OF_OTHER_KEYS = new Statement(`
  SELECT min(available_at) AS at FROM @tasks
  WHERE name = $1 AND lease_owner IS NULL AND NOT coalesce(queue_key, '') = ANY ($2::text[])`);

/** The next task of a name and a set of tags. */
interface NextTask {
  readonly name: string;
  readonly at: number;
  readonly isRuled: boolean;
}

export function* nextDue(request: NextDueRequest, statements: StoreStatements): Script<NextDue> {
  const { owner, targets, codes, sessionOwner } = request;
  const entries = [...new Set(codes.map(excludingEntry))];
  const [instances, tasks, runtimes] = yield* together(
    call(statements.nextInstances, targets, owner, JSON.stringify(owner), entries),
    call(statements.nextTasks, owner, sessionOwner),
    RUNTIMES,
  );
  const found = only(instances.rows);
  const wanted = tasks.rows.filter((row) => isWanted(row, request)).map(toNext);
  const times = wanted.filter(({ isRuled }) => !isRuled).map(({ at }) => at);
  const ruled = wanted.filter(({ isRuled }) => isRuled);
  if (ruled.length > 0) times.push(...(yield* ruledTimes(ruled, owner)));
  const at = Math.min(integerOrNull(found, "at") ?? NEVER, ...times);
  return {
    at: at >= NEVER ? null : at, // also WAITING_AT (enqueue-keys.3)
    now: integer(found, "now"),
    hasExpired: flag(found, "has_expired"),
    runtimes: runtimes.rows.map(toRuntime),
  };
}

function* ruledTimes(tasks: readonly NextTask[], owner: string): Script<readonly number[]> {
  const loads = yield* readLoads([...new Set(tasks.map(({ name }) => name))]);
  const times: number[] = [];
  for (const load of loads) {
    if (load.isPaused) continue;
    const first = Math.min(...tasks.filter(({ name }) => name === load.name).map(({ at }) => at));
    times.push(...(yield* queueTimes(load, first, owner)));
  }
  return times;
}

/** `first`: when its next task comes due, without its rule. */
function* queueTimes(load: QueueLoad, first: number, owner: string): Script<readonly number[]> {
  const { name, rule, admitted, admitsAgainAt, runningByKey } = load;
  const isRateUsed = rule?.rate !== undefined && admitted >= rule.rate.count;
  const earliest = isRateUsed ? (admitsAgainAt ?? 0) : 0;
  const full = [...runningByKey.keys()].filter((key) => keyAllowance(load, key) === 0);
  const hasSlots = load.running < (rule?.concurrency ?? Infinity);
  if (hasSlots && full.length === 0) return [Math.max(first, earliest)];
  const holding = timesOf(yield* run(HOLDING, name, owner));
  if (!hasSlots) return holding;
  const others = timesOf(yield* run(OF_OTHER_KEYS, name, full));
  return [...holding, ...others.map((at) => Math.max(at, earliest))];
}

function timesOf(rows: readonly Row[]): readonly number[] {
  return rows.flatMap((row) => integerOrNull(row, "at") ?? []);
}

function isWanted(row: Row, { names, tags: filter }: NextDueRequest): boolean {
  if (!names.includes(text(row, "name"))) return false;
  const tags = tagsOf(row);
  // Unreadable tags exclude no worker: the worker that leases the task fails it as poison (provider.3).
  return tags === undefined ? filter !== "none" : acceptsTags(filter, tags);
}

function toNext(row: Row): NextTask {
  return { name: text(row, "name"), at: integer(row, "at"), isRuled: flag(row, "is_ruled") };
}

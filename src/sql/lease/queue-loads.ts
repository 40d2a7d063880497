// Queue loads: how much of its limits a queue with a rule uses, and what a lease adds to it.
//   - A lease locks the rows of the queues from which it takes tasks, in the order of their names, before it reads their
//     loads. So the leases of one queue follow one after the other, and its limits hold over all processes.
//   - Slots are counted by rows (sql.queues.2): a completion, a retry or a takeover frees them without a further write.

import {
  admissionEnd,
  ENTER_WITHIN_MS,
  type AdmissionTime,
  type QueuedTask,
  type QueueLoad,
} from "../../core/provider/shared/queue-admission.ts";
import type { EnteredAdmissions } from "../../core/provider/queues.ts";
import type { Candidate } from "../../core/provider/shared/task-choice.ts";
import type { LeasedTask, LeaseTasksRequest } from "../../core/provider/tasks.ts";
import { flag, integer, integerOrNull, text, type Row } from "../columns.ts";
import { exists, indexEquals } from "../index-lookup.ts";
import { KEEP_DEFERRED_SLOT, toRule } from "../rows/queue-rows.ts";
import type { Scope } from "../script/scope.ts";
import { run, together, type Script } from "../script/script.ts";
import type { ScriptStore } from "../script/store.ts";
import { call, Statement, type Call } from "../script/statement.ts";
import { registered } from "./runtimes.ts";

const LOCK = new Statement(`
  SELECT q.name FROM @queues AS q WHERE q.name = ANY ($1::text[]) ORDER BY q.name FOR UPDATE OF q`);
const SELECT = new Statement(`
  SELECT q.name, q.rule, q.rate_ms, q.paused IS NOT NULL AS is_paused,
    CASE WHEN q.limits_slots THEN (
      SELECT count(*) FROM @tasks AS t WHERE t.name = q.name AND t.holds_slot) ELSE 0 END AS running,
    CASE WHEN q.rate_ms IS NULL THEN 0 ELSE (
      SELECT coalesce(sum(a.number), 0) FROM @admissions AS a
      WHERE a.name = q.name AND a.until > @now - q.rate_ms) END AS admitted,
    CASE WHEN q.rate_ms IS NULL THEN NULL ELSE (
      SELECT min(a.until) FROM @admissions AS a
      WHERE a.name = q.name AND a.until > @now - q.rate_ms) END AS first_until,
    CASE WHEN q.rule IS NULL THEN false ELSE ${exists(`
      FROM @tasks AS t
      WHERE t.name = q.name AND t.holds_slot AND t.lease_owner IS NULL AND t.available_at <= @now`)}
      END AS has_deferred
  FROM @queues AS q
  WHERE q.name = ANY ($1::text[]) AND (q.rule IS NOT NULL OR q.paused IS NOT NULL)`);
const COUNT_BY_KEY = new Statement(`
  SELECT q.name, coalesce(t.queue_key, '') AS key, count(*) AS running
  FROM @queues AS q JOIN @tasks AS t ON ${indexEquals("t.name", "q.name")} AND t.holds_slot
  WHERE q.name = ANY ($1::text[]) AND q.limits_keys GROUP BY q.name, coalesce(t.queue_key, '')`);
const SELECT_FACTS = new Statement(`
  SELECT t.queue_key, t.holds_slot, t.deferred_until IS NOT NULL AS is_deferred FROM @tasks AS t
  WHERE t.instance = $1 AND t.execution = $2 AND t.sequence = $3`);
const ADMIT = new Statement(`
  INSERT INTO @admissions AS a (name, until, number) VALUES ($1, $2::bigint, $3::bigint)
  ON CONFLICT (name, until) DO UPDATE SET number = a.number + excluded.number`);
const TAKE_BACK = new Statement(`
  UPDATE @admissions SET number = number - $3::bigint
  WHERE name = $1 AND until = $2::bigint AND number >= $3::bigint RETURNING name`);
const FORGET_EMPTY = new Statement("DELETE FROM @admissions WHERE number = 0");
const FORGET_ADMISSIONS = new Statement(`
  DELETE FROM @admissions WHERE name = $1 AND until <= @now - $2::bigint`);
const SET_CLOCK = new Statement(`
  INSERT INTO @queue_clocks AS c (name, part, virtual_time) VALUES ($1, $2, $3::double precision)
  ON CONFLICT (name, part) DO UPDATE SET
    virtual_time = greatest(c.virtual_time, excluded.virtual_time)`);
const SET_LANE = new Statement(`
  INSERT INTO @queue_lanes (name, part, queue_key, next_start)
  VALUES ($1, $2, $3, $4::double precision)
  ON CONFLICT (name, part, queue_key) DO UPDATE SET next_start = excluded.next_start`);
const FORGET_LANES = new Statement(`
  DELETE FROM @queue_lanes WHERE name = $1 AND part = $2 AND next_start <= $3::double precision`);
const RELEASE_ADMITTED = new Statement(`
  UPDATE @tasks SET lease_owner = NULL, lease_token = NULL, lease_until = NULL, ${KEEP_DEFERRED_SLOT}
  WHERE lease_owner = $1 AND lease_token = $2::bigint AND deferred_until IS NULL
    AND name = ANY ($3::text[])
  RETURNING name`);

/** The place of a task in fair order. */
export interface FairPlace {
  readonly name: string;
  readonly part: string;
  readonly key: string;
  readonly start: number;
  readonly nextStart: number;
}

/** What the rule of its queue needs to know about a task that was found. */
export interface RuledCandidate extends Candidate {
  /** Set: it is leased in fair order. */
  readonly fair?: FairPlace;
}

/** A request, and the queues whose rules it must keep. */
export interface RuledRequest {
  /** Without the names of paused queues. */
  readonly request: LeaseTasksRequest;
  /** The queues with rules, without paused ones. */
  readonly loads: readonly QueueLoad[];
  readonly names: ReadonlySet<string>;
  readonly time: AdmissionTime;
}

export function ruledRequest(
  request: LeaseTasksRequest,
  loads: readonly QueueLoad[],
  now: number,
): RuledRequest {
  const paused = new Set(loads.filter(({ isPaused }) => isPaused).map(({ name }) => name));
  const open = loads.filter(({ rule, isPaused }) => rule !== null && !isPaused);
  const names = request.names.filter((name) => !paused.has(name));
  return {
    request: paused.size === 0 ? request : { ...request, names },
    loads: open,
    names: new Set(open.map(({ name }) => name)),
    time: { now, enterWithinMs: request.enterWithinMs ?? ENTER_WITHIN_MS },
  };
}

/** The statement that reads the loads of these queues, without the counts by key. */
export const selectLoads = (names: readonly string[]): Call => call(SELECT, names);

/** Without the counts by key. */
export function toLoads(rows: readonly Row[]): QueueLoad[] {
  return rows.map(toLoad);
}

/** The loads of the queues with a rule or a pause among these names. */
export function* readLoads(names: readonly string[]): Script<readonly QueueLoad[]> {
  const [loads, counts] = yield* together(selectLoads(names), call(COUNT_BY_KEY, names));
  return withKeys(toLoads(loads.rows), counts.rows);
}

/**
 * The same, for a lease: no other lease takes tasks of these queues until the transaction ends. Null: the runtime is not
 * registered and gets no lease.
 */
export function* lockLoads(
  owner: string,
  names: readonly string[],
): Script<readonly QueueLoad[] | null> {
  const [known, , loads, counts] = yield* together(
    registered(owner),
    call(LOCK, names),
    selectLoads(names),
    call(COUNT_BY_KEY, names),
  );
  return known.rows.length === 0 ? null : withKeys(toLoads(loads.rows), counts.rows);
}

/** Adds what the rules of their queues need to know about these tasks. */
export function* withFacts<Task extends Candidate & { readonly name: string }>(
  tasks: readonly Task[],
  ruled: ReadonlySet<string>,
): Script<readonly Task[]> {
  const concerned = tasks.filter(({ name }) => ruled.has(name));
  if (concerned.length === 0) return tasks;
  const calls = concerned.map(({ instance, execution, sequence }) =>
    call(SELECT_FACTS, instance, execution, sequence),
  );
  const answers: readonly { readonly rows: readonly Row[] }[] = yield* together(...calls);
  const facts = new Map(concerned.map((task, index) => [task, answers[index]?.rows[0]] as const));
  return tasks.flatMap((task) => {
    if (!ruled.has(task.name)) return [task];
    const row = facts.get(task);
    return row === undefined ? [] : [{ ...task, queued: toQueued(task.name, row) }];
  });
}

/** The statements that record what a request has taken: admissions under rates, and fair order. */
export function takenRecords(
  taken: readonly RuledCandidate[],
  loads: readonly QueueLoad[],
  time: AdmissionTime,
): readonly Call[] {
  return [...admissions(taken, loads, time), ...fairOrder(taken)];
}

/** Runs these statements. */
export function* record(calls: readonly Call[]): Script<void> {
  if (calls.length > 0) yield* together(...calls);
}

/** Until when a task that a request takes is admitted; null: its queue has no rate. */
export function admittedUntil(
  { queued }: Candidate,
  { loads, time }: Pick<RuledRequest, "loads" | "time">,
): number | null {
  if (queued === undefined || queued.isDeferred) return null;
  const rate = loads.find(({ name }) => name === queued.name)?.rule?.rate;
  return rate === undefined ? null : admissionEnd(rate, time);
}

/** provider.queues.3 */
export function* adjustAdmissions(
  admissions: readonly EnteredAdmissions[],
  { changes }: Pick<Scope, "changes">,
): Script<void> {
  yield* run(LOCK, [...new Set(admissions.map(({ name }) => name))]);
  for (const { name, until, number, enteredBy } of admissions) {
    const [found] = yield* run(TAKE_BACK, name, until, number);
    if (found === undefined) continue;
    yield* run(ADMIT, name, Math.ceil(enteredBy), number);
    changes.queued(name);
  }
  yield* run(FORGET_EMPTY);
}

/** A repeated request returns what it took before, and releases what it took under rates: its time is over. */
export async function releaseAdmitted(
  { owner, token }: Pick<LeaseTasksRequest, "owner" | "token">,
  tasks: readonly LeasedTask[],
  store: Pick<ScriptStore, "read" | "write">,
): Promise<readonly LeasedTask[]> {
  const names = [...new Set(tasks.map(({ name }) => name))];
  const loads = toLoads(await store.read(() => run(SELECT, names)));
  const rated = loads.filter(({ rule }) => rule?.rate !== undefined).map(({ name }) => name);
  if (rated.length === 0) return tasks;
  await store.write(function* ({ changes }) {
    const released = yield* run(RELEASE_ADMITTED, owner, token, rated);
    for (const row of released) changes.queued(text(row, "name"));
  });
  return tasks.filter(({ name, deferred }) => deferred !== undefined || !rated.includes(name));
}

function* admissions(
  taken: readonly RuledCandidate[],
  loads: readonly QueueLoad[],
  time: AdmissionTime,
): Generator<Call> {
  for (const { name, rule } of loads) {
    if (rule?.rate === undefined) continue;
    const number = taken.filter(({ queued }) => queued?.name === name && !queued.isDeferred).length;
    if (number === 0) continue;
    yield call(FORGET_ADMISSIONS, name, Math.ceil(rule.rate.perMs));
    yield call(ADMIT, name, admissionEnd(rule.rate, time), number);
  }
}

function* fairOrder(taken: readonly RuledCandidate[]): Generator<Call> {
  const latest = new Map<string, FairPlace>();
  const lanes = new Map<string, FairPlace>();
  for (const { fair } of taken) {
    if (fair === undefined) continue;
    const { name, part, key, start, nextStart } = fair;
    const partId = JSON.stringify([name, part]);
    const laneId = JSON.stringify([name, part, key]);
    if ((latest.get(partId)?.start ?? -Infinity) <= start) latest.set(partId, fair);
    if ((lanes.get(laneId)?.nextStart ?? -Infinity) < nextStart) lanes.set(laneId, fair);
  }
  for (const { name, part, key, nextStart } of lanes.values()) {
    yield call(SET_LANE, name, part, key, nextStart);
  }
  for (const { name, part, start } of latest.values()) {
    yield call(SET_CLOCK, name, part, start);
    yield call(FORGET_LANES, name, part, start);
  }
}

function withKeys(loads: readonly QueueLoad[], counts: readonly Row[]): readonly QueueLoad[] {
  return loads.map((load) => {
    if (load.rule?.perKey === undefined) return load;
    const own = counts.filter((row) => text(row, "name") === load.name);
    const runningByKey = new Map(own.map((row) => [text(row, "key"), integer(row, "running")]));
    return { ...load, runningByKey };
  });
}

function toLoad(row: Row): QueueLoad {
  const firstUntil = integerOrNull(row, "first_until");
  const rateMs = integerOrNull(row, "rate_ms");
  return {
    name: text(row, "name"),
    rule: toRule(row),
    isPaused: flag(row, "is_paused"),
    running: integer(row, "running"),
    runningByKey: new Map(),
    admitted: integer(row, "admitted"),
    admitsAgainAt: firstUntil === null || rateMs === null ? null : firstUntil + rateMs,
    hasDeferred: flag(row, "has_deferred"),
  };
}

export function toQueued(name: string, row: Row): QueuedTask {
  const key = row["queue_key"];
  return {
    name,
    key: typeof key === "string" ? key : "",
    holdsSlot: flag(row, "holds_slot"),
    isDeferred: flag(row, "is_deferred"),
  };
}

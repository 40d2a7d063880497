// Runtimes: which runtimes are alive, and the release of what dead ones held.
//   - The statement that removes a runtime decides whether the runtime is stale (provider.runtimes.2).
//   - Every lease owner has a row: only registered runtimes get leases, and the transaction that removes
//       the row frees its leases (provider.runtimes.3). On PostgreSQL a transaction that grants leases holds
//       a lock on the owner; the removal waits for that lock. So a runtime that was declared dead blocks no
//       work, even if its process is alive.
//   - A freed instance with open steps gets a "wake" message, because no other message makes it due.

import type {
  ExpireRequest,
  ExpireResult,
  HeldLeases,
  LeaseCheckRecord,
  RuntimeRecord,
  RuntimeRegistration,
} from "../../core/provider/runtimes.ts";
import { blameFor } from "../../core/provider/shared/blame.ts";
import { flag, integer, only, text, type Row } from "../columns.ts";
import type { ReadParts } from "../parts.ts";
import { hasDue } from "../read/inbox.ts";
import { KEEP_DEFERRED_SLOT } from "../rows/queue-rows.ts";
import { toDeadWorkerLoad, toInstanceLease, toRuntime, toTaskLease } from "../rows/runtime-rows.ts";
import { addDue, type Scope } from "../script/scope.ts";
import { first, run, together, type Script } from "../script/script.ts";
import { call, Statement, type Call } from "../script/statement.ts";
import { insertWake } from "../write/wake.ts";
import { releaseSessions } from "./sessions.ts";

/** Columns of a runtime `r`. */
export const RUNTIME_COLUMNS =
  "r.id, r.node_id, r.hostname, r.process, r.registered, r.started_at, r.beat_at, r.note, " +
  "r.leases_checked_at, r.leases_stranded";
const CLEAR_LEASE = "lease_owner = NULL, lease_token = NULL, lease_until = NULL";
const RETURNING_FREED = "RETURNING key, execution, steps_open";
// A deferred task runs no code (provider.callbacks.3), so the death of its runtime is not its death. A suspect
// with one death was tried with others.
const DEATH = `
  CASE WHEN deferred_until IS NULL
    AND (deaths = 0 OR CASE WHEN suspect THEN deaths = 1 OR $3::boolean ELSE $2::boolean END)
  THEN 1 ELSE 0 END`;

const INSERT = new Statement(`
  INSERT INTO @runtimes (id, node_id, hostname, process, registered, started_at, beat_at)
  VALUES ($1, $2, $3, $4, $5, @now, @now)
  ON CONFLICT (id) DO UPDATE SET
    node_id = excluded.node_id, hostname = excluded.hostname, process = excluded.process,
    registered = excluded.registered, started_at = excluded.started_at,
    beat_at = excluded.beat_at, note = NULL, leases_checked_at = NULL, leases_stranded = 0`);
const BEAT = new Statement("UPDATE @runtimes SET beat_at = @now, note = NULL WHERE id = $1");
const RECORD_CHECK = new Statement(`
  UPDATE @runtimes SET leases_checked_at = @now, leases_stranded = $2::bigint WHERE id = $1`);
const SELECT_ONE = new Statement("SELECT 1 AS found FROM @runtimes WHERE id = $1");
const SELECT = new Statement(`
  SELECT ${RUNTIME_COLUMNS} FROM @runtimes AS r ORDER BY r.started_at, r.id`);
// One statement, so that both tables are read in one snapshot.
const SELECT_LEASES = new Statement(`
  SELECT i.key, i.execution, NULL::bigint AS sequence, i.lease_token, i.last_event,
    NULL::text AS name, NULL::bigint AS available_at
  FROM @instances AS i WHERE i.lease_owner = $1
  UNION ALL
  SELECT t.instance, t.execution, t.sequence, t.lease_token, NULL, t.name, t.available_at
  FROM @tasks AS t WHERE t.lease_owner = $1
  ORDER BY 1, 2, 3`);
const DELETE = new Statement("DELETE FROM @runtimes WHERE id = $1");
const DELETE_STALE = new Statement(`
  DELETE FROM @runtimes
  WHERE id = $1 AND ($2::bigint IS NULL OR beat_at <= @now - $2::bigint)
    AND ($3::bigint IS NULL OR beat_at <= $3::bigint)
  RETURNING id`);
const LOCK = new Statement(`
  SELECT key FROM @instances WHERE lease_owner = $1 ORDER BY key + 0 FOR NO KEY UPDATE`);
const SELECT_LOAD = new Statement(`
  SELECT held.*, given.*
  FROM (
    SELECT count(*) FILTER (WHERE i.suspicion > 1) AS suspects,
      count(*) FILTER (WHERE i.suspicion > 0) AS unproven,
      count(*) FILTER (WHERE i.steps_open) AS stepping,
      count(*) FILTER (WHERE i.steps_open AND i.suspicion > 0) AS restepping
    FROM @instances AS i WHERE i.lease_owner = $1) AS held
  CROSS JOIN (
    SELECT count(*) FILTER (WHERE t.deaths > 0) AS marked, count(*) FILTER (WHERE t.suspect) AS trials
    FROM @tasks AS t WHERE t.lease_owner = $1 AND t.deferred_until IS NULL) AS given`);
const RELEASE_DEAD_INSTANCES = new Statement(`
  UPDATE @instances SET ${CLEAR_LEASE}, suspicion = CASE
    WHEN suspicion < 2 OR CASE WHEN steps_open THEN $2::boolean ELSE $3::boolean END
    THEN suspicion ELSE suspicion - 1 END
  WHERE lease_owner = $1 ${RETURNING_FREED}`);
const RELEASE_DEAD_TASKS = new Statement(`
  UPDATE @tasks SET ${CLEAR_LEASE}, ${KEEP_DEFERRED_SLOT}, available_at = @now,
    suspect = (suspect OR (deaths > 0 AND deferred_until IS NULL)),
    attempt = attempt + ${DEATH}, deaths = deaths + ${DEATH}
  WHERE lease_owner = $1 RETURNING name`);
const FREE_INSTANCES = new Statement(`
  UPDATE @instances SET ${CLEAR_LEASE}, suspicion = greatest(suspicion - 1, 0)
  WHERE lease_owner = $1 ${RETURNING_FREED}`);
const FREE_TASKS = new Statement(`
  UPDATE @tasks SET ${CLEAR_LEASE}, ${KEEP_DEFERRED_SLOT} WHERE lease_owner = $1 RETURNING name`);

/** Returns a row if the runtime is registered and may get leases. */
export const registered = (id: string): Call => call(SELECT_ONE, id);

/** Whether the runtime is registered and may get leases. */
export function* isRegistered(id: string): Script<boolean> {
  return (yield* first(SELECT_ONE, id)) !== undefined;
}

export const RUNTIMES: Call = call(SELECT);

export function* listRuntimes(): Script<readonly RuntimeRecord[]> {
  return (yield* run(SELECT)).map(toRuntime);
}

export function* readLeases(id: string): Script<HeldLeases> {
  const rows = yield* run(SELECT_LEASES, id);
  const isTask = (row: Row): boolean => row["sequence"] !== null;
  return {
    instances: rows.filter((row) => !isTask(row)).map(toInstanceLease),
    tasks: rows.filter(isTask).map(toTaskLease),
  };
}

export function registration(runtime: RuntimeRegistration): Call {
  const { id, nodeId, hostname, process, registered } = runtime;
  const identity = process === null ? null : JSON.stringify(process);
  return call(INSERT, id, nodeId, hostname, identity, registered);
}

export const heartbeat = (id: string): Call => call(BEAT, id);

export const leaseCheck = ({ runtimeId, stranded }: LeaseCheckRecord): Call =>
  call(RECORD_CHECK, runtimeId, stranded);

export function* expireRuntime(
  { id, staleMs, beatAt }: ExpireRequest,
  scope: Scope,
  parts: ReadParts,
): Script<ExpireResult> {
  const staleAfterMs = staleMs === null ? null : Math.ceil(staleMs);
  const gone = yield* first(DELETE_STALE, id, staleAfterMs, beatAt ?? null);
  if (gone === undefined) return { expired: false, instances: 0, tasks: 0 };
  yield* run(LOCK, id);
  const blame = blameFor(toDeadWorkerLoad(only(yield* run(SELECT_LOAD, id))));
  const instances = yield* run(RELEASE_DEAD_INSTANCES, id, blame.steps, blame.turns);
  yield* wakeFreed(instances, scope, parts);
  yield* releaseSessions(id, scope);
  const tasks = yield* run(RELEASE_DEAD_TASKS, id, blame.marked, blame.trials);
  for (const row of tasks) scope.changes.queued(text(row, "name"));
  return { expired: true, instances: instances.length, tasks: tasks.length };
}

export function* removeRuntime(id: string, scope: Scope, parts: ReadParts): Script<void> {
  yield* run(DELETE, id);
  yield* run(LOCK, id);
  yield* wakeFreed(yield* run(FREE_INSTANCES, id), scope, parts);
  for (const row of yield* run(FREE_TASKS, id)) scope.changes.queued(text(row, "name"));
  yield* releaseSessions(id, scope);
}

function* wakeFreed(freed: readonly Row[], scope: Scope, parts: ReadParts): Script<void> {
  if (freed.length === 0) return;
  const wakes = freed
    .filter((row) => flag(row, "steps_open"))
    .map((row) => ({ key: integer(row, "key"), execution: integer(row, "execution") }))
    .map((instance) => insertWake(instance, scope, parts));
  const keys = freed.map((row) => integer(row, "key"));
  const answers = yield* together(...wakes, hasDue(...keys));
  addDue(answers.at(-1)?.rows ?? [], scope.changes);
}

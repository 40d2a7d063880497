// Deferred tasks: activities that complete later, by a call from outside (provider.callbacks.3, provider.callbacks.4).
//   - sql.deferred.1: A final failure leaves a row with the outcome "closed" and the attempt as its digest. The same
//     call is then a repetition; every other call is refused.

import { callbackRequestId } from "../../core/ids/callback-messages.ts";
import { NEVER, type DeferItem, type TaskCallItem } from "../../core/provider/callbacks.ts";
import type { SimpleResult } from "../../core/provider/commit.ts";
import { CALLBACK_CLOSED, DONE, LEASE_LOST } from "../../core/provider/results.ts";
import {
  completedLater,
  failedLater,
  type LaterOutcome,
} from "../../core/provider/shared/deferred-tasks.ts";
import type { RequestOutcome } from "../../core/provider/shared/requests.ts";
import { checksumOf } from "../../core/values/checksum.ts";
import { integer, integerOrNull, text } from "../columns.ts";
import type { StoreParts } from "../parts.ts";
import { lockHead, readHead, readHeadByKey } from "../read/heads.ts";
import { taskOptionsOf } from "../rows/task-rows.ts";
import type { InstanceHead } from "../rows/instance-rows.ts";
import type { Scope } from "../script/scope.ts";
import { first, run, type Script } from "../script/script.ts";
import { Statement } from "../script/statement.ts";
import { findCallback, isLive, recordCallback } from "./callbacks.ts";
import { hasValues, settleLastRun, supersedeRuns } from "./streams.ts";

const AT = "instance = $1 AND execution = $2 AND sequence = $3";
const CLEAR_LEASE = "lease_owner = NULL, lease_token = NULL, lease_until = NULL";
const DEFER = new Statement(`
  UPDATE @tasks SET deferred_until = $5::bigint, available_at = $6::bigint, ${CLEAR_LEASE},
    heartbeat = coalesce($7::text, heartbeat),
    heartbeat_checksum = coalesce($8::bigint, heartbeat_checksum),
    progress = coalesce($9::text, progress),
    progress_checksum = coalesce($10::bigint, progress_checksum)
  WHERE ${AT} AND lease_token = $4::bigint RETURNING name`);
const BUMP = new Statement(`
  UPDATE @sessions SET last_activity_at = @now WHERE id = $1 AND token = $2 AND until > @now`);
const LOCK = new Statement(`
  SELECT name, attempt, deaths, options, deferred_until, lease_token FROM @tasks WHERE ${AT} FOR UPDATE`);
const DELETE = new Statement(`DELETE FROM @tasks WHERE ${AT}`);
const RETRY = new Statement(`
  UPDATE @tasks SET attempt = attempt + 1, available_at = $4::bigint, deferred_until = NULL,
    last_failure = $5, failure_checksum = $6::bigint, ${CLEAR_LEASE}, holds_slot = false
  WHERE ${AT}`);
const EXTEND = new Statement(`
  UPDATE @tasks SET available_at = least($4::bigint, deferred_until)
  WHERE ${AT} AND deferred_until IS NOT NULL AND lease_owner IS NULL`);

/** The attempt has returned, and its task waits for its completion from outside. */
export function* defer(
  { task, timeoutMs, heartbeatMs, heartbeat, progress }: DeferItem,
  { now, changes }: Scope,
): Script<SimpleResult> {
  const { key, execution, sequence, token, sessionClaim } = task;
  if (!(yield* hasValues(task))) return LEASE_LOST;
  const until = timeoutMs === undefined ? NEVER : after(now, timeoutMs);
  const beatBy = heartbeatMs === undefined ? NEVER : after(now, heartbeatMs);
  const availableAt = Math.min(until, beatBy);
  const row = yield* first(
    DEFER,
    ...[key, execution, sequence, token, until, availableAt],
    ...withChecksum(heartbeat),
    ...withChecksum(progress),
  );
  if (row === undefined) return LEASE_LOST;
  yield* supersedeRuns(task);
  if (sessionClaim !== undefined) yield* run(BUMP, sessionClaim.id, sessionClaim.token);
  const instance = yield* readHeadByKey(key);
  if (instance !== null) changes.changed(instance.id);
  // A runtime that polls learns when the attempt times out.
  if (availableAt < NEVER) changes.queued(text(row, "name"));
  return DONE;
}

/** Completes, fails or keeps alive an activity that completes later. */
export function* callTask<S extends Scope>(
  item: TaskCallItem,
  scope: S,
  parts: Pick<StoreParts<S>, "post">,
): Script<SimpleResult> {
  const target = yield* lockHead(item.id);
  const earlier = yield* findCallback(item, target);
  if (earlier !== null) return isRepeated(item, earlier) ? DONE : CALLBACK_CLOSED;
  if (target === null || !isLive(item, target)) return CALLBACK_CLOSED;
  const address = [target.key, item.execution, item.sequence] as const;
  const row = yield* first(LOCK, ...address);
  if (row === undefined) return CALLBACK_CLOSED;
  const { call } = item;
  const attempts = integer(row, "attempt") + 1;
  if (call.kind === "complete") {
    const outcome = completedLater(item, call.output, attempts);
    const { key } = target;
    const token = integerOrNull(row, "lease_token");
    if (yield* settleLastRun({ ...item, key }, token)) scope.changes.streamed(item.id);
    return yield* end(item, target, outcome, scope, parts);
  }
  if (call.attempt !== attempts) return DONE; // an earlier attempt: a repetition
  const options = taskOptionsOf(row) ?? null;
  if (call.kind === "heartbeat") {
    const { heartbeatTimeoutMs } = options ?? {};
    if (heartbeatTimeoutMs === undefined) return DONE;
    yield* run(EXTEND, ...address, after(scope.now, heartbeatTimeoutMs));
    return DONE;
  }
  const failures = attempts - integer(row, "deaths");
  const next = failedLater(item, call, { attempts, failures, retry: options?.retry });
  if (next.kind === "outcome") return yield* end(item, target, next.outcome, scope, parts);
  const availableAt = after(scope.now, next.delayMs);
  yield* run(RETRY, ...address, availableAt, call.failure, checksumOf(call.failure));
  lost(target, scope);
  scope.changes.queued(text(row, "name"));
  return DONE;
}

/** Removes the task and delivers its outcome. */
function* end<S extends Scope>(
  item: TaskCallItem,
  target: InstanceHead,
  outcome: LaterOutcome,
  scope: S,
  parts: Pick<StoreParts<S>, "post">,
): Script<SimpleResult> {
  const { id, runId, execution, sequence, call } = item;
  yield* run(DELETE, target.key, execution, sequence);
  const row =
    call.kind === "complete"
      ? ({ outcome: "done", digest: null } as const)
      : ({ outcome: "closed", digest: String(call.attempt) } as const); // sql.deferred.1
  yield* recordCallback(target.key, { key: callbackRequestId(item), execution, ...row });
  const message = { kind: "activity", execution, sequence, ...outcome } as const;
  yield* parts.post({ to: { id, runId }, ...message }, scope);
  lost(target, scope);
  return DONE;
}

/** An attempt that still runs has lost its lease, in this process or in another one. */
function lost({ id }: InstanceHead, { changes }: Scope): void {
  changes.changed(id);
  changes.withdrawn(id);
}

/** For `settle`. */
export function* settleTaskCall(item: TaskCallItem): Script<SimpleResult | null> {
  const row = yield* findCallback(item, yield* readHead(item.id));
  return row !== null && isRepeated(item, row) ? DONE : null;
}

/** sql.deferred.1 */
function isRepeated({ call }: TaskCallItem, { outcome, digest }: RequestOutcome): boolean {
  if (outcome === "done") return true;
  return call.kind === "fail" && digest === String(call.attempt);
}

function withChecksum(text: string | undefined): readonly [string, number] | readonly [null, null] {
  return text === undefined ? [null, null] : [text, checksumOf(text)];
}

function after(now: number, delayMs: number): number {
  return Math.min(Math.ceil(now + delayMs), NEVER);
}

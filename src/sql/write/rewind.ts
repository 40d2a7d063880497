// Rewind: begins the next execution of ended or blocked instances with a copied past (semantics 21b, commit.8).
//   - All targets are compared with the store before anything is written, under the locks of their families.
//   - sql.rewind.1: The outcome of a child that its parent has not received is deleted, so the parent does not learn of it.
//     A runtime that holds the parent may have read it already, so the parent must have no lease.
//   - A blocked execution ends first. Its children go on if the copied past waits for them.
//   - A rewound instance has no start message, so a wake message makes it due (fork.1).

import type {
  KeptOutcome,
  RewindItem,
  RewindResult,
  RewindTarget,
} from "../../core/provider/control.ts";
import type { Message } from "../../core/provider/messages.ts";
import { composeRow } from "../../core/history/rows.ts";
import { isTerminalStatus } from "../../core/provider/instances.ts";
import {
  activityKey,
  answerKey,
  childKey,
  sentKey,
  stepKey,
} from "../../core/provider/shared/message-keys.ts";
import { checksumOf, checksumOfCopy } from "../../core/values/checksum.ts";
import { integer } from "../columns.ts";
import type { StoreParts } from "../parts.ts";
import { lockHead, readHead } from "../read/heads.ts";
import { TARGET, type InstanceHead } from "../rows/instance-rows.ts";
import { addDue, type Scope } from "../script/scope.ts";
import { first, run, together, type Script } from "../script/script.ts";
import { call, Statement, type Call } from "../script/statement.ts";
import { finishAsks, releaseAskers } from "./asks.ts";
import { releaseWaiting } from "./enqueue-keys.ts";
import { findRequest } from "./requests.ts";
import { reopenStreams } from "./streams.ts";
import type { Terminations } from "./termination.ts";
import { insertWake } from "./wake.ts";

/** The text of StoreStatements.beginRewound. `other`: assignments to columns of one store. */
export function beginRewound(other = ""): string {
  return `
    UPDATE @instances AS i SET ${other}
      execution = i.execution + 1, replay_version = NULL,
      past_executions = i.past_executions + 1, past_events = i.past_events + i.last_event,
      steps_open = false, status = 'running', last_event = $2::bigint, copied_until = $2::bigint, last_commit = NULL,
      attributes = $3::text, attributes_checksum = $4::bigint,
      custom_status = $5::text, custom_status_checksum = $6::bigint,
      status_version = i.status_version + 1,
      completed_at = NULL, delete_after = NULL, output = NULL, error = NULL, ending_checksum = NULL,
      lease_owner = NULL, lease_token = NULL, lease_until = NULL, suspicion = 0,
      paused = NULL, blocked = NULL, blocked_by = NULL, cancel_requested = $8::text,
      updated_at = $7::bigint
    WHERE i.key = $1`;
}

const COPY_ROW = new Statement(`
  INSERT INTO @history (instance, execution, first, last, data, checksum)
  VALUES ($1, $2, $3, $4, $5, $6)`);
const CLEAR_KEY_VALUES = new Statement("DELETE FROM @kv WHERE instance = $1");
const COPY_KEY_VALUE = new Statement(`
  INSERT INTO @kv (instance, key, value, updated_at, checksum) VALUES ($1, $2, $3, $4, $5)`);
const CLEAR_MESSAGES = new Statement("DELETE FROM @inbox WHERE instance = $1 AND kind <> 'event'");
const INSERT_OUTCOME = new Statement(`
  INSERT INTO @inbox (
    instance, priority, target, parked, visible_at, execution, sequence, kind, name, key, data, checksum)
  SELECT i.key, i.priority, ${TARGET}, false, $2::bigint, $3::bigint, $4::bigint, $5::text, NULL,
    $6::text, $7::text, $8::bigint
  FROM @instances AS i WHERE i.key = $1`);
const TAKE_OUTCOME = new Statement(`
  DELETE FROM @inbox WHERE instance = $1 AND kind = 'child' AND key = $2 RETURNING id`);
const INSERT_REQUEST = new Statement(`
  INSERT INTO @requests (instance, kind, id, outcome, execution, created_at, digest)
  VALUES ($1, 'rewind', $2, 'started', $3, $4, NULL)`);
const SELECT_LAST_OUTCOME = new Statement(`
  SELECT coalesce(max(id), 0) AS id FROM @inbox
  WHERE instance = $1 AND kind IN ('activity', 'step', 'child', 'answer', 'sent')`);
const SELECT_DUE = new Statement(`
  SELECT i.id, i.lease_owner, ${TARGET} AS target FROM @instances AS i WHERE i.key = $1`);

/** What the script needs of a store. */
export interface RewindWriters<S extends Scope> {
  readonly terminations: Terminations<S>;
  readonly parts: StoreParts<S>;
}

export function* rewind<S extends Scope>(
  item: RewindItem,
  scope: S,
  writers: RewindWriters<S>,
): Script<RewindResult> {
  for (const { id } of item.targets) yield* writers.parts.lockFamily(id);
  const own = yield* lockHead(item.id);
  if (own === null) return refused("INSTANCE_NOT_FOUND", item.id);
  const earlier = yield* findRewind(own, item);
  if (earlier !== null) return earlier;
  const heads: InstanceHead[] = [];
  for (const target of item.targets) {
    const head = yield* lockHead(target.id);
    if (head === null) return refused("INSTANCE_NOT_FOUND", target.id);
    const changed = yield* changedOf(target, head);
    if (changed !== null) return refused("INSTANCE_RUNNING", changed);
    heads.push(head);
  }
  for (const [index, { id, withParent, unawareParent }] of item.targets.entries()) {
    const head = heads[index];
    if (head === undefined || withParent) continue;
    if (yield* isUnknownToParent(head, unawareParent)) continue;
    return refused("PARENT_INFORMED", id); // at most one target has a parent that is not a target
  }
  for (const [index, target] of item.targets.entries()) {
    const head = heads[index];
    if (head !== undefined) yield* writeTarget(target, head, scope, writers);
  }
  const execution = own.execution + 1;
  yield* run(INSERT_REQUEST, own.key, item.requestId, execution, scope.now);
  return { kind: "rewound", execution };
}

/** For `settle`. */
export function* settleRewind(item: RewindItem): Script<RewindResult | null> {
  const head = yield* readHead(item.id);
  return head === null ? null : yield* findRewind(head, item);
}

function* findRewind(
  { key }: InstanceHead,
  { requestId }: RewindItem,
): Script<RewindResult | null> {
  const found = yield* findRequest({ instance: key, kind: "rewind", id: requestId });
  return found === null ? null : { kind: "rewound", execution: found.execution };
}

function refused(
  code: (RewindResult & { readonly kind: "refused" })["code"],
  id: string,
): RewindResult {
  return { kind: "refused", code, id };
}

/** The instance that is not as the item says; null: there is none. */
function* changedOf(target: RewindTarget, head: InstanceHead): Script<string | null> {
  const hasEnded = isTerminalStatus(head.status);
  const isSame =
    head.runId === target.runId &&
    head.execution === target.execution &&
    head.lastEvent === target.lastEvent &&
    (target.terminated === null ? hasEnded : !hasEnded && head.blocked !== null);
  if (!isSame) return target.id;
  if (target.terminated !== null) {
    const row = yield* first(SELECT_LAST_OUTCOME, head.key);
    if (row !== undefined && integer(row, "id") !== target.lastOutcome) return target.id;
  }
  for (const id of target.liveChildren) {
    const child = yield* lockHead(id);
    if (child === null || isTerminalStatus(child.status) || child.cancelRequested !== null)
      return id;
  }
  return null;
}

/** sql.rewind.1 */
function* isUnknownToParent(
  { parent: link, status }: InstanceHead,
  unaware: number | null,
): Script<boolean> {
  const parent = link === null ? null : yield* lockHead(link.id);
  if (link === null || parent?.runId !== link.runId) return true; // no instance waits for it
  if (parent.execution === unaware) return true;
  if (isTerminalStatus(parent.status)) return false;
  if (!isTerminalStatus(status)) return true; // a blocked child
  if (parent.token !== null) return false;
  return (yield* run(TAKE_OUTCOME, parent.key, childKey(link))).length > 0;
}

function* writeTarget<S extends Scope>(
  target: RewindTarget,
  head: InstanceHead,
  scope: S,
  { terminations, parts }: RewindWriters<S>,
): Script<void> {
  const { key, id } = head;
  if (target.terminated !== null) yield* endBlocked(target.terminated, head, scope, parts);
  for (const child of target.cancelledChildren) {
    const running = yield* lockHead(child);
    if (running === null || isTerminalStatus(running.status)) continue;
    yield* terminations.requestCancel(running, target.childRequest, scope);
  }
  yield* finishAsks(key, scope);
  yield* reopenStreams(key, target.closedStreams);
  yield* run(CLEAR_MESSAGES, key);
  const execution = head.execution + 1;
  const attributes = JSON.stringify(target.attributes);
  const { status } = target;
  const statusSum = status === null ? null : checksumOf(status);
  const last = target.rows.at(-1)?.last ?? 0;
  yield* together(
    call(CLEAR_KEY_VALUES, key),
    call(
      parts.statements.beginRewound,
      ...[key, last, attributes, checksumOf(attributes), status, statusSum, scope.now],
      target.cancelRequested,
    ),
    ...target.rows.map((row) => {
      const sum = checksumOfCopy(row, key, execution, row.first, row.last, row.data);
      return call(COPY_ROW, key, execution, row.first, row.last, row.data, sum);
    }),
    ...target.keyValues.map(([name, value, updatedAt]) =>
      call(COPY_KEY_VALUE, key, name, value, Math.floor(updatedAt), checksumOf(key, name, value)),
    ),
    insertWake({ key, execution }, scope, parts),
    ...target.outcomes.map((outcome) => insertOutcome(outcome, { key, execution }, scope, parts)),
  );
  yield* parts.putBack(key, target.events, scope);
  scope.changes.changed(id);
  const due = yield* first(SELECT_DUE, key);
  if (due !== undefined) addDue([due], scope.changes);
}

/** Ends the execution of a blocked instance. Neither its parent nor its children learn of it. */
function* endBlocked<S extends Scope>(
  terminated: string,
  head: InstanceHead,
  scope: S,
  parts: StoreParts<S>,
): Script<void> {
  const { key, lastEvent, cancelRequested } = head;
  const next = lastEvent + 1;
  const row = { first: next, last: next, data: composeRow(scope.now, [terminated]) };
  const status = "terminated";
  yield* parts.end(head, { status, error: terminated, cancelRequested, row }, scope);
  yield* releaseAskers([head], scope, parts);
  yield* releaseWaiting([key], scope, parts);
}

const KEY_OF = {
  activity: activityKey,
  step: stepKey,
  child: childKey,
  answer: answerKey,
  sent: sentKey,
  timer: null,
} as const;

function insertOutcome<S extends Scope>(
  { kind, sequence, data }: KeptOutcome,
  { key: instance, execution }: { readonly key: number; readonly execution: number },
  { now: visibleAt }: Scope,
  { coveredOf }: StoreParts<S>,
): Call {
  const key = KEY_OF[kind]?.({ execution, sequence }) ?? null;
  const message = { kind, execution, sequence, name: null, data, key, visibleAt } satisfies Omit<
    Message,
    "id"
  >;
  const checksum = checksumOf(...coveredOf(instance, message));
  return call(INSERT_OUTCOME, instance, visibleAt, execution, sequence, kind, key, data, checksum);
}

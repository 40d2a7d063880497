// Tasks: their rows, from insert to outcome.
//   - A write that removes a task's row must name its token. Whether the row was still there decides
//       (provider.tasks.1).
//   - A write that frees a task returns it to the queue (lease/task-queue.ts) in the same statement.

import { checksumOf } from "../../core/values/checksum.ts";
import type {
  CompletionItem,
  ReleaseTaskItem,
  RetryItem,
  SimpleResult,
} from "../../core/provider/commit.ts";
import { activityKey } from "../../core/provider/shared/message-keys.ts";
import { DONE, LEASE_LOST } from "../../core/provider/results.ts";
import type { NewTask, TaskAddress, TaskClaim, TaskHeartbeat } from "../../core/provider/tasks.ts";
import { integerOrNull, text } from "../../sql/columns.ts";
import { BatchInsert, batchTexts } from "../sql/batch-insert.ts";
import { changed } from "../sql/changed.ts";
import type { Connection } from "../connection/connection.ts";
import { Subject } from "../connection/subject.ts";
import type { Inbox } from "../read/inbox.ts";
import { dueTime } from "../read/messages.ts";
import type { Instances } from "../read/instances.ts";
import type { Transaction } from "../notify/change-draft.ts";
import type { Streams } from "../write/streams.ts";
import type { SessionActivity, Sessions } from "./sessions.ts";
import { KEEP_DEFERRED_SLOT, queueKeyOf } from "../../sql/rows/queue-rows.ts";
import { tagsText } from "./task-rows.ts";

const CLAIM = "instance = ? AND execution = ? AND sequence = ? AND lease_token = ?";
const CLEAR_LEASE = "lease_owner = NULL, lease_token = NULL, lease_until = NULL";

interface TaskParts {
  readonly inbox: Inbox;
  readonly instances: Instances;
  readonly sessions: Sessions;
  readonly streams: Streams;
}

/** A new task of a first execution, without a lease. */
export interface WaitingTask {
  readonly key: number;
  readonly task: NewTask;
}

const FAILED = `
  available_at = ?, deferred_until = NULL, last_failure = ?, failure_checksum = ?, avoid = lease_owner,
  heartbeat = coalesce(?, heartbeat), heartbeat_checksum = coalesce(?, heartbeat_checksum)`;

/** A batch of rows, and one. */
const [INSERT_BATCH, INSERT_ONE] = batchTexts(
  `tasks (
      instance, sequence, available_at, priority, name, session, tags, options, input, checksum,
      queue_key, weight, execution, holds_slot, attempt, deaths, suspect)`,
  "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1, 0, 0, 0, 0)",
);

export class Tasks extends Subject {
  readonly #parts: TaskParts;
  readonly #insert = this.prepare(`
    INSERT INTO tasks (
      instance, execution, sequence, lease_token, lease_until, lease_owner, available_at,
      priority, name, session, tags, options, input, checksum, queue_key, weight, holds_slot,
      attempt, deaths, suspect
    ) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 0, 0)`);
  readonly #selectRuled = this.prepare("SELECT name FROM queues WHERE rule IS NOT NULL");
  readonly #insertWaiting = new BatchInsert(this.prepare(INSERT_BATCH), this.prepare(INSERT_ONE));
  readonly #delete = this.prepare(`DELETE FROM tasks WHERE ${CLAIM}`);
  readonly #cancel = this.prepare(`
    DELETE FROM tasks WHERE instance = ? AND execution = ? AND sequence = ?`);
  readonly #clear = this.prepare("DELETE FROM tasks WHERE instance = ?");
  readonly #retry = this.prepare(`
    UPDATE tasks SET attempt = attempt + 1, ${FAILED}, ${CLEAR_LEASE}, holds_slot = 0
    WHERE ${CLAIM}`);
  // A death counts for the task as the death of its runtime would (sql/lease/runtimes.ts).
  readonly #retryAfterDeath = this.prepare(`
    UPDATE tasks SET attempt = attempt + 1, suspect = (deaths >= 1), deaths = deaths + 1,
      ${FAILED}, ${CLEAR_LEASE}, holds_slot = 0
    WHERE ${CLAIM}`);
  readonly #release = this.prepare(`
    UPDATE tasks SET ${CLEAR_LEASE}, ${KEEP_DEFERRED_SLOT} WHERE ${CLAIM}`);
  readonly #renew = this.prepare(`
    UPDATE tasks SET lease_until = iif(lease_until IS NULL, NULL, ?) WHERE ${CLAIM}`);
  readonly #heartbeat = this.prepare(`
    UPDATE tasks SET
      heartbeat = coalesce(?, heartbeat), heartbeat_checksum = coalesce(?, heartbeat_checksum),
      progress = coalesce(?, progress), progress_checksum = coalesce(?, progress_checksum)
    WHERE ${CLAIM}`);
  readonly #selectToken = this.prepare(`
    SELECT lease_token FROM tasks WHERE instance = ? AND execution = ? AND sequence = ?`);

  /** The names of the queues with a rule, as this transaction sees them. */
  #ruled: { readonly in: Transaction; readonly names: ReadonlySet<string> } | null = null;

  constructor(connection: Connection, parts: TaskParts) {
    super(connection);
    this.#parts = parts;
  }

  /** False: the task must be leased in a session that its owner does not hold (sessions.5). */
  insert(
    instance: number,
    execution: number,
    task: NewTask,
    transaction: Transaction & SessionActivity,
  ): boolean {
    const { lease } = task;
    const claim = lease?.sessionClaim;
    if (claim !== undefined && !this.#parts.sessions.bump(claim, transaction)) return false;
    const { now } = transaction;
    const tags = tagsText(task.tags);
    const options = task.options === null ? null : JSON.stringify(task.options);
    const { sequence, name, session, input } = task;
    this.#insert.run(
      instance,
      execution,
      sequence,
      lease === null ? null : lease.token,
      lease?.leaseMs === undefined ? null : dueTime({ delayMs: lease.leaseMs }, now),
      lease === null ? null : lease.owner,
      now,
      task.priority,
      name,
      session,
      tags,
      options,
      input,
      checksumOf(instance, execution, sequence, name, session, tags, options, input),
      queueKeyOf(task),
      task.weight ?? null,
      lease !== null && this.#ruledIn(transaction).has(name) ? 1 : 0,
    );
    if (lease === null) transaction.changes.queued();
    return true;
  }

  /** Read once per transaction: a lookup in the statement would cost as much as half of the insert. */
  #ruledIn(transaction: Transaction): ReadonlySet<string> {
    if (this.#ruled?.in !== transaction) {
      const names = new Set(this.#selectRuled.all().map((row) => text(row, "name")));
      this.#ruled = { in: transaction, names };
    }
    return this.#ruled.names;
  }

  insertWaiting(tasks: readonly WaitingTask[], { now, changes }: Transaction): void {
    const rows = tasks.map(({ key, task }) => {
      const { sequence, name, session, input, priority } = task;
      const tags = tagsText(task.tags);
      const options = task.options === null ? null : JSON.stringify(task.options);
      const checksum = checksumOf(key, 1, sequence, name, session, tags, options, input);
      return [
        ...[key, sequence, now, priority, name, session, tags, options, input, checksum],
        queueKeyOf(task),
        task.weight ?? null,
      ];
    });
    this.#insertWaiting.run(rows);
    if (rows.length > 0) changes.queued();
  }

  /**
   * Removes the row if the claim still holds and no value of the attempt is missing in its streams, and settles
   * those values.
   */
  finish(claim: TaskClaim, transaction: Transaction & SessionActivity): boolean {
    const { key, execution, sequence, token, sessionClaim } = claim;
    if (!this.#parts.streams.hasValues(claim)) return false;
    if (!changed(this.#delete.run(key, execution, sequence, token))) return false;
    if (sessionClaim !== undefined) this.#parts.sessions.bump(sessionClaim, transaction);
    if (claim.streamValues !== undefined) this.#parts.streams.settle(claim, transaction);
    return true;
  }

  /** Whether `finish` accepts the claim. */
  holds(claim: TaskClaim): boolean {
    return this.find(claim)?.token === claim.token && this.#parts.streams.hasValues(claim);
  }

  /** A null token means that no worker holds the task. */
  find({ key, execution, sequence }: TaskAddress): { readonly token: number | null } | null {
    const row = this.#selectToken.get(key, execution, sequence);
    return row === undefined ? null : { token: integerOrNull(row, "lease_token") };
  }

  cancel(instance: number, execution: number, sequence: number, { changes }: Transaction): void {
    if (changed(this.#cancel.run(instance, execution, sequence))) changes.withdrawn();
  }

  clear(instance: number, { changes }: Transaction): void {
    if (changed(this.#clear.run(instance))) changes.withdrawn();
  }

  complete(
    { task, outcome }: CompletionItem,
    transaction: Transaction & SessionActivity,
  ): SimpleResult {
    const { now, changes } = transaction;
    if (!this.finish(task, transaction)) return LEASE_LOST;
    const { key: instance, execution, sequence } = task;
    this.#parts.inbox.insert(instance, {
      kind: "activity",
      execution,
      sequence,
      name: null,
      data: outcome,
      key: activityKey(task),
      visibleAt: now,
    });
    const owner = this.#parts.instances.get(instance);
    if (owner !== null) changes.due(owner.id);
    return DONE;
  }

  retry(
    { task, delayMs, failure, heartbeat, died }: RetryItem,
    { now, changes, bumped }: Transaction & SessionActivity,
  ): SimpleResult {
    const { key, execution, sequence, token } = task;
    const availableAt = dueTime({ delayMs }, now);
    const claim = [key, execution, sequence, token];
    const statement = died === true ? this.#retryAfterDeath : this.#retry;
    const texts = [failure, checksumOf(failure), ...withChecksum(heartbeat)];
    if (!changed(statement.run(availableAt, ...texts, ...claim))) return LEASE_LOST;
    if (task.sessionClaim !== undefined) {
      this.#parts.sessions.bump(task.sessionClaim, { now, bumped });
    }
    changes.queued();
    return DONE;
  }

  release({ task }: ReleaseTaskItem, { changes }: Transaction): SimpleResult {
    const { key, execution, sequence, token } = task;
    if (!changed(this.#release.run(key, execution, sequence, token))) return LEASE_LOST;
    changes.queued();
    return DONE;
  }

  /** Returns false if the claim no longer holds. */
  renew(claim: TaskClaim, until: number, activity: SessionActivity): boolean {
    const { key, execution, sequence, token, sessionClaim } = claim;
    if (!changed(this.#renew.run(until, key, execution, sequence, token))) return false;
    if (sessionClaim !== undefined) this.#parts.sessions.bump(sessionClaim, activity);
    return true;
  }

  /** Returns false if the claim no longer holds. */
  heartbeat({ task, details, progress }: TaskHeartbeat, { changes }: Transaction): boolean {
    const { key, execution, sequence, token } = task;
    const claim = [key, execution, sequence, token];
    const texts = [...withChecksum(details), ...withChecksum(progress)];
    if (!changed(this.#heartbeat.run(...texts, ...claim))) return false;
    const instance = progress === undefined ? null : this.#parts.instances.get(key);
    if (instance !== null) changes.progressed(instance.id);
    return true;
  }
}

/** A text and its checksum; two nulls if the text is undefined. */
function withChecksum(text: string | undefined): readonly [string, number] | readonly [null, null] {
  return text === undefined ? [null, null] : [text, checksumOf(text)];
}

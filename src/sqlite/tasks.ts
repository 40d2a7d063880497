// Tasks: their rows, from birth to outcome.
//   K1. Whoever takes a task's row away names its token; the row being gone decides (K1 of the contract).
//   K2. Whoever frees a task gives it back to the queue (task-queue.ts) in the same statement.

import type { StatementSync } from "node:sqlite";
import { checksumOf } from "../core/checksum.ts";
import type {
  CompletionItem,
  ReleaseTaskItem,
  RetryItem,
  SimpleResult,
} from "../core/provider/commit.ts";
import { DONE, LEASE_LOST } from "../core/provider/results.ts";
import type {
  NewTask,
  TaskAddress,
  TaskClaim,
  TaskHeartbeat,
  TaskRecord,
} from "../core/provider/tasks.ts";
import { changed, integerOrNull } from "./columns.ts";
import type { Connection } from "./connection.ts";
import type { Inbox } from "./inbox.ts";
import { dueTime } from "./messages.ts";
import type { Instances } from "./instances.ts";
import type { Transaction } from "./news.ts";
import type { Sessions } from "./sessions.ts";
import { RECORD_COLUMNS, tagsText, toTaskRecord } from "./task-rows.ts";

const CLAIM = "instance = ? AND execution = ? AND sequence = ? AND lease_token = ?";
const FREE = "lease_owner = NULL, lease_token = NULL, lease_until = NULL";

export class Tasks {
  readonly #inbox: Inbox;
  readonly #instances: Instances;
  readonly #sessions: Sessions;
  readonly #insert: StatementSync;
  readonly #delete: StatementSync;
  readonly #cancel: StatementSync;
  readonly #clear: StatementSync;
  readonly #retry: StatementSync;
  readonly #bury: StatementSync;
  readonly #release: StatementSync;
  readonly #renew: StatementSync;
  readonly #heartbeat: StatementSync;
  readonly #selectToken: StatementSync;
  readonly #select: StatementSync;

  constructor(
    connection: Connection,
    parts: { readonly inbox: Inbox; readonly instances: Instances; readonly sessions: Sessions },
  ) {
    this.#inbox = parts.inbox;
    this.#instances = parts.instances;
    this.#sessions = parts.sessions;
    this.#insert = connection.prepare(`
      INSERT INTO tasks (
        instance, execution, sequence, lease_token, lease_until, lease_owner, available_at,
        priority, name, session, tags, options, input, checksum, attempt, deaths, suspect
      ) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 0, 0)`);
    this.#delete = connection.prepare(`DELETE FROM tasks WHERE ${CLAIM}`);
    this.#cancel = connection.prepare(
      "DELETE FROM tasks WHERE instance = ? AND execution = ? AND sequence = ?",
    );
    this.#clear = connection.prepare("DELETE FROM tasks WHERE instance = ?");
    const failed = `
      available_at = ?, last_failure = ?, failure_checksum = ?, avoid = lease_owner,
      heartbeat = coalesce(?, heartbeat), heartbeat_checksum = coalesce(?, heartbeat_checksum)`;
    this.#retry = connection.prepare(`
      UPDATE tasks SET attempt = attempt + 1, ${failed}, ${FREE}
      WHERE ${CLAIM}`);
    // As the death of a whole runtime counts (runtimes.ts), for one task.
    this.#bury = connection.prepare(`
      UPDATE tasks SET attempt = attempt + 1, suspect = (deaths >= 1), deaths = deaths + 1,
        ${failed}, ${FREE}
      WHERE ${CLAIM}`);
    this.#release = connection.prepare(`UPDATE tasks SET ${FREE} WHERE ${CLAIM}`);
    this.#renew = connection.prepare(`
      UPDATE tasks SET lease_until = iif(lease_until IS NULL, NULL, ?) WHERE ${CLAIM}`);
    this.#heartbeat = connection.prepare(`
      UPDATE tasks SET
        heartbeat = coalesce(?, heartbeat), heartbeat_checksum = coalesce(?, heartbeat_checksum),
        progress = coalesce(?, progress), progress_checksum = coalesce(?, progress_checksum)
      WHERE ${CLAIM}`);
    this.#selectToken = connection.prepare(
      "SELECT lease_token FROM tasks WHERE instance = ? AND execution = ? AND sequence = ?",
    );
    this.#select = connection.prepare(`
      SELECT ${RECORD_COLUMNS} FROM tasks WHERE instance = ? AND execution = ? ORDER BY sequence`);
  }

  insert(instance: number, execution: number, task: NewTask, transaction: Transaction): void {
    const { lease } = task;
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
    );
    if (lease === null) transaction.news.queued();
  }

  /** Takes the row away if the claim still holds. */
  finish(claim: TaskClaim): boolean {
    const { key, execution, sequence, token, sessionClaim } = claim;
    if (!changed(this.#delete.run(key, execution, sequence, token))) return false;
    if (sessionClaim !== undefined) this.#sessions.bump(sessionClaim);
    return true;
  }

  holds(claim: TaskClaim): boolean {
    return this.find(claim)?.token === claim.token;
  }

  /** A null token: nobody holds it. */
  find({ key, execution, sequence }: TaskAddress): { readonly token: number | null } | null {
    const row = this.#selectToken.get(key, execution, sequence);
    return row === undefined ? null : { token: integerOrNull(row, "lease_token") };
  }

  cancel(instance: number, execution: number, sequence: number, { news }: Transaction): void {
    if (changed(this.#cancel.run(instance, execution, sequence))) news.withdrawn();
  }

  clear(instance: number, { news }: Transaction): void {
    if (changed(this.#clear.run(instance))) news.withdrawn();
  }

  complete({ task, outcome }: CompletionItem, { now, news }: Transaction): SimpleResult {
    if (!this.finish(task)) return LEASE_LOST;
    const { key: instance, execution, sequence } = task;
    this.#inbox.insert(instance, {
      kind: "activity",
      execution,
      sequence,
      name: null,
      data: outcome,
      key: `a:${execution}:${sequence}`,
      visibleAt: now,
    });
    const owner = this.#instances.get(instance);
    if (owner !== null) news.due(owner.id);
    return DONE;
  }

  retry(
    { task, delayMs, failure, heartbeat, died }: RetryItem,
    { now, news }: Transaction,
  ): SimpleResult {
    const { key, execution, sequence, token } = task;
    const availableAt = dueTime({ delayMs }, now);
    const claim = [key, execution, sequence, token];
    const statement = died === true ? this.#bury : this.#retry;
    const texts = [failure, checksumOf(failure), ...sealed(heartbeat)];
    if (!changed(statement.run(availableAt, ...texts, ...claim))) return LEASE_LOST;
    if (task.sessionClaim !== undefined) this.#sessions.bump(task.sessionClaim);
    news.queued();
    return DONE;
  }

  release({ task }: ReleaseTaskItem, { news }: Transaction): SimpleResult {
    const { key, execution, sequence, token } = task;
    if (!changed(this.#release.run(key, execution, sequence, token))) return LEASE_LOST;
    news.queued();
    return DONE;
  }

  /** False: the claim does not hold any more. */
  renew(claim: TaskClaim, until: number): boolean {
    const { key, execution, sequence, token, sessionClaim } = claim;
    if (!changed(this.#renew.run(until, key, execution, sequence, token))) return false;
    if (sessionClaim !== undefined) this.#sessions.bump(sessionClaim);
    return true;
  }

  /** False: the claim does not hold any more. */
  heartbeat({ task, details, progress }: TaskHeartbeat, { news }: Transaction): boolean {
    const { key, execution, sequence, token } = task;
    const claim = [key, execution, sequence, token];
    const texts = [...sealed(details), ...sealed(progress)];
    if (!changed(this.#heartbeat.run(...texts, ...claim))) return false;
    const instance = progress === undefined ? null : this.#instances.get(key);
    if (instance !== null) news.progressed(instance.id);
    return true;
  }

  read({ key, execution }: Omit<TaskAddress, "sequence">): TaskRecord[] {
    return this.#select.all(key, execution).map(toTaskRecord);
  }
}

/** A text and its checksum; absent: neither. */
function sealed(text: string | undefined): readonly [string, number] | readonly [null, null] {
  return text === undefined ? [null, null] : [text, checksumOf(text)];
}

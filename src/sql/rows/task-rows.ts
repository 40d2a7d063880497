// Task rows: maps rows about tasks to the records of the contract.
//   - SQLite stores tags as JSON text, empty for none; PostgreSQL as a list, which is read as JSON text.
//   - A task with unreadable options or tags, or with a row that fails its checksum, is returned with a flag
//     that says so. The runtime decides how it ends; it must not stop a fetch (semantics 6, provider.3).

import { isDamaged } from "../../core/values/checksum.ts";
import type { QueueRecord } from "../../core/provider/admin.ts";
import {
  flag,
  integer,
  integerOrNull,
  isTextList,
  json,
  text,
  textOrNull,
  type Row,
} from "../columns.ts";
import type { LeasedTask, TaskOptions, TaskRecord } from "../../core/provider/tasks.ts";

/** SQL for the tags of a task, as JSON text. */
export const tagsColumn = (task: string): string => `array_to_json(${task}.tags)::text AS tags`;

/** Columns of a task `t`. */
export const TASK_COLUMNS = `
  t.instance, t.execution, t.sequence, t.name, t.attempt, t.available_at, t.lease_owner,
  ${tagsColumn("t")}, t.session, t.suspect, t.last_failure, t.failure_checksum, t.progress,
  t.progress_checksum, t.deferred_until`;

/** Reads TASK_COLUMNS. */
export function toTaskRecord(row: Row): TaskRecord {
  const lastFailure = textOrNull(row, "last_failure");
  const progress = textOrNull(row, "progress");
  const isWrong =
    isDamaged(integerOrNull(row, "failure_checksum"), lastFailure) ||
    isDamaged(integerOrNull(row, "progress_checksum"), progress);
  return {
    key: integer(row, "instance"),
    execution: integer(row, "execution"),
    sequence: integer(row, "sequence"),
    name: text(row, "name"),
    attempt: integer(row, "attempt"),
    availableAt: integer(row, "available_at"),
    owner: textOrNull(row, "lease_owner"),
    tags: tagsOf(row) ?? [],
    session: textOrNull(row, "session"),
    suspect: flag(row, "suspect"),
    lastFailure,
    progress,
    ...(row["deferred_until"] === null ? {} : { isDeferred: true }),
    ...(isWrong ? { damaged: true } : {}),
  };
}

/**
 * Reads the columns of the task, and id, run_id, name AS orchestration and version of its instance.
 * `covered` is the text of the tags that the checksum of the task covers.
 */
export function toLeasedTask(row: Row, covered: string | null): LeasedTask {
  const options = taskOptionsOf(row);
  const deferred = deferredOf(row);
  const tags = tagsOf(row);
  const isUnreadable = options === undefined || tags === undefined || isWrong(row, covered);
  return {
    key: integer(row, "instance"),
    execution: integer(row, "execution"),
    sequence: integer(row, "sequence"),
    token: integer(row, "lease_token"),
    instanceId: text(row, "id"),
    runId: text(row, "run_id"),
    orchestration: text(row, "orchestration"),
    orchestrationVersion: textOrNull(row, "version") ?? "",
    name: text(row, "name"),
    input: text(row, "input"),
    options: options ?? null,
    session: textOrNull(row, "session"),
    tags: tags ?? null,
    priority: integer(row, "priority"),
    ...queueKey(row),
    attempt: integer(row, "attempt"),
    availableAt: integer(row, "available_at"),
    deaths: integer(row, "deaths"),
    suspect: flag(row, "suspect"),
    heartbeat: textOrNull(row, "heartbeat"),
    ...(deferred === null ? {} : { deferred }),
    ...(isUnreadable ? { undecodable: true } : {}),
  };
}

/** A stored empty key stands for none. */
function queueKey(row: Row): Pick<LeasedTask, "queueKey"> {
  const key = textOrNull(row, "queue_key");
  return key === null || key === "" ? {} : { queueKey: key };
}

function isWrong(row: Row, covered: string | null): boolean {
  const heartbeat = textOrNull(row, "heartbeat");
  return (
    isDamaged(integerOrNull(row, "heartbeat_checksum"), heartbeat) ||
    isDamaged(
      integerOrNull(row, "checksum"),
      ...[integer(row, "instance"), integer(row, "execution"), integer(row, "sequence")],
      ...[text(row, "name"), textOrNull(row, "session"), covered],
      ...[textOrNull(row, "options"), text(row, "input")],
    )
  );
}

export function toQueue(row: Row): QueueRecord {
  return {
    name: text(row, "name"),
    tags: tagsOf(row) ?? [],
    priority: integer(row, "priority"),
    waiting: integer(row, "waiting"),
    running: integer(row, "running"),
    delayed: integer(row, "delayed"),
    oldestAvailableAt: integerOrNull(row, "oldest"),
  };
}

/** Null: the task has none. Undefined: they cannot be read. */
export function taskOptionsOf(row: Row): TaskOptions | null | undefined {
  return row["options"] === null ? null : json(row, "options", isTaskOptions);
}

/** Which timeout has ended the wait of a deferred task. Null: it is not deferred. */
function deferredOf(row: Row): NonNullable<LeasedTask["deferred"]> | null {
  const until = integerOrNull(row, "deferred_until");
  if (until === null) return null;
  return integer(row, "available_at") >= until ? "timeout" : "heartbeat";
}

/** The store wrote it from a TaskOptions. The runtime checks its members (provider.3). */
function isTaskOptions(value: unknown): value is TaskOptions {
  return typeof value === "object" && value !== null;
}

/** Null if there are no tags; undefined if they cannot be read. */
export function tagsOf(row: Row): readonly string[] | null | undefined {
  const tags = text(row, "tags") === "" ? [] : json(row, "tags", isTextList);
  return tags?.length === 0 ? null : tags;
}

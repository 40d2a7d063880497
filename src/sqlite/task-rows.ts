// Task rows: what is read of a task, and as what.
//   T1. A task whose options or tags cannot be read, or which is not what was written, is handed over and says so: its
//       end is the runtime's business, and it must not stop a fetch (semantics 6, S4).

import { isDamaged } from "../core/checksum.ts";
import type { LeasedTask, TaskOptions, TaskRecord } from "../core/provider/tasks.ts";
import { integer, integerOrNull, json, text, textOrNull, type Row } from "./columns.ts";

export const RECORD_COLUMNS = `
  instance, execution, sequence, name, attempt, available_at, lease_owner, tags, session, suspect,
  last_failure, failure_checksum, progress, progress_checksum`;
export const LEASED_COLUMNS = `
  instance, execution, sequence, lease_token, name, input, options, session, tags, priority,
  attempt, deaths, suspect, heartbeat, heartbeat_checksum, checksum`;

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
    tags: tagsOf(text(row, "tags")) ?? [],
    session: textOrNull(row, "session"),
    suspect: integer(row, "suspect") === 1,
    lastFailure,
    progress,
    ...(isWrong ? { damaged: true } : {}),
  };
}

/** From LEASED_COLUMNS and the instance's id, run_id, name AS orchestration and version. */
export function toLeasedTask(row: Row): LeasedTask {
  const options = row["options"] === null ? null : json(row, "options", isTaskOptions);
  const tags = tagsOf(text(row, "tags"));
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
    attempt: integer(row, "attempt"),
    deaths: integer(row, "deaths"),
    suspect: integer(row, "suspect") === 1,
    heartbeat: textOrNull(row, "heartbeat"),
    ...(options === undefined || tags === undefined || isWrong(row) ? { undecodable: true } : {}),
  };
}

function isWrong(row: Row): boolean {
  const heartbeat = textOrNull(row, "heartbeat");
  return (
    isDamaged(integerOrNull(row, "heartbeat_checksum"), heartbeat) ||
    isDamaged(
      integerOrNull(row, "checksum"),
      ...[integer(row, "instance"), integer(row, "execution"), integer(row, "sequence")],
      ...[text(row, "name"), textOrNull(row, "session"), text(row, "tags")],
      ...[textOrNull(row, "options"), text(row, "input")],
    )
  );
}

/** Tags as they are stored: equal sets are equal texts, none at all is the empty one. */
export function tagsText(tags: readonly string[] | null): string {
  if (tags === null || tags.length === 0) return "";
  return JSON.stringify([...new Set(tags)].toSorted());
}

/** Undefined: they cannot be read back. */
export function tagsOf(tags: string): readonly string[] | null | undefined {
  return tags === "" ? null : json({ tags }, "tags", isTextList);
}

/** Written by this provider from a TaskOptions; its members are the runtime's to judge (S4). */
function isTaskOptions(value: unknown): value is TaskOptions {
  return typeof value === "object" && value !== null;
}

function isTextList(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((member) => typeof member === "string");
}

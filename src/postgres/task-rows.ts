// Task rows: what is read of a task, and as what.
//   T1. A task whose options cannot be read, or which is not what was written, is handed over and says so: its end is
//       the runtime's business, and it must not stop a fetch (semantics 6, S4). Its tags are a list of the database's,
//       and can be read.

import { createHash } from "node:crypto";
import { isDamaged } from "../core/checksum.ts";
import type { LeasedTask, TaskOptions, TaskRecord } from "../core/provider/tasks.ts";
import { flag, integer, integerOrNull, json, text, textOrNull, type Row } from "./columns.ts";

const TAGS = "array_to_json(t.tags)::text AS tags";

/** Of a task `t`. */
export const RECORD_COLUMNS = `
  t.instance, t.execution, t.sequence, t.name, t.attempt, t.available_at, t.lease_owner, ${TAGS},
  t.session, t.suspect, t.last_failure, t.failure_checksum, t.progress, t.progress_checksum`;
/** Of a task `t` and its instance `i`. */
export const LEASED_COLUMNS = `
  t.instance, t.execution, t.sequence, t.lease_token, t.name, t.input, t.options, t.session,
  ${TAGS}, t.priority, t.attempt, t.deaths, t.suspect, t.heartbeat, t.heartbeat_checksum, t.checksum,
  i.id, i.run_id, i.name AS orchestration, i.version`;

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
    ...(isWrong ? { damaged: true } : {}),
  };
}

/** From LEASED_COLUMNS. */
export function toLeasedTask(row: Row): LeasedTask {
  const options = row["options"] === null ? null : json(row, "options", isTaskOptions);
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
    tags: tagsOf(row),
    priority: integer(row, "priority"),
    attempt: integer(row, "attempt"),
    deaths: integer(row, "deaths"),
    suspect: flag(row, "suspect"),
    heartbeat: textOrNull(row, "heartbeat"),
    ...(options === undefined || isWrong(row) ? { undecodable: true } : {}),
  };
}

function isWrong(row: Row): boolean {
  const heartbeat = textOrNull(row, "heartbeat");
  return (
    isDamaged(integerOrNull(row, "heartbeat_checksum"), heartbeat) ||
    isDamaged(
      integerOrNull(row, "checksum"),
      ...[integer(row, "instance"), integer(row, "execution"), integer(row, "sequence")],
      ...[text(row, "name"), textOrNull(row, "session"), tagsText(tagsOf(row))],
      ...[textOrNull(row, "options"), text(row, "input")],
    )
  );
}

/** A set of tags as it is stored: a list, and a short text that is alike for equal sets, which fits an index. */
export function tagColumns(tags: readonly string[] | null): {
  readonly tag_set: string;
  readonly tags: string | null;
} {
  const list = tagsText(tags);
  if (list === null) return { tag_set: "", tags: null };
  return { tag_set: createHash("sha256").update(list).digest("base64url"), tags: list };
}

/** Alike for equal sets; null: none at all. */
function tagsText(tags: readonly string[] | null): string | null {
  if (tags === null || tags.length === 0) return null;
  return JSON.stringify([...new Set(tags)].toSorted());
}

/** Null: none at all. */
export function tagsOf(row: Row): readonly string[] | null {
  const tags = json(row, "tags", isTextList) ?? [];
  return tags.length === 0 ? null : tags;
}

/** Written by this provider from a TaskOptions; its members are the runtime's to judge (S4). */
function isTaskOptions(value: unknown): value is TaskOptions {
  return typeof value === "object" && value !== null;
}

function isTextList(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((member) => typeof member === "string");
}

// Task rows: the columns that are read of a task that is leased, and how tags are stored.
//   - A task with unreadable options, or with a row that fails its checksum, is returned with a flag that
//       says so. The runtime decides how it ends; it must not stop a fetch (semantics 6, provider.3). Tags
//       are a PostgreSQL array and can always be read.

import { createHash } from "node:crypto";
import * as mappings from "../../sql/rows/task-rows.ts";
import type { LeasedTask } from "../../core/provider/tasks.ts";
import type { Row } from "../../sql/columns.ts";

/** Columns of a task `t` and its instance `i`. */
export const LEASED_COLUMNS = `
  t.instance, t.execution, t.sequence, t.lease_token, t.name, t.input, t.options, t.session,
  ${mappings.tagsColumn("t")}, t.priority, t.attempt, t.deaths, t.suspect, t.heartbeat,
  t.heartbeat_checksum, t.checksum, t.deferred_until, t.available_at, t.queue_key, i.id, i.run_id, i.name AS orchestration, i.version`;

/** Reads LEASED_COLUMNS. */
export function toLeasedTask(row: Row): LeasedTask {
  return mappings.toLeasedTask(row, tagsText(mappings.tagsOf(row) ?? null));
}

/**
 * A set of tags as it is stored: a list, and a hash that is equal for equal sets and short enough for an
 * index.
 */
export function tagColumns(tags: readonly string[] | null): {
  readonly tag_set: string;
  readonly tags: string | null;
} {
  const list = tagsText(tags);
  if (list === null) return { tag_set: "", tags: null };
  return { tag_set: createHash("sha256").update(list).digest("base64url"), tags: list };
}

/** Equal texts for equal sets; null for no tags. */
function tagsText(tags: readonly string[] | null): string | null {
  if (tags === null || tags.length === 0) return null;
  return JSON.stringify([...new Set(tags)].toSorted());
}

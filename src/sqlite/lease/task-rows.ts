// Task rows: the columns that are read of a task that is leased, and how tags are stored.
//   - A task with unreadable options or tags, or with a row that fails its checksum, is returned with a
//       flag that says so. The runtime decides how it ends; it must not stop a fetch (semantics 6,
//       provider.3).

import type { LeasedTask } from "../../core/provider/tasks.ts";
import { text, type Row } from "../../sql/columns.ts";
import * as mappings from "../../sql/rows/task-rows.ts";

export const LEASED_COLUMNS = `
  instance, execution, sequence, lease_token, name, input, options, session, tags, priority,
  attempt, deaths, suspect, heartbeat, heartbeat_checksum, checksum, available_at,
  deferred_until, queue_key`;

/** Reads LEASED_COLUMNS and the instance's id, run_id, name AS orchestration and version. */
export function toLeasedTask(row: Row): LeasedTask {
  return mappings.toLeasedTask(row, text(row, "tags"));
}

/** Tags as they are stored: equal sets give equal texts, and no tags give the empty text. */
export function tagsText(tags: readonly string[] | null): string {
  if (tags === null || tags.length === 0) return "";
  return JSON.stringify([...new Set(tags)].toSorted());
}

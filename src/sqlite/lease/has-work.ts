// Has work: one statement that tells an idle runtime whether it should try to lease something.
//   - The answer may be a false yes, never a false no. It ignores targets, names, tags and sessions. Of due
//       messages whose instances cannot be leased it checks only the first CHECKED_MAX per partition.
//   - The cost grows with the number of partitions, not with the number of sleeping instances: one index
//       lookup per partition finds the first due row.

import type { WorkSummary, WorkSummaryRequest } from "../../core/provider/runtimes.ts";
import { integer } from "../../sql/columns.ts";
import { Subject } from "../connection/subject.ts";
import { looseIndexScan } from "../sql/loose-index-scan.ts";
import { LEASE_IS_FREE, TAKEABLE } from "./due-instances.ts";
import { ruledOf } from "../../sql/rows/queue-rows.ts";
import { toRuntime } from "../../sql/rows/runtime-rows.ts";

const CHECKED_MAX = 100;
const TASK_PARTITION = ["suspect", "name", "tags", "priority"];
const PLAIN = "lease_owner IS NULL AND session IS NULL";
const OF_SESSIONS = "lease_owner IS NULL AND session IS NOT NULL";

export class HasWork extends Subject {
  readonly #select = this.prepare(`
    WITH RECURSIVE
      ${looseIndexScan("inbox_partitions", "inbox", "parked = 0", ["target", "priority"])},
      ${looseIndexScan("task_partitions", "tasks", PLAIN, TASK_PARTITION)},
      ${looseIndexScan("session_partitions", "tasks", OF_SESSIONS, TASK_PARTITION)}
    SELECT summary.*, runtimes.* FROM (
      SELECT
        EXISTS (SELECT 1 FROM inbox_partitions AS part WHERE ${IS_DUE})
          OR EXISTS (SELECT 1 FROM instances WHERE ${IS_STRANDED}) AS instances,
        EXISTS (SELECT 1 FROM task_partitions AS part WHERE ${isWaiting("session IS NULL")})
          OR EXISTS (SELECT 1 FROM session_partitions AS part WHERE ${isWaiting("session IS NOT NULL")})
          OR EXISTS (SELECT 1 FROM tasks WHERE ${IS_OVERDUE}) AS tasks,
        (SELECT json_group_array(name ORDER BY name) FROM queues
          WHERE rule IS NOT NULL OR paused IS NOT NULL) AS ruled
    ) AS summary LEFT JOIN runtimes ORDER BY started_at, id`);

  read({ owner }: WorkSummaryRequest): Promise<WorkSummary> {
    return this.connection.readAhead(() => {
      const rows = this.#select.all(this.connection.now(), owner, JSON.stringify(owner));
      const summary = rows[0] ?? {};
      const clockSetBackMs = this.connection.takeSetBackMs();
      return {
        ...(clockSetBackMs > 0 ? { clockSetBackMs } : {}),
        instances: integer(summary, "instances") === 1,
        tasks: integer(summary, "tasks") === 1,
        ...ruledOf(summary),
        runtimes: rows.filter((row) => row["id"] !== null).map(toRuntime),
      };
    });
  }
}

/** ?1 is now; ?2 is the owner; ?3 is the owner as a JSON string, as for a lease. */
const DUE_IN_PARTITION = `
  FROM inbox AS m WHERE m.parked = 0 AND m.target = part.target AND m.priority = part.priority
    AND m.visible_at <= ?1`;
const IS_DUE = `
  EXISTS (
    SELECT 1 FROM (SELECT m.instance ${DUE_IN_PARTITION} ORDER BY m.visible_at LIMIT ${CHECKED_MAX}) AS due
    CROSS JOIN instances ON instances.key = due.instance
    WHERE (${LEASE_IS_FREE} OR lease_owner = ?2) AND ${TAKEABLE})
  OR EXISTS (SELECT 1 ${DUE_IN_PARTITION} ORDER BY m.visible_at LIMIT 1 OFFSET ${CHECKED_MAX})`;
const IS_STRANDED = `
  steps_open = 1 AND lease_until IS NOT NULL AND lease_until <= ?1 AND lease_owner <> ?2
  AND ${TAKEABLE}`;
const isWaiting = (which: string): string => `
  EXISTS (
    SELECT 1 FROM tasks AS t
    WHERE t.lease_owner IS NULL AND t.${which} AND t.suspect = part.suspect AND t.name = part.name
      AND t.tags = part.tags AND t.priority = part.priority AND t.available_at <= ?1)`;
const IS_OVERDUE = "lease_until IS NOT NULL AND lease_until <= ?1";

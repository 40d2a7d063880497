// Has work: one statement that tells an idle runtime whether it should try to lease something.
//   - The answer may be a false yes, never a false no. It ignores targets, names, tags and sessions. Of due
//       messages whose instances cannot be leased it checks only the first CHECKED_MAX per partition.
//   - The cost grows with the number of partitions, not with the number of sleeping instances: one index
//       lookup per partition finds the first due row.
//   - The answer includes the store's time, so that an idle process keeps its estimate of the clock.
//   - The answer identifies the server by its start time. A promoted standby and a server that crashed and
//       restarted have another start time, and may lack the last commits.

import type { WorkSummary, WorkSummaryRequest } from "../../core/provider/runtimes.ts";
import { flag, integer, only, text } from "../../sql/columns.ts";
import { Subject } from "../connection/subject.ts";
import { looseIndexScan } from "../sql/loose-index-scan.ts";
import { LEASE_IS_FREE, takeable } from "./due-instances.ts";
import { ruledOf } from "../../sql/rows/queue-rows.ts";
import { toRuntime } from "../../sql/rows/runtime-rows.ts";
import { RUNTIME_COLUMNS } from "../../sql/lease/runtimes.ts";
import { PARTITION_COLUMNS, IN_PARTITION, OF_SESSIONS, PLAIN } from "./queue-partitions.ts";
import { indexEquals, exists } from "../../sql/index-lookup.ts";

const CHECKED_MAX = 100;

/** $1 is the owner; $2 is the owner as a JSON string. */
const DUE_IN_PARTITION = `
  FROM @inbox AS m WHERE NOT m.parked AND m.target = c.target AND m.priority = c.priority
    AND m.visible_at <= (SELECT @clock())`;
const IS_DUE = `
  ${exists(`
    FROM (SELECT m.instance ${DUE_IN_PARTITION} ORDER BY m.visible_at LIMIT ${CHECKED_MAX}) AS due
    JOIN @instances AS i ON ${indexEquals("i.key", "due.instance")}
    WHERE (${LEASE_IS_FREE} OR i.lease_owner = $1) AND ${takeable("$2")}`)}
  OR ${exists(`FROM (SELECT 1 ${DUE_IN_PARTITION} ORDER BY m.visible_at OFFSET ${CHECKED_MAX} LIMIT 1) AS beyond`)}`;
const IS_STRANDED = `
  i.steps_open AND i.lease_until IS NOT NULL AND i.lease_until <= (SELECT @clock())
  AND i.lease_owner <> $1 AND ${takeable("$2")}`;
const isWaiting = (condition: string): string =>
  exists(`
    FROM @tasks AS r
    WHERE ${condition} AND ${IN_PARTITION} AND r.available_at <= (SELECT @clock())
    ORDER BY r.available_at`);
const IS_OVERDUE = "t.lease_until IS NOT NULL AND t.lease_until <= (SELECT @clock())";

const tasks = (name: string, condition: string): string =>
  looseIndexScan(name, { table: "@tasks", condition, columns: PARTITION_COLUMNS });
const INBOX = { table: "@inbox", condition: "NOT r.parked", columns: ["target", "priority"] };

export class HasWork extends Subject {
  readonly #select = this.prepare(`
    WITH RECURSIVE ${looseIndexScan("inbox_partitions", INBOX)}, ${tasks("task_partitions", PLAIN)},
      ${tasks("session_partitions", OF_SESSIONS)}
    SELECT summary.instances, summary.tasks, summary.ruled, @clock() AS now,
      pg_postmaster_start_time()::text AS server, ${RUNTIME_COLUMNS} FROM (
      SELECT
        EXISTS (SELECT 1 FROM inbox_partitions AS c WHERE ${IS_DUE})
          OR EXISTS (SELECT 1 FROM @instances AS i WHERE ${IS_STRANDED})
          OR EXISTS (SELECT 1 FROM @arrivals) AS instances,
        EXISTS (SELECT 1 FROM task_partitions AS c WHERE ${isWaiting(PLAIN)})
          OR EXISTS (SELECT 1 FROM session_partitions AS c WHERE ${isWaiting(OF_SESSIONS)})
          OR EXISTS (SELECT 1 FROM @tasks AS t WHERE ${IS_OVERDUE}) AS tasks,
        (SELECT json_agg(q.name ORDER BY q.name)::text FROM @queues AS q
          WHERE q.rule IS NOT NULL OR q.paused IS NOT NULL) AS ruled
    ) AS summary LEFT JOIN @runtimes AS r ON true ORDER BY r.started_at, r.id`);

  async read({ owner }: WorkSummaryRequest): Promise<WorkSummary> {
    const askedAt = this.connection.environment.monotonic();
    const rows = await this.connection.read(this.#select, [owner, JSON.stringify(owner)]);
    const summary = only(rows);
    this.connection.clock.addSample(integer(summary, "now"), askedAt);
    return {
      instances: flag(summary, "instances"),
      tasks: flag(summary, "tasks"),
      ...ruledOf(summary),
      runtimes: rows.filter((row) => row["id"] !== null).map(toRuntime),
      server: text(summary, "server"),
    };
  }
}

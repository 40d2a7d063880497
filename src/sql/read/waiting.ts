// Waiting report: the oldest waiting work of each kind, and how much each runtime holds.
//   - Each partition costs one index lookup: the cost grows with the number of kinds of work, not with the
//       amount. The stores find partitions in different ways, so they give the statements.
//   - Only work that could be leased now counts: not leased, paused, blocked or due later.

import type { LoadRecord, WaitingRecord } from "../../core/provider/admin.ts";
import { integer, text, type Row } from "../columns.ts";
import type { StoreStatements } from "../parts.ts";
import { toLoad } from "../rows/runtime-rows.ts";
import { tagsOf } from "../rows/task-rows.ts";
import { run, together, type Script } from "../script/script.ts";
import { call, Statement } from "../script/statement.ts";

/**
 * Due messages per partition whose instances are checked: the first may belong to leased or paused
 * instances.
 */
export const CHECKED_MAX = 100;

const SELECT_LOADS = new Statement(`
  SELECT l.owner, sum(l.instances) AS instances, sum(l.tasks) AS tasks FROM (
    SELECT lease_owner AS owner, count(*) AS instances, 0 AS tasks FROM @instances
    WHERE lease_owner IS NOT NULL GROUP BY lease_owner
    UNION ALL
    SELECT lease_owner, 0, count(*) FROM @tasks
    WHERE lease_owner IS NOT NULL GROUP BY lease_owner
  ) AS l GROUP BY l.owner ORDER BY l.owner`);

export function* readWaiting(statements: StoreStatements): Script<readonly WaitingRecord[]> {
  const { waitingTasks, waitingInstances } = statements;
  const [tasks, instances] = yield* together(call(waitingTasks), call(waitingInstances));
  return [...tasks.rows.map(toTask), ...instances.rows.map(toInstance)];
}

export function* readLoads(): Script<readonly LoadRecord[]> {
  return (yield* run(SELECT_LOADS)).map(toLoad);
}

function toTask(row: Row): WaitingRecord {
  const tags = tagsOf(row) ?? [];
  return { kind: "task", name: text(row, "name"), tags, oldestAt: integer(row, "at") };
}

function toInstance(row: Row): WaitingRecord {
  return { kind: "instance", target: text(row, "target"), oldestAt: integer(row, "at") };
}

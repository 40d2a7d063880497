// Store parts of SQLite (sql/parts.ts): each part runs its statements at once, in the open transaction.

import { isTerminalStatus } from "../core/provider/instances.ts";
import type { StoreParts, StoreStatements } from "../sql/parts.ts";
import type { Connection } from "./connection/connection.ts";
import type { Tasks } from "./lease/tasks.ts";
import type { Transaction } from "./notify/change-draft.ts";
import type { History } from "./read/history.ts";
import type { Inbox } from "./read/inbox.ts";
import type { Instances } from "./read/instances.ts";
import { coveredOf } from "./read/messages.ts";
import type { Deliveries } from "./write/delivery.ts";
import { coveredOfKept, type EarlyMessages } from "./write/early-messages.ts";
import { CHECKED_MAX } from "../sql/read/waiting.ts";
import { Statement } from "../sql/script/statement.ts";
import { LEASE_IS_FREE, TAKEABLE } from "./lease/due-instances.ts";
import { looseIndexScan } from "./sql/loose-index-scan.ts";

export function storeParts(
  connection: Connection,
  owners: {
    readonly instances: Instances;
    readonly inbox: Inbox;
    readonly history: History;
    readonly tasks: Tasks;
    readonly deliveries: Deliveries;
    readonly earlyMessages: EarlyMessages;
  },
): StoreParts<Transaction> {
  const { instances, inbox, history, tasks, deliveries, earlyMessages } = owners;
  return {
    coveredOf,
    coveredOfKept,
    statements: STATEMENTS,
    *due(key, messagesMax) {
      return inbox.due(key, connection.now(), messagesMax);
    },
    *lockFamily() {
      // The transaction holds the only write lock.
    },
    *insert(instance, { now }) {
      const key = instances.insert(instance, null, now);
      if (key !== null) earlyMessages.handOver({ id: instance.id, key, execution: 1 }, now, now);
      return key;
    },
    *end({ key, execution }, ending, transaction) {
      history.append(key, execution, ending.row);
      instances.end(key, ending, transaction.now);
      tasks.clear(key, transaction);
      inbox.park(key);
    },
    *post(message, transaction) {
      const { to } = message;
      const target = instances.find(to.id);
      if (target === null || isTerminalStatus(target.status)) return;
      if (to.runId !== undefined && to.runId !== target.runId) return;
      deliveries.deliver(target, message, transaction);
    },
  };
}

// Store statements of SQLite (sql/parts.ts): texts that PostgreSQL needs in another form.
//   - Each partition of a queue costs one index lookup (loose-index-scan.1).
//   - A CROSS JOIN makes SQLite join in the order of the text.

const INBOX_PARTITIONS = looseIndexScan("partitions", "inbox", "parked = 0", [
  "target",
  "priority",
]);
const IS_FREE = LEASE_IS_FREE.replace("?1", "@now");
// No owner asks here: an instance that is blocked for any runtime counts as blocked.
const IS_TAKEABLE = TAKEABLE.replace("?3", "'['");

const taskPartitions = (name: string, session: string): string =>
  looseIndexScan(name, "tasks", `lease_owner IS NULL AND session ${session}`, [
    "suspect",
    "name",
    "tags",
  ]);
const firstTask = (name: string, session: string): string => `
  SELECT name, tags, (
    SELECT min(available_at) FROM tasks AS t
    WHERE t.lease_owner IS NULL AND t.session ${session} AND t.suspect = part.suspect
      AND t.name = part.name AND t.tags = part.tags) AS at
  FROM ${name} AS part`;

const STATEMENTS: StoreStatements = {
  lockEnded: new Statement(`
    SELECT key, completed_at FROM instances
    WHERE status = $1 AND completed_at < $2 AND parent_id IS NULL AND (completed_at, key) > ($3, $4)
    ORDER BY completed_at, key LIMIT $5`),
  selectTrees: new Statement(`
    WITH RECURSIVE tree (root, key, id, status) AS (
      SELECT key, key, id, status FROM instances WHERE key = ANY ($1)
      UNION
      SELECT tree.root, child.key, child.id, child.status
      FROM tree CROSS JOIN instances AS child ON child.parent_id = tree.id
    )
    SELECT root, key, id, status FROM tree`),
  countDue: new Statement(`
    WITH RECURSIVE ${INBOX_PARTITIONS}
    SELECT coalesce(sum((
      SELECT count(*) FROM inbox
      WHERE parked = 0 AND inbox.target = partitions.target AND inbox.priority = partitions.priority
        AND visible_at <= @now
    )), 0) + (
      SELECT count(*) FROM inbox CROSS JOIN instances ON instances.key = inbox.instance
      WHERE kind = 'event' AND parked = 1 AND visible_at <= @now AND status IN ('pending', 'running')
    ) AS due FROM partitions`),
  waitingTasks: new Statement(`
    WITH RECURSIVE ${taskPartitions("plain", "IS NULL")}, ${taskPartitions("bound", "IS NOT NULL")}
    SELECT name, tags, min(at) AS at FROM (
      ${firstTask("plain", "IS NULL")} UNION ALL ${firstTask("bound", "IS NOT NULL")})
    WHERE at <= @now GROUP BY name, tags`),
  waitingInstances: new Statement(`
    WITH RECURSIVE ${INBOX_PARTITIONS}
    SELECT part.target AS target, min((
      SELECT min(due.visible_at) FROM (
        SELECT m.instance, m.visible_at FROM inbox AS m
        WHERE m.parked = 0 AND m.target = part.target AND m.priority = part.priority
          AND m.visible_at <= @now
        ORDER BY m.visible_at LIMIT ${CHECKED_MAX}) AS due
      CROSS JOIN instances ON instances.key = due.instance
      WHERE ${IS_FREE} AND ${IS_TAKEABLE})) AS at
    FROM partitions AS part GROUP BY part.target HAVING at IS NOT NULL`),
};

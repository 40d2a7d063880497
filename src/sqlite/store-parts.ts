// Store parts of SQLite (sql/parts.ts): each part runs its statements at once, in the open transaction.

import { JOB_VERSION } from "../core/ids/semver.ts";
import { isTerminalStatus } from "../core/provider/instances.ts";
import type { StoreParts, StoreStatements } from "../sql/parts.ts";
import type { Connection } from "./connection/connection.ts";
import type { Tasks } from "./lease/tasks.ts";
import type { Transaction } from "./notify/change-draft.ts";
import type { History } from "./read/history.ts";
import { TARGET, type Inbox } from "./read/inbox.ts";
import type { Instances } from "./read/instances.ts";
import { coveredOf, dueTime, startMessage } from "./read/messages.ts";
import type { Deliveries } from "./write/delivery.ts";
import { coveredOfKept, type EarlyMessages } from "./write/early-messages.ts";
import type { KeyValues } from "./write/key-values.ts";
import { ANY_EXPIRED } from "../sql/admin/deletion.ts";
import { ANY_KEPT_EXPIRED } from "../sql/admin/kept-expiry.ts";
import { CHECKED_MAX } from "../sql/read/waiting.ts";
import { beginRewound } from "../sql/write/rewind.ts";
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
    readonly keyValues: KeyValues;
  },
): StoreParts<Transaction> {
  const { instances, inbox, history, tasks, deliveries, earlyMessages, keyValues } = owners;
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
    *start(item, { now, changes }) {
      const { id, started } = item;
      const key = instances.insert(item, null, now);
      if (key === null) return null;
      const visibleAt = Math.max(dueTime(item, now), now);
      inbox.insertStart(key, startMessage(1, started, visibleAt));
      earlyMessages.handOver({ id, key, execution: 1 }, visibleAt, now);
      if (visibleAt <= now) changes.due(id);
      return key;
    },
    *begin(item, turn, transaction) {
      const { id } = item;
      const { now, changes } = transaction;
      const key = instances.insertBegun(item, null, turn, now);
      if (key === null) return null;
      if (turn.row !== null) history.append(key, 1, turn.row);
      const waiting = turn.tasks.map((task) => ({ key, task }));
      tasks.insertWaiting(waiting, transaction);
      if (earlyMessages.handOver({ id, key, execution: 1 }, now, now)) changes.due(id);
      return key;
    },
    *revive({ instance, key, execution }, { lease, visibleAt }, { now }) {
      inbox.clear(key);
      keyValues.clear(key);
      instances.revive(instance, lease, now);
      return inbox.insertStart(key, startMessage(execution, instance.started, visibleAt));
    },
    *putBack(key, events, { now }) {
      inbox.putBack(key, events, now);
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
/** $3 is the owner as a JSON string; $4 holds the entries of the caller's code. */
const TAKEABLE_BY_CALLER = `${TAKEABLE.replace("?3", "$3")} AND (blocked_by IS NULL OR NOT EXISTS (
  SELECT 1 FROM unnest($4) AS e (entry) WHERE instr(blocked_by, e.entry) > 0))`;

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
    WHERE status = $1 AND completed_at < $2 AND parent_id IS NULL AND delete_after IS NULL
      AND (completed_at, key) > ($3, $4)
    ORDER BY completed_at, key LIMIT $5`),
  selectTrees: new Statement(`
    WITH RECURSIVE tree (root, key, id, status) AS (
      SELECT key, key, id, status FROM instances WHERE key = ANY ($1)
      UNION
      SELECT tree.root, child.key, child.id, child.status
      FROM tree CROSS JOIN instances AS child ON child.parent_id = tree.id
    )
    SELECT root, key, id, status FROM tree`),
  beginRewound: new Statement(beginRewound()),
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
  countFailedJobs: new Statement(`
    SELECT name, count(*) AS failed_jobs FROM instances
    WHERE status = 'failed' AND completed_at IS NOT NULL AND parent_id IS NULL
      AND version = '${JOB_VERSION}' GROUP BY name`),
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
  nextInstances: new Statement(`
    WITH RECURSIVE ${INBOX_PARTITIONS}
    SELECT @now AS now, ${ANY_EXPIRED} OR ${ANY_KEPT_EXPIRED} AS has_expired, (
      SELECT min(at) FROM (
        SELECT (
          SELECT m.visible_at FROM inbox AS m CROSS JOIN instances ON instances.key = m.instance
          WHERE m.parked = 0 AND m.target = part.target AND m.priority = part.priority
            AND (${IS_FREE} OR lease_owner = $2) AND ${TAKEABLE_BY_CALLER}
          ORDER BY m.visible_at LIMIT 1) AS at
        FROM partitions AS part WHERE part.target = ANY ($1)
        UNION ALL
        SELECT iif(steps_open = 1, lease_until, max(lease_until, (
          SELECT min(m.visible_at) FROM inbox AS m WHERE m.instance = instances.key AND m.parked = 0)))
        FROM instances
        WHERE lease_owner IS NOT NULL AND lease_owner <> $2 AND lease_until IS NOT NULL
          AND ${TARGET} = ANY ($1) AND ${TAKEABLE_BY_CALLER})) AS at`),
  nextTasks: new Statement(`
    WITH RECURSIVE ${taskPartitions("plain", "IS NULL")}, ${taskPartitions("bound", "IS NOT NULL")}
    SELECT name, tags, min(at) AS at, EXISTS (
      SELECT 1 FROM queues AS q
      WHERE q.name = w.name AND (q.rule IS NOT NULL OR q.paused IS NOT NULL)) AS is_ruled
    FROM (
      ${firstTask("plain", "IS NULL")}
      UNION ALL
      SELECT name, tags, (
        SELECT min(max(t.available_at, coalesce(s.until, 0))) FROM tasks AS t
        LEFT JOIN sessions AS s ON s.id = t.session AND s.owner <> $2
        WHERE t.lease_owner IS NULL AND t.session IS NOT NULL AND t.suspect = part.suspect
          AND t.name = part.name AND t.tags = part.tags)
      FROM bound AS part WHERE $2 IS NOT NULL
      UNION ALL
      SELECT t.name, t.tags, max(t.lease_until, coalesce(s.until, 0)) FROM tasks AS t
      LEFT JOIN sessions AS s ON s.id = t.session AND s.owner <> $2
      WHERE t.lease_until IS NOT NULL AND t.lease_owner <> $1
        AND (t.session IS NULL OR $2 IS NOT NULL)
    ) AS w WHERE at IS NOT NULL GROUP BY name, tags`),
};

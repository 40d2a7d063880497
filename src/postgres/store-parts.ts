// Store parts of PostgreSQL (sql/parts.ts): each part yields its statements as one pipeline.

import type { StoreParts, StoreStatements } from "../sql/parts.ts";
import type { Scope } from "../sql/script/scope.ts";
import { Pipeline } from "./connection/pipeline.ts";
import type { Tasks } from "./lease/tasks.ts";
import type { History } from "./read/history.ts";
import { type Inbox, messagesOf } from "./read/inbox.ts";
import type { Instances } from "./read/instances.ts";
import { coveredOf } from "./read/messages.ts";
import { type Deliveries, IS_LIVE } from "./write/delivery.ts";
import type { InstanceInserts } from "./write/instance-inserts.ts";
import { indexEquals } from "../sql/index-lookup.ts";
import { CHECKED_MAX } from "../sql/read/waiting.ts";
import { Statement } from "../sql/script/statement.ts";
import { LEASE_IS_FREE, takeable } from "./lease/due-instances.ts";
import { IN_PARTITION, OF_SESSIONS, PARTITION_COLUMNS, PLAIN } from "./lease/queue-partitions.ts";
import { looseIndexScan } from "./sql/loose-index-scan.ts";

export function storeParts(owners: {
  readonly instances: Instances;
  readonly inserts: InstanceInserts;
  readonly inbox: Inbox;
  readonly history: History;
  readonly tasks: Tasks;
  readonly deliveries: Deliveries;
}): StoreParts<Scope> {
  const { instances, inserts, inbox, history, tasks, deliveries } = owners;
  return {
    coveredOf: (_, message) => coveredOf(message),
    coveredOfKept: (message) => coveredOf({ sequence: null, kind: "event", ...message }),
    statements: STATEMENTS,
    *due(key, messagesMax) {
      const pipeline = new Pipeline();
      const due = inbox.due(pipeline, [{ key, messages_max: messagesMax }]);
      yield pipeline;
      return messagesOf(due).get(key) ?? [];
    },
    *lockFamily(id) {
      const pipeline = new Pipeline();
      instances.lockFamily(pipeline, id);
      yield pipeline;
    },
    *insert(instance) {
      const pipeline = new Pipeline();
      const insert = { instance, lease: null, events: [], requestId: null };
      const read = inserts.insert(pipeline, [insert]);
      yield pipeline;
      return read().get(instance.id)?.key ?? null;
    },
    *end({ key, execution }, ending, { now }) {
      const pipeline = new Pipeline();
      instances.end(pipeline, key, ending, now);
      history.append(pipeline, [{ ...ending.row, instance: key, execution }]);
      tasks.clear(pipeline, [key]);
      inbox.park(pipeline, [key]);
      yield pipeline;
    },
    *post(message, { changes }) {
      const pipeline = new Pipeline();
      instances.lock(pipeline, { keys: [], ids: [message.to.id] });
      const addDue = deliveries.post(pipeline, [message], changes);
      yield pipeline;
      addDue();
    },
  };
}

// Store statements of PostgreSQL (sql/parts.ts): texts that SQLite needs in another form.

const INBOX_PARTITIONS = looseIndexScan("partitions", {
  table: "@inbox",
  condition: "NOT r.parked",
  columns: ["target", "priority"],
});
const taskPartitions = (name: string, condition: string): string =>
  looseIndexScan(name, {
    table: "@tasks",
    condition,
    columns: PARTITION_COLUMNS,
    carried: ["tags"],
  });
const firstTask = (name: string, condition: string): string => `
  SELECT c.name, c.tags, (
    SELECT min(r.available_at) FROM @tasks AS r WHERE ${condition} AND ${IN_PARTITION}) AS at
  FROM ${name} AS c`;

const STATEMENTS: StoreStatements = {
  lockEnded: new Statement(`
    SELECT key, completed_at FROM @instances
    WHERE failed = ($1::text <> 'completed') AND status = $1::text AND completed_at < $2::bigint
      AND parent_id IS NULL AND (completed_at, key) > ($3::bigint, $4::bigint)
    ORDER BY completed_at, key LIMIT $5::bigint FOR NO KEY UPDATE SKIP LOCKED`),
  selectTrees: new Statement(`
    WITH RECURSIVE tree AS (
      SELECT i.key AS root, i.key, i.id, i.status
      FROM unnest($1::bigint[]) AS k (key) JOIN @instances AS i ON ${indexEquals("i.key", "k.key")}
      UNION
      SELECT tree.root, child.key, child.id, child.status FROM tree CROSS JOIN LATERAL (
        SELECT c.key, c.id, c.status FROM @instances AS c WHERE c.parent_id = tree.id OFFSET 0
      ) AS child
    )
    SELECT root, key, id, status FROM tree`),
  countDue: new Statement(`
    WITH RECURSIVE ${INBOX_PARTITIONS}
    SELECT coalesce(sum((
      SELECT count(*) FROM @inbox AS m
      WHERE NOT m.parked AND m.target = c.target AND m.priority = c.priority
        AND m.visible_at <= @now
    )), 0) + (
      SELECT count(*) FROM @inbox AS e JOIN @instances AS i ON i.key = e.instance
      WHERE e.kind = 'event' AND e.parked AND e.visible_at <= @now AND ${IS_LIVE}
    ) AS due FROM partitions AS c`),
  waitingTasks: new Statement(`
    WITH RECURSIVE ${taskPartitions("plain", PLAIN)}, ${taskPartitions("bound", OF_SESSIONS)}
    SELECT w.name, array_to_json(w.tags)::text AS tags, min(w.at) AS at FROM (
      ${firstTask("plain", PLAIN)} UNION ALL ${firstTask("bound", OF_SESSIONS)}
    ) AS w WHERE w.at <= @now GROUP BY w.name, w.tags`),
  // No owner asks here: an instance that is blocked for any runtime counts as blocked.
  waitingInstances: new Statement(`
    WITH RECURSIVE ${INBOX_PARTITIONS}
    SELECT w.target, min(w.at) AS at FROM (
      SELECT c.target, (
        SELECT min(due.visible_at) FROM (
          SELECT m.instance, m.visible_at FROM @inbox AS m
          WHERE NOT m.parked AND m.target = c.target AND m.priority = c.priority
            AND m.visible_at <= @now
          ORDER BY m.visible_at LIMIT ${CHECKED_MAX}
        ) AS due
        JOIN @instances AS i ON ${indexEquals("i.key", "due.instance")}
        WHERE ${LEASE_IS_FREE} AND ${takeable("'['")}) AS at
      FROM partitions AS c
    ) AS w WHERE w.at IS NOT NULL GROUP BY w.target`),
};

// Store parts of PostgreSQL (sql/parts.ts): each part yields its statements as one pipeline.

import { JOB_VERSION } from "../core/ids/semver.ts";
import type { StoreParts, StoreStatements } from "../sql/parts.ts";
import type { Scope } from "../sql/script/scope.ts";
import { Pipeline } from "./connection/pipeline.ts";
import type { Tasks } from "./lease/tasks.ts";
import type { History } from "./read/history.ts";
import { integer, only } from "../sql/columns.ts";
import { type Inbox, messagesOf, startMessage } from "./read/inbox.ts";
import type { Instances } from "./read/instances.ts";
import { coveredOf } from "./read/messages.ts";
import { type Deliveries, IS_LIVE } from "./write/delivery.ts";
import { targetOf } from "../sql/write/fork.ts";
import type { InstanceInserts } from "./write/instance-inserts.ts";
import type { KeyValues } from "./write/key-values.ts";
import { toInsert } from "./write/start.ts";
import { ANY_EXPIRED } from "../sql/admin/deletion.ts";
import { ANY_KEPT_EXPIRED } from "../sql/admin/kept-expiry.ts";
import { exists, indexEquals } from "../sql/index-lookup.ts";
import { TARGET } from "../sql/rows/instance-rows.ts";
import { CHECKED_MAX } from "../sql/read/waiting.ts";
import { beginRewound } from "../sql/write/rewind.ts";
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
  readonly keyValues: KeyValues;
}): StoreParts<Scope> {
  const { instances, inserts, inbox, history, tasks, deliveries, keyValues } = owners;
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
    *start(item, { changes }) {
      const pipeline = new Pipeline();
      const read = inserts.insert(pipeline, [{ ...toInsert(item), lease: null }]);
      yield pipeline;
      const found = read().get(item.id);
      if (found === undefined) return null;
      if (found.isDue) changes.due(item.id, { owner: null, target: targetOf(item) });
      return found.key;
    },
    *begin(item, turn, { changes }) {
      const inserted = new Pipeline();
      const insert = { ...toInsert(item), lease: null, firstTurn: turn };
      const read = inserts.insert(inserted, [insert], "mayExist");
      yield inserted;
      const found = read().get(item.id);
      if (found === undefined) return null;
      const { key } = found;
      const pipeline = new Pipeline();
      if (turn.row !== null)
        history.append(pipeline, [{ ...turn.row, instance: key, execution: 1 }]);
      tasks.insert(
        pipeline,
        turn.tasks.map((task) => ({ ...task, key, execution: 1 })),
      );
      yield pipeline;
      for (const { name } of turn.tasks) changes.queued(name);
      if (found.isDue) changes.due(item.id, { owner: null, target: targetOf(item) });
      return key;
    },
    *revive({ instance, key, execution }, { lease, visibleAt }, { now }) {
      const start = { ...startMessage(key, execution, instance.started), due_at: visibleAt };
      const pipeline = new Pipeline();
      inbox.clear(pipeline, [key]);
      keyValues.clear(pipeline, [key]);
      instances.revive(pipeline, instance, lease, now);
      const put = inbox.put(pipeline, [start]);
      yield pipeline;
      const id = integer(only(put?.rows ?? []), "id");
      const { kind, sequence, name, data, key: messageKey } = start;
      return { id, kind, execution, sequence, name, data, key: messageKey, visibleAt };
    },
    *putBack(key, events) {
      const pipeline = new Pipeline();
      inbox.putBack(pipeline, key, events);
      yield pipeline;
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

/** $4 holds the entries of the caller's code. */
const NOT_QUARANTINED = `(i.blocked_by IS NULL OR NOT EXISTS (
  SELECT 1 FROM unnest($4::text[]) AS e (entry) WHERE strpos(i.blocked_by, e.entry) > 0))`;

const STATEMENTS: StoreStatements = {
  lockEnded: new Statement(`
    SELECT key, completed_at FROM @instances
    WHERE failed = ($1::text <> 'completed') AND status = $1::text AND completed_at < $2::bigint
      AND parent_id IS NULL AND delete_after IS NULL AND (completed_at, key) > ($3::bigint, $4::bigint)
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
  beginRewound: new Statement(beginRewound("failed = false,")),
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
  countFailedJobs: new Statement(`
    SELECT i.name, count(*) AS failed_jobs FROM @instances AS i
    WHERE i.failed AND i.status = 'failed' AND i.completed_at IS NOT NULL AND i.parent_id IS NULL
      AND i.version = '${JOB_VERSION}' GROUP BY i.name`),
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
  nextInstances: new Statement(`
    WITH RECURSIVE ${INBOX_PARTITIONS}
    SELECT @now AS now, ${ANY_EXPIRED} OR ${ANY_KEPT_EXPIRED} AS has_expired, CASE
      WHEN EXISTS (SELECT 1 FROM @arrivals) THEN @now
      ELSE least((
        SELECT min(n.at) FROM partitions AS c CROSS JOIN LATERAL (
          SELECT m.visible_at AS at FROM @inbox AS m
          JOIN @instances AS i ON ${indexEquals("i.key", "m.instance")}
          WHERE NOT m.parked AND m.target = c.target AND m.priority = c.priority
            AND (${LEASE_IS_FREE} OR i.lease_owner = $2) AND ${takeable("$3")} AND ${NOT_QUARANTINED}
          ORDER BY m.visible_at LIMIT 1
        ) AS n WHERE c.target = ANY ($1::text[])), (
        SELECT min(CASE WHEN i.steps_open THEN i.lease_until ELSE greatest(i.lease_until, m.at) END)
        FROM @instances AS i CROSS JOIN LATERAL (
          SELECT min(m.visible_at) AS at FROM @inbox AS m WHERE m.instance = i.key AND NOT m.parked
        ) AS m
        WHERE i.lease_owner IS NOT NULL AND i.lease_owner <> $2 AND i.lease_until IS NOT NULL
          AND (i.steps_open OR m.at IS NOT NULL) AND ${TARGET} = ANY ($1::text[])
          AND ${takeable("$3")} AND ${NOT_QUARANTINED})) END AS at`),
  nextTasks: new Statement(`
    WITH RECURSIVE ${taskPartitions("plain", PLAIN)}, ${taskPartitions("bound", OF_SESSIONS)}
    SELECT w.name, array_to_json(w.tags)::text AS tags, min(w.at) AS at, ${exists(`
      FROM @queues AS q WHERE q.name = w.name AND (q.rule IS NOT NULL OR q.paused IS NOT NULL)`)} AS is_ruled
    FROM (
      ${firstTask("plain", PLAIN)}
      UNION ALL
      SELECT c.name, c.tags, (
        SELECT min(greatest(r.available_at, s.until)) FROM @tasks AS r
        LEFT JOIN @sessions AS s ON ${indexEquals("s.id", "r.session")} AND s.owner <> $2::text
        WHERE ${OF_SESSIONS} AND ${IN_PARTITION}) FROM bound AS c WHERE $2::text IS NOT NULL
      UNION ALL
      SELECT t.name, t.tags, greatest(t.lease_until, s.until) FROM @tasks AS t
      LEFT JOIN @sessions AS s ON ${indexEquals("s.id", "t.session")} AND s.owner <> $2::text
      WHERE t.lease_until IS NOT NULL AND t.lease_owner <> $1
        AND (t.session IS NULL OR $2::text IS NOT NULL)
    ) AS w WHERE w.at IS NOT NULL GROUP BY w.name, w.tags`),
};

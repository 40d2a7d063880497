// Instance inserts: writes new instances, their start messages and the first contents of their inboxes.
//   - An id names one instance. If the id exists, nothing is written for the item.
//   - Each pipeline draws a random number, by which its later statements find the instances it inserted
//     (inserted-instances.ts).
//   - The inbox holds the start message first, then the early messages for the id (early-messages.ts), then
//     the events given with the start.
//   - instance-inserts.1: A start with a first turn inserts the row as that turn leaves it, and no start
//     message. If the id exists or the lease is not granted, the transaction is refused (commit.5). Only a caller that
//     writes the other rows of the turn afterwards allows that the id exists.
//   - instance-inserts.2: A first turn without a lease (commit.6) releases the row. If its tasks have a lease, their owner
//     is checked here; if it has no row, the transaction is refused.
//   - Keys follow the order of the items. Rows are inserted in the order of ids, so two processes that
//     start the same ids cannot deadlock.

import { checksumOf } from "../../core/values/checksum.ts";
import type { NewInstance, StartItem, TurnItem } from "../../core/provider/commit.ts";
import type { KeptMessage, Message } from "../../core/provider/messages.ts";
import { ColumnArrays } from "../sql/column-arrays.ts";
import { flag, integer, integerOrNull, text, type Row } from "../../sql/columns.ts";
import type { Connection } from "../connection/connection.ts";
import { Subject } from "../connection/subject.ts";
import { INBOX_COLUMNS, OF_INSTANCE, ON_SAME_KEY } from "../read/inbox.ts";
import type { EarlyMessages } from "./early-messages.ts";
import { dueColumns, dueTime, messageChecksum } from "../read/messages.ts";
import { KEY_TAKEN, type InstanceKey, type InstanceKeys } from "./instance-keys.ts";
import { IS_INSERTED, INSERTED, VISIBLE_AT, INSERTED_COLUMNS } from "./inserted-instances.ts";
import type { Answer, Pipeline } from "../connection/pipeline.ts";
import { NO_TURN, TURN_COLUMNS, turnColumns } from "./turn-columns.ts";
import { indexEquals } from "../../sql/index-lookup.ts";

export interface InstanceInsert {
  readonly instance: NewInstance;
  readonly lease: StartItem["lease"];
  readonly delayMs?: number;
  readonly dueAt?: number;
  readonly events: readonly KeptMessage[];
  readonly requestId: string | null;
  readonly requestDigest?: string;
  /** The key of the instance; absent: the next number of the sequence. */
  readonly key?: InstanceKey;
  /** The first turn, which has consumed the start message (instance-inserts.1). */
  readonly firstTurn?: TurnItem;
}
export interface InsertedInstance {
  readonly key: number;
  readonly runId: string;
  readonly isLeased: boolean;
  /** With a first turn: whether an event waits for the instance. */
  readonly isDue: boolean;
  /** Null: the first turn has consumed it. */
  readonly start: Message | null;
}

const INSERTS = new ColumnArrays({
  reserved: "bigint",
  expected: "bigint",
  delay: "bigint",
  due_at: "bigint",
  lease_token: "bigint",
  lease_ms: "bigint",
  parent_execution: "bigint",
  parent_sequence: "bigint",
  attributes_checksum: "bigint",
  priority: "double precision",
  id: "text",
  run_id: "text",
  name: "text",
  version: "text",
  parent_id: "text",
  parent_run_id: "text",
  on_parent_close: "text",
  attributes: "text",
  lease_owner: "text",
  ...TURN_COLUMNS,
});
const STARTS = new ColumnArrays({ ...INSERTED_COLUMNS, started: "text", checksum: "bigint" });
const EVENTS = new ColumnArrays({
  ...INSERTED_COLUMNS,
  name: "text",
  key: "text",
  data: "text",
  checksum: "bigint",
});
const REQUESTS = new ColumnArrays({ ...INSERTED_COLUMNS, request_id: "text", digest: "text" });

const TURN_COUNT = `$${INSERTS.width + 2}::bigint`;
const ifKept = (value: string): string =>
  `CASE WHEN NOT coalesce(t.release, false) THEN ${value} END`;

export class InstanceInserts extends Subject {
  readonly #earlyMessages: EarlyMessages;
  readonly #keys: InstanceKeys;
  readonly #insert = this.prepare(`
    WITH put AS (
      INSERT INTO @instances (
        key, id, run_id, name, version, parent_id, parent_run_id, parent_execution,
        parent_sequence, on_parent_close, priority, attributes, created_at, updated_at,
        lease_owner, lease_token, lease_until, suspicion,
        execution, last_event, last_commit, steps_open, failed, status,
        status_version, copied_until, past_executions, past_events, attributes_checksum,
        replay_version, cancel_requested, completed_at, output, error, ending_checksum, delete_after
      )
      SELECT
        t.key, t.id, t.run_id, t.name, coalesce(t.turn_version, t.version), t.parent_id,
        t.parent_run_id, t.parent_execution,
        t.parent_sequence, t.on_parent_close, t.priority, t.attributes, t.now, t.now,
        ${ifKept("r.id")}, ${ifKept("CASE WHEN r.id IS NOT NULL THEN t.lease_token END")},
        ${ifKept("CASE WHEN r.id IS NOT NULL THEN t.now + t.lease_ms END")},
        -- A new leased instance counts as a cold lease: its first turn may crash (provider.instances.4).
        CASE WHEN r.id IS NULL OR t.clears OR t.release THEN 0 ELSE 1 END,
        1, coalesce(t.last, 0), coalesce(t.commit_id, $1::bigint), coalesce(t.steps_open, false),
        coalesce(t.status <> 'completed', false),
        CASE WHEN t.commit_id IS NULL THEN 'pending' ELSE coalesce(t.status, 'running') END,
        0, 0, 0, 0, t.attributes_checksum,
        CASE WHEN t.turn_version IS NOT NULL THEN t.replay_version END, t.cancel_requested,
        CASE WHEN t.status IS NOT NULL THEN t.now END, t.output, t.error, t.ending_checksum,
        t.now + t.keep_ms
      FROM (
        SELECT coalesce(b.reserved, nextval('@instance_keys')) AS key, (SELECT @clock()) AS now, b.*
        FROM ${INSERTS.from("b", 2)}
      ) AS t
      LEFT JOIN @runtimes AS r ON ${indexEquals("r.id", "t.lease_owner")} AND ${dueTime("t", "t.now")} <= t.now
      WHERE (t.commit_id IS NULL OR t.lease_owner IS NULL OR r.id IS NOT NULL)
        AND CASE WHEN t.key <> t.expected THEN @refuse('${KEY_TAKEN}') IS NULL ELSE true END
      ORDER BY t.id COLLATE "C"
      ON CONFLICT (id) DO NOTHING RETURNING id, run_id, key, lease_token, last_commit <> $1::bigint AS turned
    )
    SELECT id, run_id, key, lease_token FROM put
    UNION ALL SELECT @refuse('a first turn has no instance'), NULL, NULL, NULL FROM put
    HAVING count(*) FILTER (WHERE turned) <> ${TURN_COUNT}`);
  readonly #start = this.prepare(`
    INSERT INTO @inbox (${INBOX_COLUMNS})
    SELECT ${OF_INSTANCE}, ${VISIBLE_AT}, 1, NULL, 'start', NULL, NULL, t.started,
      t.checksum
    FROM ${STARTS.from("t")} JOIN @instances AS i ON ${IS_INSERTED}
    RETURNING id, instance, visible_at, visible_at <= (SELECT @clock()) AS due`);
  readonly #events = this.prepare(`
    INSERT INTO @inbox (${INBOX_COLUMNS})
    SELECT ${OF_INSTANCE}, ${VISIBLE_AT}, NULL, NULL, 'event', t.name, t.key, t.data,
      t.checksum
    FROM ${EVENTS.from("t")} JOIN @instances AS i ON ${IS_INSERTED}
    ORDER BY t.n ${ON_SAME_KEY}`);
  readonly #requests = this.prepare(`
    INSERT INTO @requests (instance, execution, created_at, batch, kind, id, outcome, digest)
    SELECT i.key, 1, i.created_at, $1::bigint, 'start', t.request_id, 'started', t.digest
    FROM ${REQUESTS.from("t", 2)} JOIN @instances AS i ON ${IS_INSERTED}`);

  constructor(connection: Connection, earlyMessages: EarlyMessages, keys: InstanceKeys) {
    super(connection);
    this.#earlyMessages = earlyMessages;
    this.#keys = keys;
  }

  /** Call the returned function after the pipeline has run: it returns the inserted instances by id. */
  insert(
    pipeline: Pipeline,
    inserts: readonly InstanceInsert[],
    ids: "mustBeNew" | "mayExist" = "mustBeNew", // those of first turns
  ): () => ReadonlyMap<string, InsertedInstance> {
    const number = this.connection.randomInteger();
    const turnCount = inserts.filter(({ firstTurn }) => firstTurn !== undefined).length;
    const inserted = pipeline.add(this.#insert, [
      number,
      ...INSERTS.values(inserts.map(toColumns)),
      ids === "mayExist" ? null : turnCount,
    ]);
    const rows = inserts.map((insert) => {
      const commit = insert.firstTurn?.commitId ?? number;
      return { ...identityColumns(insert), commit, insert };
    });
    const starts = rows.flatMap((row) => {
      if (row.insert.firstTurn !== undefined) return [];
      const { started } = row.insert.instance;
      return [{ ...row, started, checksum: messageChecksum({ ...START, data: started }) }];
    });
    const started = starts.length === 0 ? null : pipeline.add(this.#start, STARTS.values(starts));
    const early = this.#earlyMessages.handOver(pipeline, number, INSERTED.values(rows));
    const events = rows.flatMap((row) =>
      row.insert.events.map((event) => {
        const checksum = messageChecksum({ ...event, kind: "event", sequence: null });
        return { ...row, ...event, checksum };
      }),
    );
    if (events.length > 0) pipeline.add(this.#events, EVENTS.values(events));
    const requests = rows.flatMap((row) => {
      const { requestId: request_id, requestDigest: digest = null } = row.insert;
      return request_id === null ? [] : [{ ...row, request_id, digest }];
    });
    if (requests.length > 0) pipeline.add(this.#requests, [number, ...REQUESTS.values(requests)]);
    return () => {
      for (const row of inserted.rows) this.#keys.seen(integer(row, "key"));
      return insertedOf(inserts, inserted, started, early);
    };
  }
}

function insertedOf(
  inserts: readonly InstanceInsert[],
  inserted: Answer,
  started: Answer | null,
  early: Answer,
): Map<string, InsertedInstance> {
  const receivers = new Set(early.rows.map((row) => integer(row, "instance")));
  const starts = new Map(started?.rows.map((row) => [integer(row, "instance"), row]));
  const byRunId = new Map(inserts.map((insert) => [insert.instance.runId, insert]));
  const found = new Map<string, InsertedInstance>();
  for (const row of inserted.rows) {
    const key = integer(row, "key");
    const runId = text(row, "run_id");
    const isLeased = integerOrNull(row, "lease_token") !== null;
    const insert = byRunId.get(runId);
    const message = starts.get(key);
    if (insert?.firstTurn !== undefined) {
      const isDue = receivers.has(key) || insert.events.length > 0;
      found.set(text(row, "id"), { key, runId, isLeased, isDue, start: null });
    } else if (message !== undefined) {
      const start = toStart(message, insert?.instance.started ?? "");
      found.set(text(row, "id"), { key, runId, isLeased, isDue: flag(message, "due"), start });
    }
  }
  return found;
}

function toStart(row: Row, data: string): Message {
  const id = integer(row, "id");
  return { ...START, id, execution: 1, data, visibleAt: integer(row, "visible_at") };
}

const START = { kind: "start", sequence: null, name: null, key: null } as const;

function identityColumns(insert: InstanceInsert) {
  const { id, runId } = insert.instance;
  return { id, run_id: runId, ...dueColumns(insert) };
}

function toColumns(insert: InstanceInsert) {
  const { instance } = insert;
  const lease = insert.lease ?? taskLeaseOf(insert.firstTurn);
  const { parent } = instance;
  const attributes = JSON.stringify(instance.attributes);
  return {
    ...identityColumns(insert),
    reserved: insert.key?.isReserved === true ? insert.key.number : null,
    expected: insert.key?.isReserved === false ? insert.key.number : null,
    lease_owner: lease?.owner ?? null,
    lease_token: lease?.token ?? null,
    lease_ms: lease?.leaseMs === undefined ? null : dueColumns({ delayMs: lease.leaseMs }).delay,
    name: instance.name,
    version: instance.version,
    parent_id: parent?.id ?? null,
    parent_run_id: parent?.runId ?? null,
    parent_execution: parent?.execution ?? null,
    parent_sequence: parent?.sequence ?? null,
    on_parent_close: instance.onParentClose,
    priority: instance.priority,
    attributes,
    attributes_checksum: checksumOf(attributes),
    ...(insert.firstTurn === undefined ? NO_TURN : turnColumns(insert.firstTurn)),
  };
}

/** The lease of the tasks of a first turn (instance-inserts.2). */
function taskLeaseOf(turn: TurnItem | undefined): StartItem["lease"] {
  return turn?.tasks.find(({ lease }) => lease !== null)?.lease ?? null;
}

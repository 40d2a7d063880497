// Instances: reads and writes of instance rows, except by ordinary turns.
//   - The statement that ends or restarts an instance also clears its lease (semantics 19a).
//   - postgres.instances.1: A transaction that locks several rows must lock them in the order of their
//       keys.
//   - postgres.instances.2: A receiver may be inserted after `lock` has looked for it. A statement that puts a message into
//       an inbox must not find such a receiver: a turn that commits at the same time would not see the message. So `lock`
//       notes the keys that it has locked for the statements after it, and IS_LOCKED reads them.

import { instanceColumns, type Lease } from "../../sql/write/instance-columns.ts";
import { checksumOf } from "../../core/values/checksum.ts";
import type { NewInstance } from "../../core/provider/commit.ts";
import type { InstanceRecord } from "../../core/provider/instances.ts";
import { plain, texts } from "../sql/column-arrays.ts";
import { integer, text } from "../../sql/columns.ts";
import { Subject } from "../connection/subject.ts";
import type { Statements } from "../connection/statements.ts";
import { ReadBatcher } from "../sql/read-batcher.ts";
import type { Ending } from "../../sql/parts.ts";
import { RECORD_COLUMNS, toRecord } from "../../sql/rows/instance-rows.ts";
import type { Pipeline } from "../connection/pipeline.ts";
import { exists, indexEquals } from "../../sql/index-lookup.ts";

/** The SET clause that begins a new execution of an instance `i`. */
export const NEXT_EXECUTION = `
  execution = i.execution + 1, last_event = 0, copied_until = 0, replay_version = NULL,
  past_executions = i.past_executions + 1, past_events = i.past_events + i.last_event`;

/** SQL of the keys of the instances that wait for an answer of an instance; `instance` is its key. */
const askersOf = (instance: string): string => `
  SELECT p.key FROM (
    SELECT @attribute(r.asker, 'id') AS id FROM @requests AS r
    WHERE r.instance = ${instance} AND r.asker IS NOT NULL OFFSET 0 -- index-lookup.1
  ) AS a JOIN @instances AS p ON ${indexEquals("p.id", "a.id")}`;
/** SQL of the key of the instance that waits for the end of an instance (enqueue-keys.2). */
const waitingFor = (instance: string): string => `
  SELECT w.next FROM (
    SELECT q.next FROM @enqueue_keys AS q
    WHERE q.instance = ${instance} AND q.kind = 'unique' AND q.next IS NOT NULL OFFSET 0 -- index-lookup.1
  ) AS w`;
const TOUCHED = `
      SELECT k.key FROM unnest($1::bigint[]) AS k (key)
      UNION ALL SELECT x.key
      FROM unnest($2::text[]) AS w (id)
      CROSS JOIN LATERAL (SELECT n.key FROM @instances AS n WHERE n.id = w.id OFFSET 0) AS x`;
const lockInOrder = (keys: string): string => `
  SELECT i.key FROM (SELECT u.key FROM (${keys}) AS u ORDER BY u.key + 0) AS w
  JOIN @instances AS i ON ${indexEquals("i.key", "w.key")} FOR NO KEY UPDATE OF i`;

/** A setting of the transaction: the keys of the rows that the last `lock` has locked. */
const LOCKED = "perdure.locked";
/** SQL condition: this transaction has locked or inserted the instance `i` (postgres.instances.2). */
export const IS_LOCKED = `(i.key IN (
      SELECT l.key::bigint
      FROM unnest(string_to_array(current_setting('${LOCKED}', true), ',')) AS l (key)
    ) IS TRUE OR i.xmin = pg_current_xact_id()::xid)`;

export class Instances extends Subject {
  readonly #lock = this.prepare(`
    SELECT set_config('${LOCKED}', coalesce(string_agg(l.key::text, ','), ''), true)
    FROM (${lockInOrder(TOUCHED)}) AS l`);
  readonly #lockWithAskers = this.prepare(
    lockInOrder(`${TOUCHED}
      UNION ALL SELECT y.key
      FROM unnest($3::bigint[]) AS e (key) CROSS JOIN LATERAL (${askersOf("e.key")} OFFSET 0) AS y
      UNION ALL SELECT z.next
      FROM unnest($3::bigint[]) AS e (key) CROSS JOIN LATERAL (${waitingFor("e.key")} OFFSET 0) AS z`),
  );
  readonly #selectAsked = this.prepare(`
    SELECT k.key, i.id FROM unnest($1::bigint[]) AS k (key)
    CROSS JOIN LATERAL (SELECT n.id FROM @instances AS n WHERE n.key = k.key OFFSET 0) AS i
    WHERE ${exists("FROM @requests AS r WHERE r.instance = k.key AND r.asker IS NOT NULL")}`);
  readonly #lockFamily = this.prepare(
    lockInOrder(`
      SELECT key FROM @instances WHERE id = $1
      UNION ALL SELECT key FROM @instances WHERE parent_id = $1
      UNION ALL SELECT p.key FROM (
        SELECT x.parent_id FROM @instances AS x WHERE x.id = $1 OFFSET 0) AS c -- index-lookup.1
      JOIN @instances AS p ON ${indexEquals("p.id", "c.parent_id")}
      UNION ALL ${askersOf("(SELECT key FROM @instances WHERE id = $1)")}
      UNION ALL ${waitingFor("(SELECT key FROM @instances WHERE id = $1)")}`),
  );
  readonly #selectRecords = this.prepare(`
    SELECT ${RECORD_COLUMNS}
    FROM unnest($1::text[]) AS w (wanted) JOIN @instances ON ${indexEquals("id", "w.wanted")}`);
  readonly #records = new ReadBatcher<string, InstanceRecord | null>(
    (ids) => this.#readAll(ids),
    null,
  );
  readonly #revive = this.prepare(`
    UPDATE @instances AS i SET
      run_id = $2, name = $3, version = $4, parent_id = $5, parent_run_id = $6,
      parent_execution = $7, parent_sequence = $8, on_parent_close = $9, priority = $10,
      attributes = $11, attributes_checksum = $17, updated_at = $12,
      lease_owner = $13, lease_token = $14, lease_until = $15, suspicion = $16,
      ${NEXT_EXECUTION}, steps_open = false, failed = false, status = 'pending',
      completed_at = NULL, delete_after = NULL, output = NULL, error = NULL,
      ending_checksum = NULL,
      custom_status = NULL, custom_status_checksum = NULL,
      paused = NULL, blocked = NULL, blocked_by = NULL, cancel_requested = NULL
    WHERE i.id = $1`);
  readonly #end = this.prepare(`
    UPDATE @instances SET
      status = $2, failed = ($2 <> 'completed'), error = $3, last_event = $4,
      cancel_requested = $5, updated_at = $6::bigint, completed_at = $6::bigint,
      ending_checksum = $7,
      lease_owner = NULL, lease_token = NULL, lease_until = NULL, suspicion = 0,
      steps_open = false, paused = NULL, blocked = NULL, blocked_by = NULL
    WHERE key = $1`);

  /**
   * postgres.instances.1, for all instances that a group writes to, besides those of its turns. The statements after it put
   * messages only into the inboxes of these instances (postgres.instances.2).
   */
  lock(
    pipeline: Pipeline,
    { keys, ids }: { readonly keys: readonly number[]; readonly ids: readonly string[] },
  ): void {
    if (keys.length + ids.length > 0) pipeline.add(this.#lock, [plain(keys), texts(ids)]);
  }

  /** Like `lock`, with the instances that wait for an answer or for the end of the instances `asked`. */
  lockWithAskers(
    pipeline: Pipeline,
    {
      keys,
      ids,
      asked,
    }: {
      readonly keys: readonly number[];
      readonly ids: readonly string[];
      readonly asked: readonly number[];
    },
  ): void {
    pipeline.add(this.#lockWithAskers, [plain([...keys, ...asked]), texts(ids), plain(asked)]);
  }

  /** Those of the instances that have askers (provider.asks.3). */
  async withAskers(
    statements: Statements,
    keys: readonly number[],
  ): Promise<{ readonly key: number; readonly id: string }[]> {
    if (keys.length === 0) return [];
    const rows = await statements.run(this.#selectAsked, [plain(keys)]);
    return rows.map((row) => ({ key: integer(row, "key"), id: text(row, "id") }));
  }

  /**
   * postgres.instances.1, for an instance with its parent, its children, its askers and the instance that waits for its
   * end, which its end may change.
   */
  lockFamily(pipeline: Pipeline, id: string): void {
    pipeline.add(this.#lockFamily, [id]);
  }

  /** Begins the next execution of an ended instance, as if it were new. */
  revive(pipeline: Pipeline, instance: NewInstance, lease: Lease | null, now: number): void {
    pipeline.add(this.#revive, instanceColumns(instance, lease, now));
  }

  end(pipeline: Pipeline, key: number, ending: Ending, now: number): void {
    const { status, error, cancelRequested, row } = ending;
    const checksum = checksumOf(null, error); // such an instance has no output
    pipeline.add(this.#end, [key, status, error, row.last, cancelRequested, now, checksum]);
  }

  read(id: string): Promise<InstanceRecord | null> {
    return this.#records.get(id);
  }

  async #readAll(ids: readonly string[]): Promise<Map<string, InstanceRecord>> {
    const rows = await this.connection.read(this.#selectRecords, [texts(ids)]);
    return new Map(rows.map((row) => [text(row, "id"), toRecord(row)]));
  }
}

// Instances: their rows, as everybody but a plain turn reads and writes them.
//   N1. A head is what decides about an item; it is read under a lock on its row and never kept.
//   N2. Ending or restarting an instance takes its lease away in the same statement (semantics 19a).
//   N3. Who locks several rows locks them in the order of their keys.

import { checksumOf } from "../core/checksum.ts";
import type { NewInstance } from "../core/provider/commit.ts";
import type { InstanceRecord, InstanceStatus } from "../core/provider/instances.ts";
import { plain, texts } from "./column-arrays.ts";
import { text } from "./columns.ts";
import type { Connection, Statements } from "./connection.ts";
import { Gathering } from "./gathering.ts";
import {
  HEAD_COLUMNS,
  RECORD_COLUMNS,
  toHead,
  toRecord,
  type InstanceHead,
} from "./instance-rows.ts";
import type { Pipeline, Statement } from "./pipeline.ts";
import { probe } from "./probing.ts";

export interface Lease {
  readonly owner: string;
  readonly token: number;
  readonly until: number | null;
}

/** Of instances `i`: what every new execution of one begins with. */
export const NEXT_EXECUTION = `
  execution = i.execution + 1, last_event = 0, copied_until = 0, replay_version = NULL,
  past_executions = i.past_executions + 1, past_events = i.past_events + i.last_event`;

export class Instances {
  readonly #connection: Connection;
  readonly #lock: Statement;
  readonly #lockFamily: Statement;
  readonly #selectHead: Statement;
  readonly #lockHead: Statement;
  readonly #selectHeadByKey: Statement;
  readonly #selectRecords: Statement;
  readonly #records: Gathering<string, InstanceRecord | null>;
  readonly #selectChildren: Statement;
  readonly #revive: Statement;
  readonly #end: Statement;

  constructor(connection: Connection) {
    this.#connection = connection;
    const lockInOrder = (keys: string): string => `
      SELECT i.key FROM (SELECT u.key FROM (${keys}) AS u ORDER BY u.key + 0) AS w
      JOIN @instances AS i ON ${probe("i.key", "w.key")} FOR NO KEY UPDATE OF i`;
    this.#lock = connection.prepare(
      lockInOrder(`
        SELECT k.key FROM unnest($1::bigint[]) AS k (key)
        UNION ALL SELECT x.key
        FROM unnest($2::text[]) AS w (id)
        CROSS JOIN LATERAL (SELECT n.key FROM @instances AS n WHERE n.id = w.id OFFSET 0) AS x`),
    );
    this.#lockFamily = connection.prepare(
      lockInOrder(`
        SELECT key FROM @instances WHERE id = $1
        UNION ALL SELECT key FROM @instances WHERE parent_id = $1
        UNION ALL SELECT p.key FROM @instances AS c
        JOIN @instances AS p ON ${probe("p.id", "c.parent_id")} WHERE c.id = $1`),
    );
    const head = `SELECT ${HEAD_COLUMNS} FROM @instances AS i`;
    this.#selectHead = connection.prepare(`${head} WHERE i.id = $1`);
    this.#lockHead = connection.prepare(`${head} WHERE i.id = $1 FOR NO KEY UPDATE`);
    this.#selectHeadByKey = connection.prepare(`${head} WHERE i.key = $1`);
    this.#selectRecords = connection.prepare(`
      SELECT ${RECORD_COLUMNS}
      FROM unnest($1::text[]) AS w (wanted) JOIN @instances ON ${probe("id", "w.wanted")}`);
    this.#records = new Gathering((ids) => this.#readAll(ids), null);
    this.#selectChildren = connection.prepare(`
      ${head}
      WHERE i.parent_id = $1 AND i.parent_run_id = $2 AND i.on_parent_close = 'cancel'
        AND i.status IN ('pending', 'running')
      ORDER BY i.key + 0 FOR NO KEY UPDATE`);
    this.#revive = connection.prepare(`
      UPDATE @instances AS i SET
        run_id = $2, name = $3, version = $4, parent_id = $5, parent_run_id = $6,
        parent_execution = $7, parent_sequence = $8, on_parent_close = $9, priority = $10,
        attributes = $11, attributes_checksum = $17, updated_at = $12,
        lease_owner = $13, lease_token = $14, lease_until = $15, suspicion = $16,
        ${NEXT_EXECUTION}, steps_open = false, failed = false, status = 'pending',
        completed_at = NULL, output = NULL, error = NULL, ending_checksum = NULL,
        custom_status = NULL, custom_status_checksum = NULL,
        paused = NULL, blocked = NULL, blocked_by = NULL, cancel_requested = NULL
      WHERE i.id = $1`);
    this.#end = connection.prepare(`
      UPDATE @instances SET
        status = $2, failed = ($2 <> 'completed'), error = $3, last_event = $4,
        cancel_requested = $5, updated_at = $6::bigint, completed_at = $6::bigint,
        ending_checksum = $7,
        lease_owner = NULL, lease_token = NULL, lease_until = NULL, suspicion = 0,
        steps_open = false, paused = NULL, blocked = NULL, blocked_by = NULL
      WHERE key = $1`);
  }

  /** N3, of all that a group writes to besides its own turns. */
  lock(
    pipeline: Pipeline,
    { keys, ids }: { readonly keys: readonly number[]; readonly ids: readonly string[] },
  ): void {
    if (keys.length + ids.length > 0) pipeline.add(this.#lock, [plain(keys), texts(ids)]);
  }

  /** N3, of an instance with its parent and its children: what its end touches. */
  async lockFamily(statements: Statements, id: string): Promise<void> {
    await statements.run(this.#lockFamily, [id]);
  }

  /** Locks its row. */
  async find(statements: Statements, id: string): Promise<InstanceHead | null> {
    return toHead((await statements.run(this.#lockHead, [id]))[0]);
  }

  /** Of an instance that may change meanwhile. */
  async peek(id: string): Promise<InstanceHead | null> {
    return toHead((await this.#connection.read(this.#selectHead, [id]))[0]);
  }

  async peekByKey(key: number): Promise<InstanceHead | null> {
    return toHead((await this.#connection.read(this.#selectHeadByKey, [key]))[0]);
  }

  /** Children that have not ended and are to be cancelled with their parent. */
  async findChildren(statements: Statements, parent: InstanceHead): Promise<InstanceHead[]> {
    const rows = await statements.run(this.#selectChildren, [parent.id, parent.runId]);
    return rows.flatMap((row) => toHead(row) ?? []);
  }

  /** The next execution of an ended instance, as if it were new. */
  async revive(statements: Statements, instance: NewInstance, lease: Lease | null): Promise<void> {
    const { parent } = instance;
    const attributes = JSON.stringify(instance.attributes);
    await statements.run(this.#revive, [
      instance.id,
      instance.runId,
      instance.name,
      instance.version,
      parent?.id ?? null,
      parent?.runId ?? null,
      parent?.execution ?? null,
      parent?.sequence ?? null,
      instance.onParentClose,
      instance.priority,
      attributes,
      statements.now,
      lease?.owner ?? null,
      lease?.token ?? null,
      lease?.until ?? null,
      lease === null ? 0 : 1, // a cold lease, as of one that is born leased (births.ts)
      checksumOf(attributes),
    ]);
  }

  async end(
    statements: Statements,
    key: number,
    ending: {
      readonly status: InstanceStatus;
      readonly error: string;
      readonly lastEvent: number;
      readonly cancelRequested: string | null;
    },
  ): Promise<void> {
    const { status, error, lastEvent, cancelRequested } = ending;
    const checksum = checksumOf(null, error); // of an instance that has no output
    const values = [key, status, error, lastEvent, cancelRequested, statements.now, checksum];
    await statements.run(this.#end, values);
  }

  read(id: string): Promise<InstanceRecord | null> {
    return this.#records.get(id);
  }

  async #readAll(ids: readonly string[]): Promise<Map<string, InstanceRecord>> {
    const rows = await this.#connection.read(this.#selectRecords, [texts(ids)]);
    return new Map(rows.map((row) => [text(row, "id"), toRecord(row)]));
  }
}

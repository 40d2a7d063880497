// Instances: reads and writes of instance rows, except by ordinary turns.
//   - A head holds the columns that decide about an item. It is read under the write lock and never cached.
//   - The statement that ends or restarts an instance also clears its lease (semantics 19a).
//   - sqlite.instances.1: Records that are requested in the same tick are read in one snapshot, at most
//     READ_MAX at a time. Thousands of callers may wait for results, and a snapshot for each of them would
//     cost more than its read.

import type { StatementResultingChanges } from "node:sqlite";
import { instanceColumns, type Lease } from "../../sql/write/instance-columns.ts";
import { checksumOf } from "../../core/values/checksum.ts";
import type { NewInstance, StartItem, TurnItem } from "../../core/provider/commit.ts";
import type { InstanceRecord } from "../../core/provider/instances.ts";
import type { Ending } from "../../sql/parts.ts";
import type { Row } from "../../sql/columns.ts";
import { BatchInsert, batchTexts } from "../sql/batch-insert.ts";
import { changed } from "../sql/changed.ts";
import { Subject } from "../connection/subject.ts";
import {
  HEAD_COLUMNS,
  RECEIVER_COLUMNS,
  toHead,
  toReceiver,
  toRecord,
  type InstanceHead,
  type Receiver,
} from "../../sql/rows/instance-rows.ts";

/** The SET clause that begins a new execution of an instance. */
export const NEXT_EXECUTION = `
  execution = execution + 1, last_event = 0, copied_until = 0, replay_version = NULL,
  past_executions = past_executions + 1, past_events = past_events + last_event`;

/** How many records are read in one snapshot. More would block the event loop for milliseconds. */
const READ_MAX = 100;

/** Records that are read together (sqlite.instances.1). */
interface Batch {
  readonly ids: Set<string>;
  readonly rows: Promise<ReadonlyMap<string, Row>>;
}

/** A start without a parent, whose first turn is written with it. */
export type Job = StartItem & { readonly firstTurn: TurnItem };

/** A batch of rows, and one. */
const [INSERT_BATCH, INSERT_ONE] = batchTexts(
  `instances (
      id, run_id, name, version, on_parent_close, priority, attributes, attributes_checksum,
      created_at, updated_at, last_event, last_commit, replay_version, status, suspicion, execution,
      status_version, copied_until, past_executions, past_events, steps_open)`,
  "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'running', 0, 1, 0, 0, 0, 0, 0)",
  "ON CONFLICT (id) DO NOTHING",
);

export class Instances extends Subject {
  /** The batch that the next request joins. */
  #batch: Batch | null = null;
  readonly #insert = this.prepare(`
    INSERT INTO instances (
      id, run_id, name, version, parent_id, parent_run_id, parent_execution, parent_sequence,
      on_parent_close, priority, attributes, created_at, updated_at,
      lease_owner, lease_token, lease_until, suspicion,
      execution, status_version, copied_until, past_executions, past_events, attributes_checksum,
      status, last_event, last_commit, steps_open, replay_version
    ) VALUES (
      ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?12, ?13, ?14, ?15, ?16,
      1, 0, 0, 0, 0, ?17, ?18, ?19, ?20, ?21, ?22
    ) ON CONFLICT (id) DO NOTHING`);
  readonly #insertJobs = new BatchInsert(this.prepare(INSERT_BATCH), this.prepare(INSERT_ONE));
  readonly #revive = this.prepare(`
    UPDATE instances SET
      run_id = ?2, name = ?3, version = ?4, parent_id = ?5, parent_run_id = ?6,
      parent_execution = ?7, parent_sequence = ?8, on_parent_close = ?9, priority = ?10,
      attributes = ?11, attributes_checksum = ?17, updated_at = ?12,
      lease_owner = ?13, lease_token = ?14, lease_until = ?15, suspicion = ?16,
      ${NEXT_EXECUTION}, steps_open = 0, status = 'pending', completed_at = NULL, delete_after = NULL, output = NULL,
      error = NULL, ending_checksum = NULL, custom_status = NULL, custom_status_checksum = NULL,
      paused = NULL, blocked = NULL, blocked_by = NULL, cancel_requested = NULL
    WHERE id = ?1`);
  readonly #selectHead = this.prepare(`SELECT ${HEAD_COLUMNS} FROM instances WHERE id = ?`);
  readonly #selectHeadByKey = this.prepare(`SELECT ${HEAD_COLUMNS} FROM instances WHERE key = ?`);
  readonly #selectReceiver = this.prepare(`SELECT ${RECEIVER_COLUMNS} FROM instances WHERE id = ?`);
  readonly #selectRecord = this.prepare("SELECT * FROM instances WHERE id = ?");
  readonly #end = this.prepare(`
    UPDATE instances SET
      status = ?2, error = ?3, last_event = ?4, cancel_requested = ?5,
      updated_at = ?6, completed_at = ?6, ending_checksum = ?7,
      lease_owner = NULL, lease_token = NULL, lease_until = NULL, suspicion = 0, steps_open = 0,
      paused = NULL, blocked = NULL, blocked_by = NULL
    WHERE key = ?1`);

  /** The key of the new instance; null if its id is taken. */
  insert(instance: NewInstance, lease: Lease | null, now: number): number | null {
    const columns = instanceColumns(instance, lease, now);
    return this.#inserted(this.#insert.run(...columns, "pending", 0, null, 0, null));
  }

  /** The same for an instance that begins with its first turn (commit.5, commit.6). */
  insertBegun(
    instance: NewInstance,
    lease: Lease | null,
    turn: TurnItem,
    now: number,
  ): number | null {
    const version = turn.version ?? instance.version;
    const kept = turn.release ? null : lease;
    const columns = instanceColumns({ ...instance, version }, kept, now, 0); // the turn has not crashed
    const last = turn.row?.last ?? 0;
    const steps = turn.stepsOpen ? 1 : 0;
    const replayVersion = turn.version === null ? null : turn.replayVersion;
    return this.#inserted(
      this.#insert.run(...columns, "running", last, turn.commitId, steps, replayVersion),
    );
  }

  /**
   * Inserts jobs, each with its first turn. Returns the key of the first one; the others follow it, because the
   * transaction is the only writer. Null: an id is taken, and the caller must roll back.
   */
  insertJobs(jobs: readonly Job[], now: number): number | null {
    const rows = jobs.map((job) => {
      const { firstTurn } = job;
      const attributes = JSON.stringify(job.attributes);
      return [
        job.id,
        job.runId,
        job.name,
        firstTurn.version ?? job.version,
        job.onParentClose,
        job.priority,
        attributes,
        checksumOf(attributes),
        now,
        now,
        firstTurn.row?.last ?? 0,
        firstTurn.commitId,
        firstTurn.version === null ? null : firstTurn.replayVersion,
      ];
    });
    const last = this.#insertJobs.run(rows);
    return last === null ? null : last - jobs.length + 1;
  }

  #inserted(result: StatementResultingChanges): number | null {
    return changed(result) ? Number(result.lastInsertRowid) : null;
  }

  /** Begins the next execution of an ended instance, as if it were new. */
  revive(instance: NewInstance, lease: Lease | null, now: number): void {
    this.#revive.run(...instanceColumns(instance, lease, now));
  }

  find(id: string): InstanceHead | null {
    return toHead(this.#selectHead.get(id));
  }

  /** Like `find`, for a message: it reads fewer columns, and every message needs them. */
  findReceiver(id: string): Receiver | null {
    return toReceiver(this.#selectReceiver.get(id));
  }

  get(key: number): InstanceHead | null {
    return toHead(this.#selectHeadByKey.get(key));
  }

  end(key: number, ending: Ending, now: number): void {
    const { status, error, row, cancelRequested } = ending;
    const checksum = checksumOf(null, error); // such an instance has no output
    this.#end.run(key, status, error, row.last, cancelRequested, now, checksum);
  }

  async read(id: string): Promise<InstanceRecord | null> {
    const batch = (this.#batch ??= this.#newBatch());
    batch.ids.add(id);
    if (batch.ids.size >= READ_MAX) this.#batch = null;
    const row = (await batch.rows).get(id);
    return row === undefined ? null : toRecord(row);
  }

  /** A batch that is read in the next microtask (sqlite.instances.1). */
  #newBatch(): Batch {
    const ids = new Set<string>();
    const rows = Promise.resolve().then(() => {
      if (this.#batch?.ids === ids) this.#batch = null;
      return this.connection.read(() => this.#readRows(ids));
    });
    return { ids, rows };
  }

  #readRows(ids: ReadonlySet<string>): ReadonlyMap<string, Row> {
    const rows = new Map<string, Row>();
    for (const id of ids) {
      const row = this.#selectRecord.get(id);
      if (row !== undefined) rows.set(id, row);
    }
    return rows;
  }
}

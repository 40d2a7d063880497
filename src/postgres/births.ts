// Births: new instances, their start messages, and what is in their mailboxes from the first moment.
//   BI1. An id names one instance: who meets it is not born, and nothing is written for him here.
//   BI2. The newborn are told from all others by a number that is drawn for the births of one pipeline (newborn.ts).
//   BI3. Behind the start the mailbox holds what was kept for the id (kept.ts), then the events it came with.
//   BI4. Keys follow the order of the items; rows are inserted in the order of ids, so that two processes that start
//        the same ids do not wait for each other.

import { checksumOf } from "../core/checksum.ts";
import type { NewInstance, StartItem } from "../core/provider/commit.ts";
import type { KeptMessage, Message } from "../core/provider/messages.ts";
import { ColumnArrays } from "./column-arrays.ts";
import { flag, integer, integerOrNull, text } from "./columns.ts";
import type { Connection } from "./connection.ts";
import { INBOX_COLUMNS, OF_INSTANCE, ON_SAME_KEY } from "./inbox.ts";
import type { KeptMessages } from "./kept.ts";
import { dueColumns, dueTime, messageChecksum } from "./messages.ts";
import { IS_NEWBORN, NEWBORN, VISIBLE_AT, WHO } from "./newborn.ts";
import type { Answer, Pipeline, Statement } from "./pipeline.ts";
import { probe } from "./probing.ts";

export interface Birth {
  readonly instance: NewInstance;
  readonly lease: StartItem["lease"];
  readonly delayMs?: number;
  readonly dueAt?: number;
  readonly events: readonly KeptMessage[];
  readonly requestId: string | null;
  readonly requestDigest?: string;
}
export interface Born {
  readonly key: number;
  readonly runId: string;
  readonly isLeased: boolean;
  readonly isDue: boolean;
  readonly start: Message;
}

const BIRTHS = new ColumnArrays({
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
});
const STARTS = new ColumnArrays({ ...WHO, started: "text", checksum: "bigint" });
const EVENTS = new ColumnArrays({
  ...WHO,
  name: "text",
  key: "text",
  data: "text",
  checksum: "bigint",
});
const REQUESTS = new ColumnArrays({ ...WHO, request_id: "text", digest: "text" });

export class Births {
  readonly #connection: Connection;
  readonly #kept: KeptMessages;
  readonly #insert: Statement;
  readonly #start: Statement;
  readonly #events: Statement;
  readonly #requests: Statement;

  constructor(connection: Connection, kept: KeptMessages) {
    this.#connection = connection;
    this.#kept = kept;
    this.#insert = connection.prepare(`
      INSERT INTO @instances (
        key, id, run_id, name, version, parent_id, parent_run_id, parent_execution,
        parent_sequence, on_parent_close, priority, attributes, created_at, updated_at,
        lease_owner, lease_token, lease_until, suspicion,
        execution, last_event, last_commit, steps_open, failed, status,
        status_version, copied_until, past_executions, past_events, attributes_checksum
      )
      SELECT
        t.key, t.id, t.run_id, t.name, t.version, t.parent_id, t.parent_run_id, t.parent_execution,
        t.parent_sequence, t.on_parent_close, t.priority, t.attributes, t.now, t.now,
        r.id, CASE WHEN r.id IS NULL THEN NULL ELSE t.lease_token END,
        CASE WHEN r.id IS NULL THEN NULL ELSE t.now + t.lease_ms END,
        -- To be born leased is a cold lease: its first turn may be the one that kills (N4).
        CASE WHEN r.id IS NULL THEN 0 ELSE 1 END,
        1, 0, $1::bigint, false, false, 'pending', 0, 0, 0, 0, t.attributes_checksum
      FROM (
        SELECT nextval('@instance_keys') AS key, (SELECT @clock()) AS now, b.*
        FROM ${BIRTHS.from("b", 2)}
      ) AS t
      LEFT JOIN @runtimes AS r ON ${probe("r.id", "t.lease_owner")} AND ${dueTime("t", "t.now")} <= t.now
      ORDER BY t.id COLLATE "C"
      ON CONFLICT (id) DO NOTHING RETURNING id, run_id, key, lease_token`);
    this.#start = connection.prepare(`
      INSERT INTO @inbox (${INBOX_COLUMNS})
      SELECT ${OF_INSTANCE}, ${VISIBLE_AT}, 1, NULL, 'start', NULL, NULL, t.started,
        t.checksum
      FROM ${STARTS.from("t", 2)} JOIN @instances AS i ON ${IS_NEWBORN}
      RETURNING id, instance, visible_at, visible_at <= (SELECT @clock()) AS due`);
    this.#events = connection.prepare(`
      INSERT INTO @inbox (${INBOX_COLUMNS})
      SELECT ${OF_INSTANCE}, ${VISIBLE_AT}, NULL, NULL, 'event', t.name, t.key, t.data,
        t.checksum
      FROM ${EVENTS.from("t", 2)} JOIN @instances AS i ON ${IS_NEWBORN}
      ORDER BY t.n ${ON_SAME_KEY}`);
    this.#requests = connection.prepare(`
      INSERT INTO @requests (instance, execution, created_at, batch, kind, id, outcome, digest)
      SELECT i.key, 1, i.created_at, $1::bigint, 'start', t.request_id, 'started', t.digest
      FROM ${REQUESTS.from("t", 2)} JOIN @instances AS i ON ${IS_NEWBORN}`);
  }

  /** What is returned tells, when the answer is there, who was born, by id. */
  bear(pipeline: Pipeline, births: readonly Birth[]): () => ReadonlyMap<string, Born> {
    const number = this.#connection.draw();
    const inserted = pipeline.add(this.#insert, [number, ...BIRTHS.values(births.map(toColumns))]);
    const who = births.map((birth) => ({ ...whoColumns(birth), birth }));
    const starts = who.map((row) => {
      const { started } = row.birth.instance;
      return { ...row, started, checksum: messageChecksum({ ...START, data: started }) };
    });
    const started = pipeline.add(this.#start, [number, ...STARTS.values(starts)]);
    this.#kept.handOver(pipeline, number, NEWBORN.values(who));
    const events = who.flatMap((row) =>
      row.birth.events.map((event) => {
        const checksum = messageChecksum({ ...event, kind: "event", sequence: null });
        return { ...row, ...event, checksum };
      }),
    );
    if (events.length > 0) pipeline.add(this.#events, [number, ...EVENTS.values(events)]);
    const requests = who.flatMap((row) => {
      const { requestId: request_id, requestDigest: digest = null } = row.birth;
      return request_id === null ? [] : [{ ...row, request_id, digest }];
    });
    if (requests.length > 0) pipeline.add(this.#requests, [number, ...REQUESTS.values(requests)]);
    return () => bornOf(births, inserted, started);
  }
}

function bornOf(births: readonly Birth[], inserted: Answer, started: Answer): Map<string, Born> {
  const starts = new Map(started.rows.map((row) => [integer(row, "instance"), row]));
  const texts = new Map(births.map(({ instance }) => [instance.runId, instance.started]));
  const born = new Map<string, Born>();
  for (const row of inserted.rows) {
    const key = integer(row, "key");
    const runId = text(row, "run_id");
    const message = starts.get(key);
    if (message === undefined) continue;
    born.set(text(row, "id"), {
      key,
      runId,
      isLeased: integerOrNull(row, "lease_token") !== null,
      isDue: flag(message, "due"),
      start: {
        ...START,
        id: integer(message, "id"),
        execution: 1,
        data: texts.get(runId) ?? "",
        visibleAt: integer(message, "visible_at"),
      },
    });
  }
  return born;
}

const START = { kind: "start", sequence: null, name: null, key: null } as const;

function whoColumns(birth: Birth) {
  const { id, runId } = birth.instance;
  return { id, run_id: runId, ...dueColumns(birth) };
}

function toColumns(birth: Birth) {
  const { instance, lease } = birth;
  const { parent } = instance;
  const attributes = JSON.stringify(instance.attributes);
  return {
    ...whoColumns(birth),
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
  };
}

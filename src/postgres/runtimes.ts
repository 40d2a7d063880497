// Runtimes: who is alive, and what becomes of what the others held.
//   V1. Whether a runtime is stale is judged in the statement that removes it (V2 of the contract).
//   V2. Every lease's owner has a row: leases are given to nobody else, under a lock that whoever removes the row
//       waits for, and freed in the transaction that removes it (V3). So whoever was declared dead keeps nothing from
//       others, even if it lives.
//   V3. An instance with open steps gets a "wake", because no message tells that it has something to do.

import { blameFor, type Company } from "../core/provider/blame.ts";
import { isProcessIdentity } from "../core/provider/row-checks.ts";
import type {
  ExpireRequest,
  ExpireResult,
  HeldLeases,
  InstanceLease,
  LeaseCheckRecord,
  RuntimeRecord,
  RuntimeRegistration,
  TaskLease,
} from "../core/provider/runtimes.ts";
import { flag, integer, integerOrNull, json, only, text, textOrNull, type Row } from "./columns.ts";
import { told, type Connection, type Statements } from "./connection.ts";
import { tellDue } from "./delivery.ts";
import { wakeMessage, type Inbox } from "./inbox.ts";
import type { NewsDraft } from "./news.ts";
import type { Notifier } from "./notifications.ts";
import { Pipeline, type Statement } from "./pipeline.ts";
import type { Sessions } from "./sessions.ts";

const FREE = "lease_owner = NULL, lease_token = NULL, lease_until = NULL";
const FREED = "RETURNING i.key, i.execution, i.steps_open";
export const RUNTIME_COLUMNS =
  "r.id, r.node_id, r.hostname, r.process, r.registered, r.started_at, r.beat_at, r.note, " +
  "r.leases_checked_at, r.leases_stranded";

export class Runtimes {
  readonly #connection: Connection;
  readonly #inbox: Inbox;
  readonly #notifier: Notifier;
  readonly #sessions: Sessions;
  readonly #insert: Statement;
  readonly #beat: Statement;
  readonly #select: Statement;
  readonly #delete: Statement;
  readonly #deleteSilent: Statement;
  readonly #knows: Statement;
  readonly #lock: Statement;
  readonly #company: Statement;
  readonly #bury: Statement;
  readonly #buryTasks: Statement;
  readonly #freeInstances: Statement;
  readonly #freeTasks: Statement;
  readonly #selectLeases: Statement;
  readonly #recordCheck: Statement;

  constructor(
    connection: Connection,
    parts: { readonly inbox: Inbox; readonly notifier: Notifier; readonly sessions: Sessions },
  ) {
    this.#connection = connection;
    this.#inbox = parts.inbox;
    this.#notifier = parts.notifier;
    this.#sessions = parts.sessions;
    this.#insert = connection.prepare(`
      INSERT INTO @runtimes (id, node_id, hostname, process, registered, started_at, beat_at)
      VALUES ($1, $2, $3, $4, $5, (SELECT @clock()), (SELECT @clock()))
      ON CONFLICT (id) DO UPDATE SET
        node_id = excluded.node_id, hostname = excluded.hostname, process = excluded.process,
        registered = excluded.registered, started_at = excluded.started_at,
        beat_at = excluded.beat_at, note = NULL, leases_checked_at = NULL, leases_stranded = 0`);
    this.#beat = connection.prepare(
      "UPDATE @runtimes SET beat_at = (SELECT @clock()), note = NULL WHERE id = $1",
    );
    this.#select = connection.prepare(
      `SELECT ${RUNTIME_COLUMNS} FROM @runtimes AS r ORDER BY r.started_at, r.id`,
    );
    this.#delete = connection.prepare("DELETE FROM @runtimes WHERE id = $1 RETURNING id");
    this.#deleteSilent = connection.prepare(`
      DELETE FROM @runtimes
      WHERE id = $1 AND ($2::bigint IS NULL OR beat_at <= (SELECT @clock()) - $2::bigint)
        AND ($3::bigint IS NULL OR beat_at <= $3::bigint)
      RETURNING id`);
    this.#knows = connection.prepare("SELECT 1 FROM @runtimes WHERE id = $1");
    this.#lock = connection.prepare(`
      SELECT key FROM @instances WHERE lease_owner = $1 ORDER BY key + 0 FOR NO KEY UPDATE`);
    this.#company = connection.prepare(`
      SELECT held.suspects, held.unproven, held.stepping, (
        SELECT count(*) FROM @tasks AS t WHERE t.lease_owner = $1 AND t.deaths > 0) AS marked
      FROM (
        SELECT count(*) FILTER (WHERE i.suspicion > 1) AS suspects,
          count(*) FILTER (WHERE i.suspicion > 0) AS unproven,
          count(*) FILTER (WHERE i.steps_open) AS stepping
        FROM @instances AS i WHERE i.lease_owner = $1) AS held`);
    this.#bury = connection.prepare(`
      UPDATE @instances AS i SET ${FREE}, suspicion = CASE
        WHEN i.suspicion < 2 OR CASE WHEN i.steps_open THEN $2::boolean ELSE $3::boolean END
        THEN i.suspicion ELSE i.suspicion - 1 END
      WHERE i.lease_owner = $1 ${FREED}`);
    this.#freeInstances = connection.prepare(`
      UPDATE @instances AS i SET ${FREE}, suspicion = greatest(i.suspicion - 1, 0)
      WHERE i.lease_owner = $1 ${FREED}`);
    const death = "CASE WHEN deaths = 0 OR $2::boolean THEN 1 ELSE 0 END";
    this.#buryTasks = connection.prepare(`
      UPDATE @tasks SET ${FREE}, available_at = (SELECT @clock()), suspect = (deaths > 0),
        attempt = attempt + ${death}, deaths = deaths + ${death}
      WHERE lease_owner = $1 RETURNING name`);
    this.#freeTasks = connection.prepare(
      `UPDATE @tasks SET ${FREE} WHERE lease_owner = $1 RETURNING name`,
    );
    // One statement, so that both tables are read as of one moment.
    this.#selectLeases = connection.prepare(`
      SELECT i.key, i.execution, NULL::bigint AS sequence, i.lease_token, i.last_event,
        NULL::text AS name, NULL::bigint AS available_at
      FROM @instances AS i WHERE i.lease_owner = $1
      UNION ALL
      SELECT t.instance, t.execution, t.sequence, t.lease_token, NULL, t.name, t.available_at
      FROM @tasks AS t WHERE t.lease_owner = $1
      ORDER BY 1, 2, 3`);
    this.#recordCheck = connection.prepare(`
      UPDATE @runtimes SET leases_checked_at = (SELECT @clock()), leases_stranded = $2::bigint
      WHERE id = $1`);
  }

  async register(registration: RuntimeRegistration): Promise<void> {
    const { id, nodeId, hostname, process, registered } = registration;
    const identity = process === null ? null : JSON.stringify(process);
    this.#notifier.serves(id, {});
    const pipeline = new Pipeline();
    pipeline.add(this.#insert, [id, nodeId, hostname, identity, registered]);
    await told(this.#connection.write(pipeline));
  }

  /** Whether a lease may be given to it. */
  async knows(statements: Statements, id: string): Promise<boolean> {
    return (await statements.run(this.#knows, [id])).length > 0;
  }

  async isThere(id: string): Promise<boolean> {
    return (await this.#connection.read(this.#knows, [id])).length > 0;
  }

  async beat(id: string): Promise<boolean> {
    const pipeline = new Pipeline();
    const answer = pipeline.add(this.#beat, [id]);
    await told(this.#connection.write(pipeline));
    return answer.count > 0;
  }

  async list(): Promise<readonly RuntimeRecord[]> {
    return (await this.#connection.read(this.#select)).map(toRuntime);
  }

  async leases(id: string): Promise<HeldLeases> {
    const rows = await this.#connection.readOnce(this.#selectLeases, [id]);
    const isTask = (row: Row): boolean => row["sequence"] !== null;
    return {
      instances: rows.filter((row) => !isTask(row)).map(toInstanceLease),
      tasks: rows.filter(isTask).map(toTaskLease),
    };
  }

  async recordCheck({ runtimeId, stranded }: LeaseCheckRecord): Promise<void> {
    const pipeline = new Pipeline();
    pipeline.add(this.#recordCheck, [runtimeId, stranded]);
    await told(this.#connection.write(pipeline));
  }

  expire({ id, staleMs, beatAt }: ExpireRequest): Promise<ExpireResult> {
    return this.#notifier.transactWithout(id, async (statements, news) => {
      const silentMs = staleMs === null ? null : Math.ceil(staleMs);
      const gone = await statements.run(this.#deleteSilent, [id, silentMs, beatAt ?? null]);
      if (gone.length === 0) return { expired: false, instances: 0, tasks: 0 };
      return { expired: true, ...(await this.#buryAll(statements, id, news)) };
    });
  }

  remove(id: string): Promise<void> {
    return this.#notifier.transactWithout(id, async (statements, news) => {
      await statements.run(this.#delete, [id]);
      await statements.run(this.#lock, [id]);
      await this.#freed(statements, await statements.run(this.#freeInstances, [id]), news);
      for (const row of await statements.run(this.#freeTasks, [id])) news.queued(text(row, "name"));
      await this.#sessions.releaseIn(statements, id, news);
    });
  }

  async #buryAll(
    statements: Statements,
    id: string,
    news: NewsDraft,
  ): Promise<Omit<ExpireResult, "expired">> {
    await statements.run(this.#lock, [id]);
    const blame = blameFor(toCompany(only(await statements.run(this.#company, [id]))));
    const instances = await statements.run(this.#bury, [id, blame.steps, blame.turns]);
    await this.#freed(statements, instances, news);
    await this.#sessions.releaseIn(statements, id, news);
    const tasks = await statements.run(this.#buryTasks, [id, blame.tasks]);
    for (const row of tasks) news.queued(text(row, "name"));
    return { instances: instances.length, tasks: tasks.length };
  }

  async #freed(statements: Statements, freed: readonly Row[], news: NewsDraft): Promise<void> {
    const pipeline = new Pipeline();
    const open = freed.filter((row) => flag(row, "steps_open"));
    this.#inbox.put(
      pipeline,
      open.map((row) => wakeMessage(integer(row, "key"), integer(row, "execution"))),
    );
    const due = this.#inbox.hasDue(
      pipeline,
      freed.map((row) => integer(row, "key")),
    );
    await statements.all(pipeline);
    tellDue(due, news);
  }
}

function toCompany(row: Row): Company {
  return {
    suspects: integer(row, "suspects"),
    unproven: integer(row, "unproven"),
    stepping: integer(row, "stepping"),
    marked: integer(row, "marked"),
  };
}

/** From RUNTIME_COLUMNS. */
export function toRuntime(row: Row): RuntimeRecord {
  return {
    id: text(row, "id"),
    nodeId: text(row, "node_id"),
    hostname: text(row, "hostname"),
    process: row["process"] === null ? null : (json(row, "process", isProcessIdentity) ?? null),
    registered: text(row, "registered"),
    startedAt: integer(row, "started_at"),
    beatAt: integer(row, "beat_at"),
    note: textOrNull(row, "note"),
    leasesCheckedAt: integerOrNull(row, "leases_checked_at"),
    strandedLeases: integer(row, "leases_stranded"),
  };
}

function toInstanceLease(row: Row): InstanceLease {
  return {
    key: integer(row, "key"),
    token: integer(row, "lease_token"),
    execution: integer(row, "execution"),
    lastEvent: integer(row, "last_event"),
  };
}

function toTaskLease(row: Row): TaskLease {
  return {
    key: integer(row, "key"),
    execution: integer(row, "execution"),
    sequence: integer(row, "sequence"),
    token: integer(row, "lease_token"),
    name: text(row, "name"),
    availableAt: integer(row, "available_at"),
  };
}

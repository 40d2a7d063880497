// Runtimes: who is alive, and what becomes of what the others held.
//   V1. Whether a runtime is stale is judged in the statement that removes it (V2 of the contract).
//   V2. Every lease's owner has a row: leases are given to nobody else, and freed in the transaction that
//       removes it (V3). So whoever was declared dead keeps nothing from others, even if it lives.
//   V3. An instance with open steps gets a "wake", because no message tells that it has something to do.

import type { StatementSync } from "node:sqlite";
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
import { changed, integer, integerOrNull, json, text, textOrNull, type Row } from "./columns.ts";
import type { Connection } from "./connection.ts";
import type { Inbox } from "./inbox.ts";
import type { Transaction } from "./news.ts";
import type { Notifier } from "./notifications.ts";
import type { Sessions } from "./sessions.ts";

const FREE = "lease_owner = NULL, lease_token = NULL, lease_until = NULL";
const FREED = "RETURNING key, id, execution, steps_open";

export class Runtimes {
  readonly #connection: Connection;
  readonly #inbox: Inbox;
  readonly #notifier: Notifier;
  readonly #sessions: Sessions;
  readonly #insert: StatementSync;
  readonly #beat: StatementSync;
  readonly #select: StatementSync;
  readonly #delete: StatementSync;
  readonly #deleteSilent: StatementSync;
  readonly #knows: StatementSync;
  readonly #company: StatementSync;
  readonly #bury: StatementSync;
  readonly #buryTasks: StatementSync;
  readonly #freeInstances: StatementSync;
  readonly #freeTasks: StatementSync;
  readonly #recordCheck: StatementSync;
  readonly #selectInstances: StatementSync;
  readonly #selectTasks: StatementSync;

  constructor(
    connection: Connection,
    parts: { readonly inbox: Inbox; readonly notifier: Notifier; readonly sessions: Sessions },
  ) {
    this.#connection = connection;
    this.#inbox = parts.inbox;
    this.#notifier = parts.notifier;
    this.#sessions = parts.sessions;
    this.#insert = connection.prepare(`
      INSERT OR REPLACE INTO runtimes
        (id, node_id, hostname, process, registered, started_at, beat_at)
      VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6)`);
    this.#beat = connection.prepare("UPDATE runtimes SET beat_at = ?, note = NULL WHERE id = ?");
    this.#select = connection.prepare("SELECT * FROM runtimes ORDER BY started_at, id");
    this.#delete = connection.prepare("DELETE FROM runtimes WHERE id = ?");
    this.#deleteSilent = connection.prepare("DELETE FROM runtimes WHERE id = ? AND beat_at <= ?");
    this.#knows = connection.prepare("SELECT 1 FROM runtimes WHERE id = ?");
    this.#company = connection.prepare(`
      SELECT * FROM (
        SELECT count(*) FILTER (WHERE suspicion > 1) AS suspects,
          count(*) FILTER (WHERE suspicion > 0) AS unproven,
          count(*) FILTER (WHERE steps_open = 1) AS stepping
        FROM instances WHERE lease_owner = ?1
      ), (SELECT count(*) AS marked FROM tasks WHERE lease_owner = ?1 AND deaths > 0)`);
    this.#bury = connection.prepare(`
      UPDATE instances SET ${FREE},
        suspicion = suspicion - (suspicion > 1 AND NOT iif(steps_open = 1, ?2, ?3))
      WHERE lease_owner = ?1 ${FREED}`);
    this.#buryTasks = connection.prepare(`
      UPDATE tasks SET ${FREE}, available_at = ?1, suspect = (deaths > 0),
        attempt = attempt + (deaths = 0 OR ?3), deaths = deaths + (deaths = 0 OR ?3)
      WHERE lease_owner = ?2`);
    this.#freeInstances = connection.prepare(`
      UPDATE instances SET ${FREE}, suspicion = max(suspicion - 1, 0)
      WHERE lease_owner = ? ${FREED}`);
    this.#freeTasks = connection.prepare(`UPDATE tasks SET ${FREE} WHERE lease_owner = ?`);
    this.#recordCheck = connection.prepare(
      "UPDATE runtimes SET leases_checked_at = ?, leases_stranded = ? WHERE id = ?",
    );
    this.#selectInstances = connection.prepare(`
      SELECT key, lease_token, execution, last_event FROM instances
      WHERE lease_owner = ? ORDER BY key`);
    this.#selectTasks = connection.prepare(`
      SELECT instance, execution, sequence, lease_token, name, available_at FROM tasks
      WHERE lease_owner = ? ORDER BY instance, execution, sequence`);
  }

  register(registration: RuntimeRegistration): Promise<void> {
    const { id, nodeId, hostname, process, registered } = registration;
    const identity = process === null ? null : JSON.stringify(process);
    return this.#connection.write(() => {
      this.#insert.run(id, nodeId, hostname, identity, registered, this.#connection.now());
    });
  }

  /** Whether a lease may be given to it. */
  knows(id: string): boolean {
    return this.#knows.get(id) !== undefined;
  }

  beat(id: string): Promise<boolean> {
    return this.#connection.write(() => changed(this.#beat.run(this.#connection.now(), id)));
  }

  list(): Promise<readonly RuntimeRecord[]> {
    return this.#connection.read(() => this.#select.all().map(toRuntime));
  }

  leases(id: string): Promise<HeldLeases> {
    return this.#connection.read(() => ({
      instances: this.#selectInstances.all(id).map(toInstanceLease),
      tasks: this.#selectTasks.all(id).map(toTaskLease),
    }));
  }

  recordCheck({ runtimeId, stranded }: LeaseCheckRecord): Promise<void> {
    return this.#connection.write(() => {
      this.#recordCheck.run(this.#connection.now(), stranded, runtimeId);
    });
  }

  expire({ id, staleMs, beatAt = Infinity }: ExpireRequest): Promise<ExpireResult> {
    return this.#notifier.write((transaction) => {
      const staleAt = staleMs === null ? Infinity : transaction.now - staleMs;
      const gone = this.#deleteSilent.run(id, Math.min(staleAt, beatAt));
      if (!changed(gone)) return { expired: false, instances: 0, tasks: 0 };
      return { expired: true, ...this.#buryAll(id, transaction) };
    });
  }

  remove(id: string): Promise<void> {
    return this.#notifier.write((transaction) => {
      this.#delete.run(id);
      this.#freed(this.#freeInstances.all(id), transaction);
      if (changed(this.#freeTasks.run(id))) transaction.news.queued();
      this.#sessions.releaseIn(id, transaction);
    });
  }

  #buryAll(id: string, transaction: Transaction): Omit<ExpireResult, "expired"> {
    const blame = blameFor(toCompany(this.#company.get(id) ?? {}));
    const instances = this.#bury.all(id, flag(blame.steps), flag(blame.turns));
    this.#freed(instances, transaction);
    this.#sessions.releaseIn(id, transaction);
    const tasks = Number(this.#buryTasks.run(transaction.now, id, flag(blame.tasks)).changes);
    if (tasks > 0) transaction.news.queued();
    return { instances: instances.length, tasks };
  }

  #freed(instances: readonly Row[], { now, news }: Transaction): void {
    for (const row of instances) {
      const key = integer(row, "key");
      if (integer(row, "steps_open") === 1) {
        this.#inbox.insertWake(key, integer(row, "execution"), now);
      }
      if (this.#inbox.hasDue(key, now)) news.due(text(row, "id"));
    }
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

function flag(is: boolean): number {
  return is ? 1 : 0;
}

/** From all columns of a runtime. */
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
    key: integer(row, "instance"),
    execution: integer(row, "execution"),
    sequence: integer(row, "sequence"),
    token: integer(row, "lease_token"),
    name: text(row, "name"),
    availableAt: integer(row, "available_at"),
  };
}

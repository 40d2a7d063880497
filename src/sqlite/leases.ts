// Leases of instances: who may write to which.
//   L1. Found (due-instances.ts), taken and read in one transaction: what is handed over is what the lease
//       covers (architecture §4.2).
//   L2. What the caller holds already is handed over under its old token, as news.
//   L3. An orderly release holds its lease against the instance no more (N4).
//   L4. What a request took is known by its token: asked again, because its answer was lost, it hands over the same.

import type { StatementSync } from "node:sqlite";
import type { ReleaseInstanceItem, SimpleResult } from "../core/provider/commit.ts";
import type {
  LeasedInstance,
  LeasedInstances,
  LeaseInstancesRequest,
} from "../core/provider/instances.ts";
import { DONE, LEASE_LOST } from "../core/provider/results.ts";
import { changed, integer, text, textOrNull, type Row } from "./columns.ts";
import type { Connection } from "./connection.ts";
import { DueInstances } from "./due-instances.ts";
import type { History } from "./history.ts";
import type { Inbox } from "./inbox.ts";
import { dueTime } from "./messages.ts";
import type { Transaction } from "./news.ts";
import type { Runtimes } from "./runtimes.ts";

const COLUMNS = `
  key, id, run_id, name, version, execution, lease_token, last_event, priority, copied_until,
  suspicion, steps_open`;

export class InstanceLeases {
  readonly #connection: Connection;
  readonly #inbox: Inbox;
  readonly #history: History;
  readonly #dueInstances: DueInstances;
  readonly #selectHeld: StatementSync;
  readonly #selectTaken: StatementSync;
  readonly #take: StatementSync;
  readonly #renew: StatementSync;
  readonly #release: StatementSync;

  constructor(connection: Connection, inbox: Inbox, history: History, runtimes: Runtimes) {
    this.#connection = connection;
    this.#inbox = inbox;
    this.#history = history;
    this.#dueInstances = new DueInstances(connection, runtimes);
    this.#selectHeld = connection.prepare(`SELECT ${COLUMNS} FROM instances WHERE key = ?`);
    this.#selectTaken = connection.prepare(
      `SELECT ${COLUMNS} FROM instances WHERE lease_owner = ? AND lease_token = ?`,
    );
    this.#take = connection.prepare(`
      UPDATE instances SET
        lease_owner = ?, lease_token = ?, lease_until = ?, suspicion = suspicion + 1
      WHERE key = ?
      RETURNING ${COLUMNS}`);
    this.#renew = connection.prepare(`
      UPDATE instances SET lease_until = iif(lease_until IS NULL, NULL, ?)
      WHERE key = ? AND lease_token = ?`);
    this.#release = connection.prepare(`
      UPDATE instances SET
        lease_owner = NULL, lease_token = NULL, lease_until = NULL, suspicion = max(suspicion - 1, 0)
      WHERE key = ? AND lease_token = ? RETURNING id, execution, steps_open`);
  }

  async lease(request: LeaseInstancesRequest): Promise<LeasedInstances> {
    if (request.again === true) {
      const taken = await this.#connection.read(() => this.#taken(request));
      if (taken.length > 0) return { instances: taken, more: true, nextAt: null };
    }
    // Without anything to take there is nothing to write, and no lock to wait for.
    return this.#connection.readThenWrite(
      () => this.#dueInstances.find(request, this.#connection.now()),
      ({ free }) => free.length > 0,
      ({ held, free, more }) => {
        const instances = this.#hand(request, held, free);
        return {
          instances,
          more,
          nextAt: this.#dueInstances.nextAt(request.targets, this.#connection.now()),
        };
      },
    );
  }

  renew(leases: readonly { readonly key: number; readonly token: number }[], leaseMs: number) {
    return this.#connection.write(() => {
      const until = dueTime({ delayMs: leaseMs }, this.#connection.now());
      const isLost = (lease: { readonly key: number; readonly token: number }) =>
        !changed(this.#renew.run(until, lease.key, lease.token));
      return leases.filter(isLost).map((lease) => lease.key);
    });
  }

  release({ key, token }: ReleaseInstanceItem, { now, news }: Transaction): SimpleResult {
    const row = this.#release.get(key, token);
    if (row === undefined) return LEASE_LOST;
    if (integer(row, "steps_open") === 1)
      this.#inbox.insertWake(key, integer(row, "execution"), now);
    if (this.#inbox.hasDue(key, now)) news.due(text(row, "id"));
    return DONE;
  }

  #hand(
    request: LeaseInstancesRequest,
    held: readonly number[],
    free: readonly number[],
  ): LeasedInstance[] {
    const { owner, token, leaseMs, messagesMax } = request;
    const now = this.#connection.now();
    const until = leaseMs === undefined ? null : dueTime({ delayMs: leaseMs }, now);
    const leased: LeasedInstance[] = [];
    for (const key of held) {
      const row = this.#selectHeld.get(key);
      if (row === undefined) continue;
      const messages = this.#inbox.due(key, now, messagesMax);
      leased.push({ ...toLeased(row), fresh: false, messages, history: [] });
    }
    for (const key of free) {
      const row = this.#take.get(owner, token, until, key);
      if (row !== undefined) leased.push(this.#fresh(row, now, messagesMax));
    }
    return leased;
  }

  /** L4 */
  #taken({ owner, token, messagesMax }: LeaseInstancesRequest): LeasedInstance[] {
    const now = this.#connection.now();
    const rows = this.#selectTaken.all(owner, token);
    return rows.map((row) => this.#fresh(row, now, messagesMax));
  }

  #fresh(row: Row, now: number, messagesMax: number): LeasedInstance {
    const taken = toLeased(row);
    const messages = this.#inbox.due(taken.key, now, messagesMax);
    const history = this.#history.read(taken.key, taken.execution);
    // The row as it is now counts this lease too.
    return { ...taken, suspicion: taken.suspicion - 1, fresh: true, messages, history };
  }
}

function toLeased(row: Row): Omit<LeasedInstance, "fresh" | "messages" | "history"> {
  return {
    key: integer(row, "key"),
    id: text(row, "id"),
    runId: text(row, "run_id"),
    name: text(row, "name"),
    version: textOrNull(row, "version"),
    execution: integer(row, "execution"),
    token: integer(row, "lease_token"),
    lastEvent: integer(row, "last_event"),
    priority: integer(row, "priority"),
    copiedUntil: integer(row, "copied_until"),
    suspicion: integer(row, "suspicion"),
    stepsOpen: integer(row, "steps_open") === 1,
  };
}

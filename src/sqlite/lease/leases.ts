// Instance leases: which runtime may write to which instance.
//   - Instances are found (lease/due-instances.ts), leased and read in one transaction, so the returned
//       state is the state that the lease covers.
//   - An instance that the caller already holds is returned under its old token, with its new messages
//       (`fresh: false`).
//   - After an orderly release, the lease no longer counts against the instance (provider.instances.4).
//   - sqlite.leases.1: The instances that a request leased carry its token. If the request is repeated
//       because its answer was lost, it returns the same instances.

import type { ReleaseInstanceItem, SimpleResult } from "../../core/provider/commit.ts";
import type {
  LeasedInstance,
  LeasedInstances,
  LeaseInstancesRequest,
} from "../../core/provider/instances.ts";
import { DONE, LEASE_LOST } from "../../core/provider/results.ts";
import { integer, text, type Row } from "../../sql/columns.ts";
import { changed } from "../sql/changed.ts";
import type { Connection } from "../connection/connection.ts";
import { Subject } from "../connection/subject.ts";
import { DueInstances } from "./due-instances.ts";
import type { History } from "../read/history.ts";
import type { Inbox } from "../read/inbox.ts";
import { toLeased } from "../../sql/rows/instance-rows.ts";
import { dueTime } from "../read/messages.ts";
import type { Transaction } from "../notify/change-draft.ts";

const COLUMNS = `
  key, id, run_id, name, version, execution, lease_token, last_event, priority, copied_until,
  suspicion, blocked, steps_open`;

export class InstanceLeases extends Subject {
  readonly #inbox: Inbox;
  readonly #history: History;
  readonly #dueInstances: DueInstances;
  readonly #selectHeld = this.prepare(`SELECT ${COLUMNS} FROM instances WHERE key = ?`);
  readonly #selectLeased = this.prepare(`
    SELECT ${COLUMNS} FROM instances WHERE lease_owner = ? AND lease_token = ?`);
  readonly #lease = this.prepare(`
    UPDATE instances SET
      lease_owner = ?, lease_token = ?, lease_until = ?, suspicion = suspicion + 1
    WHERE key = ?
    RETURNING ${COLUMNS}`);
  readonly #renew = this.prepare(`
    UPDATE instances SET lease_until = iif(lease_until IS NULL, NULL, ?)
    WHERE key = ? AND lease_token = ?`);
  readonly #release = this.prepare(`
    UPDATE instances SET
      lease_owner = NULL, lease_token = NULL, lease_until = NULL, suspicion = max(suspicion - 1, 0)
    WHERE key = ? AND lease_token = ? RETURNING id, execution, steps_open`);

  constructor(connection: Connection, inbox: Inbox, history: History) {
    super(connection);
    this.#inbox = inbox;
    this.#history = history;
    this.#dueInstances = new DueInstances(connection);
  }

  async lease(request: LeaseInstancesRequest): Promise<LeasedInstances> {
    if (request.again === true) {
      const taken = await this.connection.read(() => this.#readLeased(request));
      if (taken.length > 0) return { instances: taken, more: true, nextAt: null };
    }
    // If there is nothing to lease, no write lock is needed.
    return this.connection.readThenWrite(
      () => {
        const now = this.connection.now();
        const nextAt = this.#dueInstances.nextAt(request.targets, now); // later than what is found
        return { ...this.#dueInstances.find(request, now), nextAt };
      },
      ({ free }) => free.length > 0,
      ({ held, free, more, nextAt }) => ({
        instances: this.#leaseAll(request, held, free),
        more,
        nextAt,
      }),
    );
  }

  renew(leases: readonly { readonly key: number; readonly token: number }[], leaseMs: number) {
    return this.connection.write(() => {
      const until = dueTime({ delayMs: leaseMs }, this.connection.now());
      const isLost = (lease: { readonly key: number; readonly token: number }) =>
        !changed(this.#renew.run(until, lease.key, lease.token));
      return leases.filter(isLost).map((lease) => lease.key);
    });
  }

  release(item: ReleaseInstanceItem, { now, changes }: Transaction): SimpleResult {
    const { key, token, stepsWait = false } = item;
    const row = this.#release.get(key, token);
    if (row === undefined) return LEASE_LOST;
    if (integer(row, "steps_open") === 1 && !stepsWait)
      this.#inbox.insertWake(key, integer(row, "execution"), now);
    if (this.#inbox.hasDue(key, now)) changes.due(text(row, "id"));
    return DONE;
  }

  #leaseAll(
    request: LeaseInstancesRequest,
    held: readonly number[],
    free: readonly number[],
  ): LeasedInstance[] {
    const { owner, token, leaseMs, messagesMax } = request;
    const now = this.connection.now();
    const until = leaseMs === undefined ? null : dueTime({ delayMs: leaseMs }, now);
    const leased: LeasedInstance[] = [];
    for (const key of held) {
      const row = this.#selectHeld.get(key);
      if (row === undefined) continue;
      const messages = this.#inbox.due(key, now, messagesMax);
      leased.push({ ...toLeased(row), fresh: false, messages, history: [] });
    }
    for (const key of free) {
      const row = this.#lease.get(owner, token, until, key);
      if (row !== undefined) leased.push(this.#toFresh(row, now, messagesMax));
    }
    return leased;
  }

  /** sqlite.leases.1 */
  #readLeased({ owner, token, messagesMax }: LeaseInstancesRequest): LeasedInstance[] {
    const now = this.connection.now();
    const rows = this.#selectLeased.all(owner, token);
    return rows.map((row) => this.#toFresh(row, now, messagesMax));
  }

  #toFresh(row: Row, now: number, messagesMax: number): LeasedInstance {
    const taken = toLeased(row);
    const messages = this.#inbox.due(taken.key, now, messagesMax);
    const history = this.#history.read(taken.key, taken.execution);
    // The row already counts this lease.
    return { ...taken, suspicion: taken.suspicion - 1, fresh: true, messages, history };
  }
}

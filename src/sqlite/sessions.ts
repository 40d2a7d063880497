// Sessions: who runs their tasks (reference rules 2.I).
//   S1. A claim is one statement: a session that is free, lapsed or the claimant's own becomes or stays its own
//       (SE1). Its token changes with its owner and after a lapse, so that an old task's bump finds nothing (SE4).
//   S2. A lease that lapsed is never prolonged, by renewal or bump; it is claimed again (SE2).
//   S3. Whatever lets a session go tells that tasks may be waiting for it.

import type { StatementSync } from "node:sqlite";
import type { SessionRecord } from "../core/provider/sessions.ts";
import type { SessionClaim, SessionRequest } from "../core/provider/tasks.ts";
import { changed, integer, integerOrNull, text } from "./columns.ts";
import type { Connection } from "./connection.ts";
import { dueTime } from "./messages.ts";
import type { Transaction } from "./news.ts";
import type { Notifier } from "./notifications.ts";

export class Sessions {
  readonly #connection: Connection;
  readonly #notifier: Notifier;
  readonly #claim: StatementSync;
  readonly #find: StatementSync;
  readonly #isForeign: StatementSync;
  readonly #selectLapse: StatementSync;
  readonly #bump: StatementSync;
  readonly #renew: StatementSync;
  readonly #release: StatementSync;
  readonly #clean: StatementSync;
  readonly #select: StatementSync;

  constructor(connection: Connection, notifier: Notifier) {
    this.#connection = connection;
    this.#notifier = notifier;
    this.#claim = connection.prepare(`
      INSERT INTO sessions (id, owner, token, until, last_activity_at) VALUES (?1, ?2, ?3, ?4, ?5)
      ON CONFLICT (id) DO UPDATE SET
        token = iif(owner = excluded.owner AND until > ?5, token, excluded.token),
        until = max(until, excluded.until), owner = excluded.owner, last_activity_at = ?5
      WHERE owner = excluded.owner OR until <= ?5
      RETURNING token`);
    this.#find = connection.prepare("SELECT token FROM sessions WHERE id = ? AND owner = ?");
    this.#isForeign = connection.prepare(
      "SELECT 1 FROM sessions WHERE id = ? AND owner <> ? AND until > ?",
    );
    this.#selectLapse = connection.prepare(`
      SELECT min(until) AS at FROM sessions WHERE owner <> ? AND until > ? AND EXISTS (
        SELECT 1 FROM tasks WHERE lease_owner IS NULL AND session = sessions.id)`);
    this.#bump = connection.prepare(`
      UPDATE sessions SET last_activity_at = ?3 WHERE id = ?1 AND token = ?2 AND until > ?3`);
    this.#renew = connection.prepare(`
      UPDATE sessions SET until = max(until, ?3)
      WHERE owner = ?1 AND until > ?2 AND last_activity_at > ?4`);
    this.#release = connection.prepare("DELETE FROM sessions WHERE owner = ?");
    this.#clean = connection.prepare(`
      DELETE FROM sessions WHERE until <= ? AND NOT EXISTS (
        SELECT 1 FROM tasks WHERE lease_owner IS NULL AND session = sessions.id)`);
    this.#select = connection.prepare("SELECT * FROM sessions ORDER BY id");
  }

  /** Within the transaction that leases its task. Null: somebody else holds it. */
  claim(id: string, { owner, token, leaseMs }: SessionRequest, now: number): SessionClaim | null {
    const row = this.#claim.get(id, owner, token, dueTime({ delayMs: leaseMs }, now), now);
    return row === undefined ? null : { id, token: integer(row, "token") };
  }

  /** What that owner has on it; null: nothing. */
  find(id: string, owner: string): SessionClaim | null {
    const row = this.#find.get(id, owner);
    return row === undefined ? null : { id, token: integer(row, "token") };
  }

  /** Whether somebody else holds it now. */
  isForeign(id: string, owner: string, now: number): boolean {
    return this.#isForeign.get(id, owner, now) !== undefined;
  }

  /** When the next session that others hold, and that tasks wait for, lapses unless it is renewed. */
  nextLapse(owner: string, now: number): number | null {
    return integerOrNull(this.#selectLapse.get(owner, now) ?? { at: null }, "at");
  }

  /** Its task was renewed or is over. */
  bump({ id, token }: SessionClaim): void {
    this.#bump.run(id, token, this.#connection.now());
  }

  renew(request: { owner: string; leaseMs: number; idleMs: number }): Promise<number> {
    const { owner, leaseMs, idleMs } = request;
    return this.#connection.write(() => {
      const now = this.#connection.now();
      const until = dueTime({ delayMs: leaseMs }, now);
      return Number(this.#renew.run(owner, now, until, now - idleMs).changes);
    });
  }

  release(owner: string): Promise<void> {
    return this.#notifier.write((transaction) => this.releaseIn(owner, transaction));
  }

  /** Its owner left or died. An owner that is a node of several runtimes is not named so: its sessions lapse. */
  releaseIn(owner: string, { news }: Transaction): void {
    if (changed(this.#release.run(owner))) news.queued();
  }

  clean(): Promise<number> {
    return this.#connection.write(() => Number(this.#clean.run(this.#connection.now()).changes));
  }

  list(): Promise<readonly SessionRecord[]> {
    return this.#connection.read(() =>
      this.#select.all().map((row) => ({
        id: text(row, "id"),
        owner: text(row, "owner"),
        until: integer(row, "until"),
        lastActivityAt: integer(row, "last_activity_at"),
      })),
    );
  }
}

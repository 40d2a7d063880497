// Sessions: which worker runs the tasks of a session.
//   - A claim is one statement. It succeeds if the session is free, its lease has lapsed, or the claimant
//       owns it (sessions.1). The token changes with the owner and after a lapse, so that a bump by an old
//       task has no effect (sessions.4).
//   - A bump does not extend a lapsed lease; the session must be claimed again (sessions.2).
//   - Within one group, a session is bumped once. Further bumps would write the same time.

import type { SessionClaim, SessionRequest } from "../../core/provider/tasks.ts";
import { integer, integerOrNull } from "../../sql/columns.ts";
import { Subject } from "../connection/subject.ts";
import { dueTime } from "../read/messages.ts";
import { changed } from "../sql/changed.ts";

/** What a transaction knows about the sessions that it bumps. */
export interface SessionActivity {
  readonly now: number;
  /** The tokens, by session, under which this transaction has already noted activity. */
  readonly bumped: Map<string, number>;
}

export class Sessions extends Subject {
  readonly #claim = this.prepare(`
    INSERT INTO sessions (id, owner, token, until, last_activity_at) VALUES (?1, ?2, ?3, ?4, ?5)
    ON CONFLICT (id) DO UPDATE SET
      token = iif(owner = excluded.owner AND until > ?5, token, excluded.token),
      until = max(until, excluded.until), owner = excluded.owner, last_activity_at = ?5
    WHERE owner = excluded.owner OR until <= ?5
    RETURNING token`);
  readonly #find = this.prepare("SELECT token FROM sessions WHERE id = ? AND owner = ?");
  readonly #isForeign = this.prepare(`
    SELECT 1 FROM sessions WHERE id = ? AND owner <> ? AND until > ?`);
  readonly #selectLapse = this.prepare(`
    SELECT min(until) AS at FROM sessions WHERE owner <> ? AND until > ? AND EXISTS (
      SELECT 1 FROM tasks WHERE lease_owner IS NULL AND session = sessions.id)`);
  readonly #bump = this.prepare(`
    UPDATE sessions SET last_activity_at = ?3 WHERE id = ?1 AND token = ?2 AND until > ?3`);
  readonly #isHeld = this.prepare(`
    SELECT 1 FROM sessions WHERE id = ? AND token = ? AND until > ?`);

  /** Call it within the transaction that leases its task. Null if another owner holds the session. */
  claim(id: string, { owner, token, leaseMs }: SessionRequest, now: number): SessionClaim | null {
    const row = this.#claim.get(id, owner, token, dueTime({ delayMs: leaseMs }, now), now);
    return row === undefined ? null : { id, token: integer(row, "token") };
  }

  /** The claim of that owner on the session; null if it has none. */
  find(id: string, owner: string): SessionClaim | null {
    const row = this.#find.get(id, owner);
    return row === undefined ? null : { id, token: integer(row, "token") };
  }

  /** Whether another owner holds the session now. */
  isForeign(id: string, owner: string, now: number): boolean {
    return this.#isForeign.get(id, owner, now) !== undefined;
  }

  /** When the lease of the next session lapses that another owner holds and that tasks wait for. */
  nextLapse(owner: string, now: number): number | null {
    return integerOrNull(this.#selectLapse.get(owner, now) ?? { at: null }, "at");
  }

  /** Whether the session is held under the token of the claim. */
  holds({ id, token }: SessionClaim, now: number): boolean {
    return this.#isHeld.get(id, token, now) !== undefined;
  }

  /**
   * Notes activity on the session of a task that was leased or renewed or has ended. False: the session is
   * not held under the token of the claim.
   */
  bump({ id, token }: SessionClaim, { now, bumped }: SessionActivity): boolean {
    if (bumped.get(id) === token) return true;
    if (!changed(this.#bump.run(id, token, now))) return false;
    bumped.set(id, token);
    return true;
  }
}

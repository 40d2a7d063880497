// Sessions: which worker runs the tasks of a session.
//   - A claim is one statement. It succeeds if the session is free, its lease has lapsed, or the claimant
//       owns it (sessions.1). The token changes with the owner and after a lapse, so that a bump by an old
//       task has no effect (sessions.4).
//   - A bump does not extend a lapsed lease; the session must be claimed again (sessions.2).

import type { SessionClaim, SessionRequest, TaskClaim } from "../../core/provider/tasks.ts";
import { ColumnArrays, texts } from "../sql/column-arrays.ts";
import { integer, text } from "../../sql/columns.ts";
import { Subject } from "../connection/subject.ts";
import type { Statements } from "../connection/statements.ts";
import { dueColumns, dueTime } from "../read/messages.ts";
import type { Pipeline } from "../connection/pipeline.ts";
import { indexEquals } from "../../sql/index-lookup.ts";

const CLAIMS = new ColumnArrays({ token: "bigint", is_needed: "boolean", id: "text" });
const IS_HELD = `
  ${indexEquals("s.id", "c.id")} AND s.token = c.token AND s.until > (SELECT @clock())`;

export class Sessions extends Subject {
  readonly #claim = this.prepare(`
    INSERT INTO @sessions AS s (id, owner, token, until, last_activity_at)
    SELECT c.id, $2, $3::bigint, ${dueTime("c")}, (SELECT @clock())
    FROM (SELECT id, $4::bigint AS delay, NULL::bigint AS due_at FROM unnest($1::text[]) AS u (id)) AS c
    ORDER BY c.id
    ON CONFLICT (id) DO UPDATE SET
      token = CASE WHEN s.owner = excluded.owner AND s.until > excluded.last_activity_at
        THEN s.token ELSE excluded.token END,
      until = greatest(s.until, excluded.until), owner = excluded.owner,
      last_activity_at = excluded.last_activity_at
    WHERE s.owner = excluded.owner OR s.until <= excluded.last_activity_at
    RETURNING id, token`);
  readonly #bump = this.prepare(`
    WITH bumped AS (
      UPDATE @sessions AS s SET last_activity_at = (SELECT @clock()) FROM ${CLAIMS.from("c")}
      WHERE ${IS_HELD} RETURNING c.is_needed
    )
    SELECT @refuse('a session is lost') FROM (
      SELECT count(*) AS held FROM bumped WHERE is_needed
    ) AS b WHERE held <> $${CLAIMS.width + 1}::bigint`);
  readonly #lock = this.prepare(`
    SELECT c.n FROM ${CLAIMS.from("c")} JOIN @sessions AS s ON ${IS_HELD}
    FOR NO KEY UPDATE OF s`);

  /**
   * Call it within the transaction that leases their tasks. Sessions that another owner holds are not in
   * the answer.
   */
  async claim(
    statements: Statements,
    ids: readonly string[],
    { owner, token, leaseMs }: SessionRequest,
  ): Promise<Map<string, SessionClaim>> {
    if (ids.length === 0) return new Map();
    const values = [texts(ids), owner, token, dueColumns({ delayMs: leaseMs }).delay];
    const rows = await statements.run(this.#claim, values);
    return new Map(
      rows.map((row) => [text(row, "id"), { id: text(row, "id"), token: integer(row, "token") }]),
    );
  }

  /**
   * Notes activity on the sessions of tasks that have ended, and on the sessions that new tasks are leased
   * in. If one of the latter is not held, the transaction is refused (sessions.5).
   */
  bump(
    pipeline: Pipeline,
    {
      ended,
      needed,
    }: { readonly ended: readonly TaskClaim[]; readonly needed: readonly SessionClaim[] },
  ): void {
    const claims = toColumns(
      needed,
      ended.flatMap(({ sessionClaim }) => sessionClaim ?? []),
    );
    if (claims.length === 0) return;
    const count = claims.filter(({ is_needed }) => is_needed).length;
    pipeline.add(this.#bump, [...CLAIMS.values(claims), count]);
  }

  /** Returns the keys (`claimKey`) of the claims that hold, and locks their rows until the transaction ends. */
  async lockHeld(statements: Statements, claims: readonly SessionClaim[]): Promise<Set<string>> {
    if (claims.length === 0) return new Set();
    const columns = toColumns(claims, []);
    const rows = await statements.run(this.#lock, CLAIMS.values(columns));
    return new Set(rows.flatMap((row) => columns[integer(row, "n") - 1] ?? []).map(claimKey));
  }
}

export function claimKey({ id, token }: SessionClaim): string {
  return `${token}:${id}`;
}

interface ClaimColumns extends SessionClaim {
  readonly is_needed: boolean;
}

/** Without duplicates, and in a fixed lock order, which rules out deadlocks. */
function toColumns(
  needed: readonly SessionClaim[],
  others: readonly SessionClaim[],
): ClaimColumns[] {
  const claims = new Map<string, ClaimColumns>();
  for (const { id, token } of others) {
    claims.set(claimKey({ id, token }), { id, token, is_needed: false });
  }
  for (const { id, token } of needed) {
    claims.set(claimKey({ id, token }), { id, token, is_needed: true });
  }
  return [...claims.values()].sort((a, b) => (a.id < b.id ? -1 : Number(a.id > b.id)));
}

/**
 * SQL that notes activity on the sessions in the columns session_claim and session_token of `table`. The
 * sessions are locked in a fixed order, which rules out deadlocks.
 */
export function bumpSessions(table: string): string {
  return `
    UPDATE @sessions AS s SET last_activity_at = (SELECT @clock()) FROM (
      SELECT DISTINCT session_claim, session_token FROM ${table} WHERE session_claim IS NOT NULL
      ORDER BY session_claim
    ) AS b
    WHERE ${indexEquals("s.id", "b.session_claim")} AND s.token = b.session_token AND s.until > (SELECT @clock())`;
}

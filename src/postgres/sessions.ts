// Sessions: who runs their tasks (reference rules 2.I).
//   S1. A claim is one statement: a session that is free, lapsed or the claimant's own becomes or stays its own
//       (SE1). Its token changes with its owner and after a lapse, so that an old task's bump finds nothing (SE4).
//   S2. A lease that lapsed is never prolonged, by renewal or bump; it is claimed again (SE2).
//   S3. Whatever lets a session go tells that tasks may be waiting for it.

import type { SessionRecord } from "../core/provider/sessions.ts";
import type { SessionClaim, SessionRequest, TaskClaim } from "../core/provider/tasks.ts";
import { ColumnArrays, texts } from "./column-arrays.ts";
import { integer, text } from "./columns.ts";
import { told, type Connection, type Statements } from "./connection.ts";
import { dueColumns, dueTime } from "./messages.ts";
import { ANY_TASK, type NewsDraft } from "./news.ts";
import type { Notifier } from "./notifications.ts";
import { Pipeline, type Answer, type Statement } from "./pipeline.ts";
import { none, probe } from "./probing.ts";

const CLAIMS = new ColumnArrays({ id: "text", token: "bigint" });

export class Sessions {
  readonly #connection: Connection;
  readonly #notifier: Notifier;
  readonly #claim: Statement;
  readonly #bump: Statement;
  readonly #renew: Statement;
  readonly #release: Statement;
  readonly #clean: Statement;
  readonly #select: Statement;

  constructor(connection: Connection, notifier: Notifier) {
    this.#connection = connection;
    this.#notifier = notifier;
    this.#claim = connection.prepare(`
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
    this.#bump = connection.prepare(`
      UPDATE @sessions AS s SET last_activity_at = (SELECT @clock()) FROM ${CLAIMS.from("c")}
      WHERE ${probe("s.id", "c.id")} AND s.token = c.token AND s.until > (SELECT @clock())`);
    this.#renew = connection.prepare(`
      UPDATE @sessions AS s SET until = greatest(s.until, r.until) FROM (
        SELECT ${dueTime("d")} AS until, (SELECT @clock()) AS now
        FROM (SELECT $2::bigint AS delay, NULL::bigint AS due_at) AS d
      ) AS r
      WHERE s.owner = $1 AND s.until > r.now AND s.last_activity_at > r.now - $3::bigint`);
    this.#release = connection.prepare("DELETE FROM @sessions WHERE owner = $1 RETURNING id");
    this.#clean = connection.prepare(`
      DELETE FROM @sessions AS s WHERE s.until <= (SELECT @clock()) AND ${none(`
        FROM @tasks AS t
        WHERE t.session = s.id AND t.lease_owner IS NULL AND t.session IS NOT NULL`)}`);
    this.#select = connection.prepare(
      "SELECT id, owner, until, last_activity_at FROM @sessions ORDER BY id",
    );
  }

  /** Within the transaction that leases their tasks. Those that somebody else holds are not in the answer. */
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

  /** Their tasks were renewed or are over. */
  bump(pipeline: Pipeline, tasks: readonly TaskClaim[]): void {
    const claims = tasks.flatMap(({ sessionClaim }) => sessionClaim ?? []);
    if (claims.length > 0) pipeline.add(this.#bump, CLAIMS.values(byId(claims)));
  }

  async renew(request: { owner: string; leaseMs: number; idleMs: number }): Promise<number> {
    const { owner, leaseMs, idleMs } = request;
    const values = [owner, dueColumns({ delayMs: leaseMs }).delay, Math.floor(idleMs)];
    return (await this.#write(this.#renew, values)).count;
  }

  release(owner: string): Promise<void> {
    return this.#notifier.transact((statements, news) => this.releaseIn(statements, owner, news));
  }

  /** Its owner left or died. An owner that is a node of several runtimes is not named so: its sessions lapse. */
  async releaseIn(statements: Statements, owner: string, news: NewsDraft): Promise<void> {
    if ((await statements.run(this.#release, [owner])).length > 0) news.queued(ANY_TASK);
  }

  async clean(): Promise<number> {
    return (await this.#write(this.#clean, [])).count;
  }

  async list(): Promise<readonly SessionRecord[]> {
    return (await this.#connection.read(this.#select)).map((row) => ({
      id: text(row, "id"),
      owner: text(row, "owner"),
      until: integer(row, "until"),
      lastActivityAt: integer(row, "last_activity_at"),
    }));
  }

  async #write(statement: Statement, values: readonly (string | number)[]): Promise<Answer> {
    const pipeline = new Pipeline();
    const answer = pipeline.add(statement, values);
    await told(this.#connection.write(pipeline));
    return answer;
  }
}

/**
 * SQL that bumps the sessions of what is in `table`, by its columns session_claim and session_token; in one order,
 * so that nobody waits for somebody who waits for him.
 */
export function bumpOf(table: string): string {
  return `
    UPDATE @sessions AS s SET last_activity_at = (SELECT @clock()) FROM (
      SELECT DISTINCT session_claim, session_token FROM ${table} WHERE session_claim IS NOT NULL
      ORDER BY session_claim
    ) AS b
    WHERE ${probe("s.id", "b.session_claim")} AND s.token = b.session_token AND s.until > (SELECT @clock())`;
}

/** In one order, so that nobody waits for somebody who waits for him. */
function byId(claims: readonly SessionClaim[]): SessionClaim[] {
  return claims.toSorted((a, b) => (a.id < b.id ? -1 : Number(a.id > b.id)));
}

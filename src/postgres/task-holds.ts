// Task holds: what becomes of tasks while somebody runs them.
//   TH1. Everything names its token; who does not hold a task any more is told so, and nothing of his is kept.

import { checksumOf } from "../core/checksum.ts";
import type { TaskAddress, TaskClaim, TaskHeartbeat, TaskRecord } from "../core/provider/tasks.ts";
import { ColumnArrays } from "./column-arrays.ts";
import { integerOrNull, textOrNull } from "./columns.ts";
import { told, type Connection, type Statements } from "./connection.ts";
import { dueColumns } from "./messages.ts";
import type { Notifier } from "./notifications.ts";
import { Pipeline, type Statement } from "./pipeline.ts";
import { bumpOf } from "./sessions.ts";
import { CLAIM, claimColumns, inOrder, IS_CLAIMED, named } from "./task-claims.ts";
import { RECORD_COLUMNS, toTaskRecord } from "./task-rows.ts";
import { probe } from "./probing.ts";

const CLAIMS = new ColumnArrays(CLAIM);
const BEATS = new ColumnArrays({
  ...CLAIM,
  details_checksum: "bigint",
  progress_checksum: "bigint",
  details: "text",
  progress: "text",
});

export class TaskHolds {
  readonly #connection: Connection;
  readonly #notifier: Notifier;
  readonly #renew: Statement;
  readonly #heartbeat: Statement;
  readonly #selectHeld: Statement;
  readonly #lock: Statement;
  readonly #selectToken: Statement;
  readonly #select: Statement;

  constructor(connection: Connection, notifier: Notifier) {
    this.#connection = connection;
    this.#notifier = notifier;
    this.#renew = connection.prepare(`
      WITH held AS (
        UPDATE @tasks AS t SET lease_until =
          CASE WHEN t.lease_until IS NULL THEN NULL
            ELSE (SELECT @clock()) + $${CLAIMS.width + 1}::bigint END
        FROM ${CLAIMS.from("c")} WHERE ${IS_CLAIMED} RETURNING c.n, c.session_claim, c.session_token
      ), bumped AS (${bumpOf("held")})
      SELECT n FROM held`);
    this.#heartbeat = connection.prepare(`
      WITH beaten AS (
        UPDATE @tasks AS t SET
          heartbeat = coalesce(c.details, t.heartbeat),
          heartbeat_checksum = coalesce(c.details_checksum, t.heartbeat_checksum),
          progress = coalesce(c.progress, t.progress),
          progress_checksum = coalesce(c.progress_checksum, t.progress_checksum)
        FROM ${BEATS.from("c")} WHERE ${IS_CLAIMED}
        RETURNING c.n, t.instance, c.progress IS NOT NULL AS progressed
      )
      SELECT b.n, i.id FROM beaten AS b LEFT JOIN @instances AS i
        ON ${probe("i.key", "b.instance")} AND b.progressed`);
    this.#selectHeld = connection.prepare(
      `SELECT c.n FROM ${CLAIMS.from("c")} JOIN @tasks AS t ON ${IS_CLAIMED}`,
    );
    this.#lock = connection.prepare(
      `SELECT c.n FROM ${CLAIMS.from("c")} JOIN @tasks AS t ON ${IS_CLAIMED} FOR UPDATE OF t`,
    );
    this.#selectToken = connection.prepare(`
      SELECT t.lease_token FROM @tasks AS t
      WHERE t.instance = $1 AND t.execution = $2 AND t.sequence = $3`);
    this.#select = connection.prepare(`
      SELECT ${RECORD_COLUMNS} FROM @tasks AS t WHERE t.instance = $1 AND t.execution = $2
      ORDER BY t.sequence`);
  }

  /** Prolongs those with an `until`; those that do not hold any more. */
  async renew(claims: readonly TaskClaim[], leaseMs: number): Promise<TaskClaim[]> {
    if (claims.length === 0) return [];
    const sorted = inOrder(claims.map((claim) => ({ ...claimColumns(claim), claim })));
    const pipeline = new Pipeline();
    const { delay } = dueColumns({ delayMs: leaseMs });
    const answer = pipeline.add(this.#renew, [...CLAIMS.values(sorted), delay]);
    await told(this.#connection.write(pipeline));
    return without(claims, named(answer.rows, sorted));
  }

  /** Those that do not hold any more. */
  async heartbeat(heartbeats: readonly TaskHeartbeat[]): Promise<TaskClaim[]> {
    if (heartbeats.length === 0) return [];
    const sorted = inOrder(
      heartbeats.map(({ task, details, progress }) => ({
        ...claimColumns(task),
        details: details ?? null,
        details_checksum: details === undefined ? null : checksumOf(details),
        progress: progress ?? null,
        progress_checksum: progress === undefined ? null : checksumOf(progress),
        claim: task,
      })),
    );
    const claims = heartbeats.map(({ task }) => task);
    return this.#notifier.write((pipeline, news) => {
      const answer = pipeline.add(this.#heartbeat, BEATS.values(sorted));
      return () => {
        for (const row of answer.rows) {
          const id = textOrNull(row, "id");
          if (id !== null) news.progressed(id);
        }
        return without(claims, named(answer.rows, sorted));
      };
    });
  }

  async lost(claims: readonly TaskClaim[]): Promise<TaskClaim[]> {
    if (claims.length === 0) return [];
    const columns = claims.map((claim) => ({ ...claimColumns(claim), claim }));
    const rows = await this.#connection.read(this.#selectHeld, CLAIMS.values(columns));
    return without(claims, named(rows, columns));
  }

  /** Which of the claims hold; they do until the transaction is over. */
  async holdAll(statements: Statements, claims: readonly TaskClaim[]): Promise<Set<TaskClaim>> {
    if (claims.length === 0) return new Set();
    const sorted = inOrder(claims.map((claim) => ({ ...claimColumns(claim), claim })));
    const rows = await statements.run(this.#lock, CLAIMS.values(sorted));
    return new Set(named(rows, sorted).map(({ claim }) => claim));
  }

  /** A null token: nobody holds it. */
  async find({ key, execution, sequence }: TaskAddress): Promise<{ token: number | null } | null> {
    const [row] = await this.#connection.read(this.#selectToken, [key, execution, sequence]);
    return row === undefined ? null : { token: integerOrNull(row, "lease_token") };
  }

  async read({ key, execution }: Omit<TaskAddress, "sequence">): Promise<TaskRecord[]> {
    return (await this.#connection.read(this.#select, [key, execution])).map(toTaskRecord);
  }
}

function without(
  claims: readonly TaskClaim[],
  held: readonly { readonly claim: TaskClaim }[],
): TaskClaim[] {
  const known = new Set(held.map(({ claim }) => claim));
  return claims.filter((claim) => !known.has(claim));
}

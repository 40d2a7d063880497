// Task renewal: renewals and heartbeats of tasks that a worker runs.
//   - Every call names the task's token. A claim that no longer holds is returned as lost, and nothing of
//       it is stored.

import { checksumOf } from "../../core/values/checksum.ts";
import type { TaskClaim, TaskHeartbeat } from "../../core/provider/tasks.ts";
import { ColumnArrays, columns } from "../sql/column-arrays.ts";
import { textOrNull } from "../../sql/columns.ts";
import { withPerdureErrors, type Connection } from "../connection/connection.ts";
import { Subject } from "../connection/subject.ts";
import type { Statements } from "../connection/statements.ts";
import { dueColumns } from "../read/messages.ts";
import type { ChangeNotifier } from "../notify/change-notifier.ts";
import { Pipeline } from "../connection/pipeline.ts";
import { bumpSessions } from "./sessions.ts";
import { CLAIM, claimColumns, inOrder, IS_CLAIMED, matchingRows } from "./task-keys.ts";
import { indexEquals } from "../../sql/index-lookup.ts";

const CLAIMS = new ColumnArrays(CLAIM);
const HEARTBEATS = new ColumnArrays({
  ...CLAIM,
  ...columns("bigint", "details_checksum", "progress_checksum"),
  ...columns("text", "details", "progress"),
});

export class TaskRenewal extends Subject {
  readonly #notifier: ChangeNotifier;
  readonly #renew = this.prepare(`
    WITH held AS (
      UPDATE @tasks AS t SET lease_until =
        CASE WHEN t.lease_until IS NULL THEN NULL
          ELSE (SELECT @clock()) + $${CLAIMS.width + 1}::bigint END
      FROM ${CLAIMS.from("c")} WHERE ${IS_CLAIMED} RETURNING c.n, c.session_claim, c.session_token
    ), bumped AS (${bumpSessions("held")})
    SELECT n FROM held`);
  readonly #heartbeat = this.prepare(`
    WITH beaten AS (
      UPDATE @tasks AS t SET
        heartbeat = coalesce(c.details, t.heartbeat),
        heartbeat_checksum = coalesce(c.details_checksum, t.heartbeat_checksum),
        progress = coalesce(c.progress, t.progress),
        progress_checksum = coalesce(c.progress_checksum, t.progress_checksum)
      FROM ${HEARTBEATS.from("c")} WHERE ${IS_CLAIMED}
      RETURNING c.n, t.instance, c.progress IS NOT NULL AS progressed
    )
    SELECT b.n, i.id FROM beaten AS b LEFT JOIN @instances AS i
      ON ${indexEquals("i.key", "b.instance")} AND b.progressed`);
  readonly #selectHeld = this.prepare(`
    SELECT c.n FROM ${CLAIMS.from("c")} JOIN @tasks AS t ON ${IS_CLAIMED}`);
  readonly #lock = this.prepare(`
    SELECT c.n FROM ${CLAIMS.from("c")} JOIN @tasks AS t ON ${IS_CLAIMED} FOR UPDATE OF t`);
  readonly #hold = this.prepare(`
    WITH held AS (
      SELECT c.n FROM ${CLAIMS.from("c")} JOIN @tasks AS t ON ${IS_CLAIMED} FOR NO KEY UPDATE OF t
    )
    SELECT @refuse('a task is not held') FROM (SELECT count(*) AS found FROM held) AS h
    WHERE found <> $${CLAIMS.width + 1}::bigint`);

  constructor(connection: Connection, notifier: ChangeNotifier) {
    super(connection);
    this.#notifier = notifier;
  }

  /** Extends the leases that have an end. Returns the claims that no longer hold. */
  async renew(claims: readonly TaskClaim[], leaseMs: number): Promise<TaskClaim[]> {
    if (claims.length === 0) return [];
    const sorted = inOrder(claims.map((claim) => ({ ...claimColumns(claim), claim })));
    const pipeline = new Pipeline();
    const { delay } = dueColumns({ delayMs: leaseMs });
    const answer = pipeline.add(this.#renew, [...CLAIMS.values(sorted), delay]);
    await withPerdureErrors(this.connection.write(pipeline));
    return without(claims, matchingRows(answer.rows, sorted));
  }

  /** Returns the claims that no longer hold. */
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
    return this.#notifier.write((pipeline, changes) => {
      const answer = pipeline.add(this.#heartbeat, HEARTBEATS.values(sorted));
      return () => {
        for (const row of answer.rows) {
          const id = textOrNull(row, "id");
          if (id !== null) changes.progressed(id);
        }
        return without(claims, matchingRows(answer.rows, sorted));
      };
    });
  }

  async lost(claims: readonly TaskClaim[]): Promise<TaskClaim[]> {
    if (claims.length === 0) return [];
    const columns = claims.map((claim) => ({ ...claimColumns(claim), claim }));
    const rows = await this.connection.read(this.#selectHeld, CLAIMS.values(columns));
    return without(claims, matchingRows(rows, columns));
  }

  /** Locks the rows until the transaction ends. If a claim does not hold, the transaction is refused. */
  hold(pipeline: Pipeline, claims: readonly TaskClaim[]): void {
    if (claims.length === 0) return;
    const sorted = inOrder(claims.map(claimColumns));
    pipeline.add(this.#hold, [...CLAIMS.values(sorted), claims.length]);
  }

  /** Returns the claims that hold, and locks their rows until the transaction ends. */
  async lockHeld(statements: Statements, claims: readonly TaskClaim[]): Promise<Set<TaskClaim>> {
    if (claims.length === 0) return new Set();
    const sorted = inOrder(claims.map((claim) => ({ ...claimColumns(claim), claim })));
    const rows = await statements.run(this.#lock, CLAIMS.values(sorted));
    return new Set(matchingRows(rows, sorted).map(({ claim }) => claim));
  }
}

function without(
  claims: readonly TaskClaim[],
  held: readonly { readonly claim: TaskClaim }[],
): TaskClaim[] {
  const known = new Set(held.map(({ claim }) => claim));
  return claims.filter((claim) => !known.has(claim));
}

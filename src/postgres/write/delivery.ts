// Delivery: puts messages into the inboxes of other instances.
//   - The outcome of an activity or a child is for one execution; it is dropped after that execution has
//     ended. A message is dropped too if its receiver has ended or is a later instance with the same id
//     (another run id).
//   - postgres.delivery.1: No message becomes visible before the start of its execution. The start may lie
//     in the future, or the clock may have gone back since the execution was continued.
//   - postgres.delivery.2: No event becomes visible before an event that was sent earlier, even if the
//     clock has gone back (P7).
//   - A receiver whose message is due is added to the transaction's changes.
//   - The caller must hold the locks on the receivers' rows (postgres.inbox.2). A receiver that is not locked counts as
//     missing (postgres.instances.2).

import type { OutgoingMessage } from "../../core/provider/messages.ts";
import { ColumnArrays } from "../sql/column-arrays.ts";
import { Subject } from "../connection/subject.ts";
import { INBOX_COLUMNS, ofReceiver, ON_SAME_KEY } from "../read/inbox.ts";
import { IS_LOCKED } from "../read/instances.ts";
import { TARGET } from "../../sql/rows/instance-rows.ts";
import { messageChecksum } from "../read/messages.ts";
import { addDue as addDueRows, type Changes } from "../../sql/script/scope.ts";
import type { Answer, Pipeline } from "../connection/pipeline.ts";
import { exists, indexEquals } from "../../sql/index-lookup.ts";

const POSTS = new ColumnArrays({
  execution: "bigint",
  sequence: "bigint",
  checksum: "bigint",
  to_id: "text",
  run_id: "text",
  kind: "text",
  name: "text",
  key: "text",
  data: "text",
});
/** SQL condition on an instance `i`: it has not ended. */
export const IS_LIVE = "i.status IN ('pending', 'running')";

/**
 * SQL of the visible_at of a message of that kind to the instance `i` (postgres.delivery.1,
 * postgres.delivery.2).
 */
export function visibleAt(kind: string): string {
  return `greatest(
    (SELECT @clock()),
    CASE WHEN i.last_event = 0 THEN (
      SELECT s.visible_at FROM @inbox AS s
      WHERE s.instance = i.key AND NOT s.parked AND s.kind = 'start') END,
    CASE WHEN ${kind} = 'event' THEN (
      SELECT e.visible_at FROM @inbox AS e WHERE e.instance = i.key AND e.kind = 'event'
      ORDER BY e.id DESC LIMIT 1) END)`;
}

/** SQL that runs the INSERT and returns the receivers that are due now: id, lease_owner, target. */
export function insertReturningDue(insert: string): string {
  return `
    WITH put AS (${insert} RETURNING instance, visible_at)
    SELECT i.id, i.lease_owner, ${TARGET} AS target
    FROM put JOIN @instances AS i ON ${indexEquals("i.key", "put.instance")} WHERE put.visible_at <= (SELECT @clock())`;
}

export class Deliveries extends Subject {
  readonly #post = this.prepare(
    insertReturningDue(`
      INSERT INTO @inbox (${INBOX_COLUMNS})
      SELECT ${ofReceiver("t.kind")}, ${visibleAt("t.kind")},
        CASE WHEN t.kind = 'event' THEN NULL ELSE i.execution END, t.sequence, t.kind, t.name,
        t.key, t.data, t.checksum
      FROM ${POSTS.from("t")} JOIN @instances AS i ON ${indexEquals("i.id", "t.to_id")}
      WHERE ${IS_LIVE} AND ${IS_LOCKED} AND (t.run_id IS NULL OR i.run_id = t.run_id)
        AND (t.kind = 'event' OR t.execution IS NULL OR t.execution = i.execution
          OR (t.kind = 'child' AND t.execution < i.execution AND t.sequence <= i.copied_until)) -- commit.8
        AND (t.kind <> 'cancel' OR i.cancel_requested IS NULL)
      ORDER BY t.n ${ON_SAME_KEY}`),
  );
  readonly #refuseCancels = this.prepare(`
    SELECT @refuse('a cancel ends its receiver') FROM ${POSTS.from("t")}
    JOIN @instances AS i ON ${indexEquals("i.id", "t.to_id")}
    WHERE t.kind = 'cancel' AND ${IS_LIVE} AND (t.run_id IS NULL OR i.run_id = t.run_id)
      AND (i.blocked IS NOT NULL OR i.paused IS NOT NULL OR (i.status = 'pending' AND ${exists(`
        FROM @inbox AS s
        WHERE s.instance = i.key AND NOT s.parked AND s.kind = 'start' AND s.visible_at > (SELECT @clock())`)}))`);

  /**
   * Call the returned function after the pipeline has run: it adds the receivers that are due to `changes`.
   */
  post(pipeline: Pipeline, messages: readonly OutgoingMessage[], changes: Changes): () => void {
    if (messages.length === 0) return () => {};
    const answer = pipeline.add(this.#post, POSTS.values(messages.map(toColumns)));
    return () => addDue(answer, changes);
  }

  /** Refuses the transaction if a cancel must do more than wait in an inbox: end its receiver or lift a pause
   * (termination.ts). */
  postCancels(
    pipeline: Pipeline,
    cancels: readonly OutgoingMessage[],
    changes: Changes,
  ): () => void {
    if (cancels.length === 0) return () => {};
    const rows = cancels.map((cancel) =>
      toColumns({ ...cancel, execution: null, sequence: null, key: "cancel" }),
    );
    pipeline.add(this.#refuseCancels, POSTS.values(rows));
    const answer = pipeline.add(this.#post, POSTS.values(rows));
    return () => addDue(answer, changes);
  }
}

/** Adds the instances that a statement returned (id, lease_owner, target) to the changes. */
export function addDue(answer: Answer | null, changes: Changes): void {
  addDueRows(answer?.rows ?? [], changes);
}

function toColumns({ to, kind, execution, sequence, key, data, ...rest }: OutgoingMessage) {
  const { name = null }: { readonly name?: string | null } = rest;
  const checksum = messageChecksum({ sequence, kind, name, key, data });
  const receiver = { to_id: to.id, run_id: to.runId ?? null };
  return { execution, sequence, checksum, ...receiver, kind, name, key, data };
}

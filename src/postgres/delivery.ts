// Delivery: putting messages into other instances' inboxes.
//   D1. An activity's or a child's outcome is for one execution; when that is over it is dropped. So is whatever is
//       for an instance that ended, or for a namesake of whom it was meant for.
//   D2. Nothing becomes visible before the start of an execution: one that is to begin later, or whose clock has gone
//       back since it was continued.
//   D3. No event becomes visible before one that was sent earlier, even if the clock has gone back (P7).
//   D4. Whoever gets a message that is due is named in the news.
//   D5. The receivers' rows are locked by whoever delivers (I4 of inbox.ts).

import type { OutgoingMessage } from "../core/provider/messages.ts";
import { ColumnArrays } from "./column-arrays.ts";
import { text } from "./columns.ts";
import type { Connection } from "./connection.ts";
import { INBOX_COLUMNS, ofReceiver, ON_SAME_KEY } from "./inbox.ts";
import { TARGET } from "./instance-rows.ts";
import { messageChecksum } from "./messages.ts";
import type { NewsDraft } from "./news.ts";
import type { Answer, Pipeline, Statement } from "./pipeline.ts";
import { dueOf } from "./tasks.ts";
import { probe } from "./probing.ts";

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
/** Of an instance `i`. */
export const LIVES = "i.status IN ('pending', 'running')";

/** D2 and D3, for a message of that kind to the instance `i`. */
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

/** Puts messages and answers with whom they made due: id, lease_owner, target. */
export function putAndTell(insert: string): string {
  return `
    WITH put AS (${insert} RETURNING instance, visible_at)
    SELECT i.id, i.lease_owner, ${TARGET} AS target
    FROM put JOIN @instances AS i ON ${probe("i.key", "put.instance")} WHERE put.visible_at <= (SELECT @clock())`;
}

export class Deliveries {
  readonly #post: Statement;
  readonly #refuseCancels: Statement;

  constructor(connection: Connection) {
    this.#post = connection.prepare(
      putAndTell(`
        INSERT INTO @inbox (${INBOX_COLUMNS})
        SELECT ${ofReceiver("t.kind")}, ${visibleAt("t.kind")},
          CASE WHEN t.kind = 'event' THEN NULL ELSE i.execution END, t.sequence, t.kind, t.name,
          t.key, t.data, t.checksum
        FROM ${POSTS.from("t")} JOIN @instances AS i ON ${probe("i.id", "t.to_id")}
        WHERE ${LIVES} AND (t.run_id IS NULL OR i.run_id = t.run_id)
          AND (t.kind = 'event' OR t.execution IS NULL OR t.execution = i.execution)
          AND (t.kind <> 'cancel' OR i.cancel_requested IS NULL)
        ORDER BY t.n ${ON_SAME_KEY}`),
    );
    this.#refuseCancels = connection.prepare(`
      SELECT @refuse('a cancel ends its receiver') FROM ${POSTS.from("t")}
      JOIN @instances AS i ON ${probe("i.id", "t.to_id")}
      WHERE t.kind = 'cancel' AND ${LIVES} AND (t.run_id IS NULL OR i.run_id = t.run_id)
        AND (i.blocked IS NOT NULL OR i.paused IS NOT NULL OR (i.status = 'pending' AND EXISTS (
          SELECT 1 FROM @inbox AS s
          WHERE s.instance = i.key AND NOT s.parked AND s.kind = 'start' AND s.visible_at > (SELECT @clock()))))`);
  }

  /** What is returned adds to the news, when the answer is there. */
  post(pipeline: Pipeline, messages: readonly OutgoingMessage[], news: NewsDraft): () => void {
    if (messages.length === 0) return () => {};
    const answer = pipeline.add(this.#post, POSTS.values(messages.map(toColumns)));
    return () => tellDue(answer, news);
  }

  /** Cancels like any other message; refused if one of them is to do more than be read (ending.ts). */
  postCancels(
    pipeline: Pipeline,
    cancels: readonly OutgoingMessage[],
    news: NewsDraft,
  ): () => void {
    if (cancels.length === 0) return () => {};
    const rows = cancels.map((cancel) =>
      toColumns({ ...cancel, execution: null, sequence: null, key: "cancel" }),
    );
    pipeline.add(this.#refuseCancels, POSTS.values(rows));
    const answer = pipeline.add(this.#post, POSTS.values(rows));
    return () => tellDue(answer, news);
  }
}

export function tellDue(answer: Answer | null, news: NewsDraft): void {
  for (const row of answer?.rows ?? []) news.due(text(row, "id"), dueOf(row));
}

function toColumns({ to, kind, execution, sequence, key, data, ...rest }: OutgoingMessage) {
  const { name = null }: { readonly name?: string | null } = rest;
  const checksum = messageChecksum({ sequence, kind, name, key, data });
  const receiver = { to_id: to.id, run_id: to.runId ?? null };
  return { execution, sequence, checksum, ...receiver, kind, name, key, data };
}

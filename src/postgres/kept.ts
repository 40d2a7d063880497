// Kept messages: events for an id that does not exist yet (semantics 18a).
//   K1. They wait in the order in which they came; the start of that id, however it comes about, takes them over
//       before anything that is sent later.
//   K2. A request id is kept once, and stays known to the instance that took its message over.
//   K3. Bounded: KEPT_MAX an id, then refused; older than KEPT_MS they count as gone, and go with the next one
//       that is kept.
//   K4. Whoever keeps a message holds the id meanwhile, by a row that he takes away again: a start of that id waits
//       for him and finds the message, or he waits for the start and finds the instance.

import type { SendItem, SimpleResult } from "../core/provider/commit.ts";
import { DONE, isOtherRequest, KEY_REUSED, LIMIT_EXCEEDED } from "../core/provider/results.ts";
import { integer, only, textOrNull } from "./columns.ts";
import type { Connection, Statements } from "./connection.ts";
import { INBOX_COLUMNS, ON_SAME_KEY } from "./inbox.ts";
import { TARGET } from "./instance-rows.ts";
import { NEWBORN_FROM, VISIBLE_AT } from "./newborn.ts";
import type { Pipeline, Statement, Value } from "./pipeline.ts";
import { probe } from "./probing.ts";

/** A send with the checksum of the message that it becomes. */
export type SummedSend = SendItem & { readonly checksum: number | null };

export const KEPT_MAX = 1_000;
const KEPT_MS = 7 * 86_400_000;

export class KeptMessages {
  readonly #hold: Statement;
  readonly #letGo: Statement;
  readonly #insert: Statement;
  readonly #selectKey: Statement;
  readonly #count: Statement;
  readonly #deleteOld: Statement;
  readonly #handOver: Statement;

  constructor(connection: Connection) {
    this.#hold = connection.prepare(`
      INSERT INTO @instances (
        key, id, run_id, name, on_parent_close, priority, attributes, created_at, updated_at,
        suspicion, execution, last_event, steps_open, failed, status, status_version,
        copied_until, past_executions, past_events
      ) VALUES (nextval('@instance_keys'), $1, '', '', '', 0, '{}', 0, 0,
        0, 0, 0, false, false, '', 0, 0, 0, 0)
      ON CONFLICT (id) DO NOTHING RETURNING key`);
    this.#letGo = connection.prepare("DELETE FROM @instances WHERE key = $1");
    this.#insert = connection.prepare(`
      INSERT INTO @kept (id, key, created_at, name, data, checksum, digest)
      VALUES ($1, $2, (SELECT @clock()), $3, $4, $5, $6)`);
    this.#selectKey = connection.prepare(`
      SELECT digest FROM @kept
      WHERE id = $1 AND key = $2 AND created_at > (SELECT @clock()) - ${KEPT_MS}`);
    this.#count = connection.prepare("SELECT count(*) AS kept FROM @kept WHERE id = $1");
    // Those that a start is taking over, in a transaction that may last, go with that.
    this.#deleteOld = connection.prepare(`
      DELETE FROM @kept AS k USING (
        SELECT o.number FROM @kept AS o WHERE o.created_at <= (SELECT @clock()) - ${KEPT_MS}
        FOR UPDATE SKIP LOCKED
      ) AS old WHERE ${probe("k.number", "old.number")}`);
    this.#handOver = connection.prepare(`
      WITH taken AS (
        DELETE FROM @kept AS k USING ${NEWBORN_FROM}
        WHERE ${probe("k.id", "t.id")} AND (SELECT true FROM @kept LIMIT 1) -- there is any at all
        RETURNING k.number, k.key, k.name, k.data, k.checksum, k.digest, i.key AS instance, i.priority,
          ${TARGET} AS target, i.execution, i.created_at AS now, ${VISIBLE_AT} AS visible_at,
          k.created_at > i.created_at - ${KEPT_MS} AS lives
      ), recorded AS (
        INSERT INTO @requests (instance, execution, created_at, batch, kind, id, outcome, digest)
        SELECT instance, execution, now, $1::bigint, 'send', key, 'done', digest FROM taken WHERE lives
      )
      INSERT INTO @inbox (${INBOX_COLUMNS})
      SELECT instance, priority, target, false, visible_at, NULL, NULL, 'event', name, key, data,
        checksum
      FROM taken WHERE lives ORDER BY number ${ON_SAME_KEY}`);
  }

  /** Null: the id exists after all. */
  async keep(statements: Statements, item: SummedSend): Promise<SimpleResult | null> {
    const { id, name, data, requestId, requestDigest = null, checksum } = item;
    const [held] = await statements.run(this.#hold, [id]);
    if (held === undefined) return null;
    await statements.run(this.#letGo, [integer(held, "key")]);
    const earlier = await this.find(statements, item);
    if (earlier !== null) return earlier;
    await statements.run(this.#deleteOld);
    const kept = integer(only(await statements.run(this.#count, [id])), "kept");
    if (kept >= KEPT_MAX) return LIMIT_EXCEEDED;
    await statements.run(this.#insert, [id, requestId, name, data, checksum, requestDigest]);
    return DONE;
  }

  /** The result of the first send under this request id; null: there was none. */
  async find(
    statements: Pick<Statements, "run">,
    { id, requestId, requestDigest }: SendItem,
  ): Promise<SimpleResult | null> {
    const [row] = await statements.run(this.#selectKey, [id, requestId]);
    if (row === undefined) return null;
    return isOtherRequest(textOrNull(row, "digest"), requestDigest) ? KEY_REUSED : DONE;
  }

  /** Into the inboxes of the newborn that now have those ids (births.ts). */
  handOver(pipeline: Pipeline, number: number, newborn: readonly Value[]): void {
    pipeline.add(this.#handOver, [number, ...newborn]);
  }
}

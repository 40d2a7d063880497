// Early messages: events that were sent to an id before an instance with that id exists (semantics 18a).
//   - They wait in the order in which they were sent. The insert of an instance with that id, by a start, a
//     child start or a fork, moves them into its inbox before any later event.
//   - A request id is stored once. The instance that receives the message keeps its request id.
//   - At most EARLY_MESSAGES_MAX wait per id; further ones are refused. An expired message is ignored; a
//     repeated send takes its place (kept.1).
//   - To store a message, the store inserts a placeholder row for the id and deletes it again in the same
//     transaction. A concurrent start of the id waits for that transaction and finds the message; or the
//     send waits for the start and finds the instance.

import type { SendItem, SimpleResult } from "../../core/provider/commit.ts";
import { EARLY_MESSAGES_MAX, KEEP_MS } from "../../core/provider/shared/early-messages.ts";
import { findEarlyMessage, lives } from "../../sql/write/early-messages.ts";
import { DONE, LIMIT_EXCEEDED } from "../../core/provider/results.ts";
import { integer, only } from "../../sql/columns.ts";
import { Subject } from "../connection/subject.ts";
import type { Statements } from "../connection/statements.ts";
import { INSERTED } from "./inserted-instances.ts";
import type { Answer, Pipeline, Value } from "../connection/pipeline.ts";

/** A send with the checksum of the message that it becomes. */
export type ChecksummedSend = SendItem & { readonly checksum: number | null };

export class EarlyMessages extends Subject {
  readonly #insertPlaceholder = this.prepare(`
    INSERT INTO @instances (
      key, id, run_id, name, on_parent_close, priority, attributes, created_at, updated_at,
      suspicion, execution, last_event, steps_open, failed, status, status_version,
      copied_until, past_executions, past_events
    ) VALUES (nextval('@instance_keys'), $1, '', '', '', 0, '{}', 0, 0,
      0, 0, 0, false, false, '', 0, 0, 0, 0)
    ON CONFLICT (id) DO NOTHING RETURNING key`);
  readonly #deletePlaceholder = this.prepare("DELETE FROM @instances WHERE key = $1");
  readonly #insert = this.prepare(`
    INSERT INTO @kept (id, key, created_at, name, data, checksum, digest, expires_at)
    SELECT $1, $2, c.now, $3, $4, $5, $6, c.now + $7::bigint FROM (SELECT @clock() AS now) AS c`);
  readonly #count = this.prepare(`
    SELECT count(*) AS kept FROM @kept AS k
    WHERE k.id = $1 AND ${lives("k", "(SELECT @clock())")}`);
  readonly #deleteSame = this.prepare("DELETE FROM @kept WHERE id = $1 AND key = $2");
  readonly #handOver = this.prepare(`
    SELECT @hand_over($1::bigint, ${INSERTED.arrays(2)}) AS instance
    FROM (SELECT true FROM @kept LIMIT 1) AS any_kept`);

  /** Null: an instance with that id exists by now. */
  async keep(statements: Statements, item: ChecksummedSend): Promise<SimpleResult | null> {
    const { id, name, data, requestId, requestDigest = null, checksum } = item;
    const { keepForMs = KEEP_MS } = item;
    const [placeholder] = await statements.run(this.#insertPlaceholder, [id]);
    if (placeholder === undefined) return null;
    await statements.run(this.#deletePlaceholder, [integer(placeholder, "key")]);
    const earlier = await statements.script(findEarlyMessage(item));
    if (earlier !== null) return earlier;
    const waiting = integer(only(await statements.run(this.#count, [id])), "kept");
    if (waiting >= EARLY_MESSAGES_MAX) return LIMIT_EXCEEDED;
    await statements.run(this.#deleteSame, [id, requestId]);
    const values = [id, requestId, name, data, checksum, requestDigest, keepForMs];
    await statements.run(this.#insert, values);
    return DONE;
  }

  /**
   * Moves the messages into the inboxes of the instances that `number` inserted (instance-inserts.ts). The answer holds the
   * key of the receiver of each message: instance.
   */
  handOver(pipeline: Pipeline, number: number, inserted: readonly Value[]): Answer {
    return pipeline.add(this.#handOver, [number, ...inserted]);
  }
}

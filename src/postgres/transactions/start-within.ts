// Start within: inserts a new instance in a transaction of the user (semantics 31).
//   - It writes the same rows as any other start (instance-inserts.ts), without a lease. They become
//     visible when the user commits.
//   - If the id exists, the existing instance is read without a lock: the result is true at the time of the
//     read.
//   - If another open transaction has inserted the id, PostgreSQL waits for that transaction; the user's
//     lock_timeout limits the wait.

import { PerdureError } from "../../core/errors/errors.ts";
import type { StartItem, StartResult } from "../../core/provider/commit.ts";
import { isOtherRequest, KEY_REUSED } from "../../core/provider/results.ts";
import type { InstanceInserts } from "../write/instance-inserts.ts";
import { integer, textOrNull, type Row } from "../../sql/columns.ts";
import type { Connection } from "../connection/connection.ts";
import { Subject } from "../connection/subject.ts";
import type { BorrowedTransaction } from "./borrowed-transaction.ts";
import type { ChangeDraft } from "../notify/change-draft.ts";
import { Pipeline } from "../connection/pipeline.ts";
import { targetOf } from "../../sql/write/fork.ts";
import { toInsert } from "../write/start.ts";

/** How often an existing id may have been deleted again before it can be read. */
const ROUNDS = 5;

export class StartsWithin extends Subject {
  readonly #inserts: InstanceInserts;
  readonly #select = this.prepare(`
    SELECT i.key, i.execution, r.outcome, r.execution AS earlier, r.digest
    FROM @instances AS i
    LEFT JOIN @requests AS r ON r.instance = i.key AND r.kind = 'start' AND r.id = $2::text
    WHERE i.id = $1::text`);
  readonly #record = this.prepare(`
    INSERT INTO @requests (instance, execution, created_at, batch, kind, id, outcome, digest)
    VALUES ($1::bigint, $2::bigint, (SELECT @clock()), 0, 'start', $3::text, 'existing', $4::text)
    ON CONFLICT DO NOTHING`);

  constructor(connection: Connection, inserts: InstanceInserts) {
    super(connection);
    this.#inserts = inserts;
  }

  async start(
    borrowed: BorrowedTransaction,
    item: StartItem,
    changes: ChangeDraft,
  ): Promise<StartResult> {
    for (let round = 1; round <= ROUNDS; round++) {
      const pipeline = new Pipeline();
      const read = this.#inserts.insert(pipeline, [{ ...toInsert(item), lease: null }]);
      await borrowed.run(pipeline);
      const inserted = read().get(item.id);
      if (inserted !== undefined && inserted.runId === item.runId) {
        if (inserted.isDue) changes.due(item.id, { owner: null, target: targetOf(item) });
        return { kind: "started", key: inserted.key, execution: 1, leased: null };
      }
      const [existing] = await borrowed.ask(this.#select, [item.id, item.requestId]);
      if (existing !== undefined) return this.#resultFor(borrowed, item, existing);
    }
    const message = `Instance "${item.id}" was inserted and deleted ${ROUNDS} times during this start. Try again.`;
    throw new PerdureError("STORE_UNAVAILABLE", message);
  }

  async #resultFor(
    borrowed: BorrowedTransaction,
    item: StartItem,
    existing: Row,
  ): Promise<StartResult> {
    const { requestId, requestDigest, onConflict } = item;
    const key = integer(existing, "key");
    const outcome = textOrNull(existing, "outcome");
    if (outcome !== null) {
      if (isOtherRequest(textOrNull(existing, "digest"), requestDigest)) return KEY_REUSED;
      const execution = integer(existing, "earlier");
      if (outcome === "existing") return { kind: "existing", key, execution };
      return { kind: "started", key, execution, leased: null };
    }
    if (onConflict !== "useExisting") return { kind: "refused", code: "INSTANCE_EXISTS" };
    const execution = integer(existing, "execution");
    if (requestId !== null)
      await borrowed.ask(this.#record, [key, execution, requestId, requestDigest ?? null]);
    return { kind: "existing", key, execution };
  }
}

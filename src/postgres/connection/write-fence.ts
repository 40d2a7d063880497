// Write fence: after a connection was lost, prevents its in-flight writes from being committed later.
//   - Every write of a process holds a shared advisory lock named after the writer until its transaction
//       ends. Under that lock it checks that its epoch is not fenced.
//   - After a connection was lost, and before the process writes or recovers an outcome, the fence is
//       raised: under the same lock in exclusive mode, the epoch is fenced and a new one begins. Writes
//       that had begun have ended by then. Writes that are still in a network buffer fail at the check
//       (I14).
//   - Row locks cannot do this: a call that has not reached its rows yet holds none. Looking for the lost
//       backend cannot either: behind a pooler or after a failover its identity is unknown.
//   - write-fence.1: A user transaction at REPEATABLE READ may have a snapshot from before the fence was
//       raised. There the check is an insert of the fence's own row, which PostgreSQL rejects if a newer
//       row exists that the snapshot does not show.

import type { Environment } from "../../core/time/environment.ts";
import { Statement, type Value } from "./pipeline.ts";

/** After this time no write can still be in a buffer, so the row of the fence is deleted. */
const KEEP_MS = 86_400_000;

export class WriteFence {
  /** The name of the writer and of its lock. */
  readonly writer: string;
  readonly #check: Statement;
  readonly #checkSnapshot: Statement;
  readonly #lock: Statement;
  readonly #raise: Statement;
  #epoch = 0;
  #lostCount = 0;
  #raising: Promise<void> | null = null;

  constructor(environment: Environment, schema: string) {
    this.writer = `${schema}:writer:${environment.randomHex(16)}`;
    this.#check = new Statement(`
      SELECT ${schema}.clock() AS now, (
        SELECT ${schema}.refuse('barred') FROM ${schema}.barred WHERE writer = $1 AND epoch > $2)`);
    this.#checkSnapshot = new Statement(`
      INSERT INTO ${schema}.barred (writer, epoch, at)
      SELECT $1::text, $2::bigint, ${schema}.clock()
      WHERE current_setting('transaction_isolation') <> 'read committed'
      ON CONFLICT (writer) DO NOTHING`);
    this.#lock = new Statement("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))");
    this.#raise = new Statement(`
      WITH old AS (DELETE FROM ${schema}.barred WHERE at < ${schema}.clock() - ${KEEP_MS})
      INSERT INTO ${schema}.barred (writer, epoch, at) VALUES ($1, $2, ${schema}.clock())
      ON CONFLICT (writer) DO UPDATE SET epoch = excluded.epoch, at = excluded.at`);
  }

  /** The check that every write runs under the writer's lock. It also returns the store's time. */
  get check(): readonly [Statement, readonly Value[]] {
    return [this.#check, [this.writer, this.#epoch]];
  }

  /** The same check for a transaction that the user has begun (write-fence.1). */
  get checkSnapshot(): readonly [Statement, readonly Value[]] {
    return [this.#checkSnapshot, [this.writer, this.#epoch]];
  }

  /** A connection was lost during a write. */
  markLost(): void {
    this.#lostCount += 1;
  }

  /**
   * Fences the writes of lost connections, if there are any. `write` runs statements in a transaction
   * without the check.
   */
  async raise(write: (steps: readonly Step[]) => Promise<void>): Promise<void> {
    while (this.#lostCount > 0) {
      this.#raising ??= this.#raiseNow(write).finally(() => (this.#raising = null));
      await this.#raising;
    }
  }

  async #raiseNow(write: (steps: readonly Step[]) => Promise<void>): Promise<void> {
    const lostCount = this.#lostCount;
    const next = this.#epoch + 1;
    await write([
      [this.#lock, [this.writer]],
      [this.#raise, [this.writer, next]],
    ]);
    this.#epoch = next;
    this.#lostCount -= lostCount;
  }
}

type Step = readonly [Statement, readonly Value[]];

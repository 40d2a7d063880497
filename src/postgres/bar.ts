// Bar: nothing that was asked for on a lost connection is written any more, once somebody looks what became of it.
//   B1. Every write of a store holds, in shared mode, a lock named after its writer, until its transaction is over;
//       and asks, under that lock, whether its epoch is barred.
//   B2. After a connection was lost, and before anything else is written or settled, the bar is lowered: under the
//       same lock in exclusive mode the epoch is barred, and a new one begins. So whatever is under way is over by
//       then, and whatever still lies in a wire or a buffer finds the bar (I14).
//   B3. Row locks could not do this: a call that has not reached its rows yet holds none. Nor could looking for the
//       lost backend: behind a pooler or after a fail-over nobody knows which it was.

//   B4. A user's transaction may look at the store as it stood before the bar was lowered (REPEATABLE READ). There the
//       check is an insert of the bar's own row, which PostgreSQL refuses to who cannot see the one that is there.

import type { Environment } from "../core/environment.ts";
import { Statement, type Value } from "./pipeline.ts";

/** Nothing arrives after this long: a row of the bar is of no more use. */
const KEEP_MS = 86_400_000;

export class Bar {
  /** The lock's name, and the writer's. */
  readonly writer: string;
  readonly #check: Statement;
  readonly #checkOld: Statement;
  readonly #lock: Statement;
  readonly #lower: Statement;
  #epoch = 0;
  #doubt = 0;
  #lowering: Promise<void> | null = null;

  constructor(environment: Environment, schema: string) {
    this.writer = `${schema}:writer:${environment.randomHex(16)}`;
    this.#check = new Statement(`
      SELECT ${schema}.clock() AS now, (
        SELECT ${schema}.refuse('barred') FROM ${schema}.barred WHERE writer = $1 AND epoch > $2)`);
    this.#checkOld = new Statement(`
      INSERT INTO ${schema}.barred (writer, epoch, at)
      SELECT $1::text, $2::bigint, ${schema}.clock()
      WHERE current_setting('transaction_isolation') <> 'read committed'
      ON CONFLICT (writer) DO NOTHING`);
    this.#lock = new Statement("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))");
    this.#lower = new Statement(`
      WITH old AS (DELETE FROM ${schema}.barred WHERE at < ${schema}.clock() - ${KEEP_MS})
      INSERT INTO ${schema}.barred (writer, epoch, at) VALUES ($1, $2, ${schema}.clock())
      ON CONFLICT (writer) DO UPDATE SET epoch = excluded.epoch, at = excluded.at`);
  }

  /** To be run under the writer's lock, by every write; tells the time besides. */
  get check(): readonly [Statement, readonly Value[]] {
    return [this.#check, [this.writer, this.#epoch]];
  }

  /** The same for a transaction that the user has begun (B4). */
  get checkOld(): readonly [Statement, readonly Value[]] {
    return [this.#checkOld, [this.writer, this.#epoch]];
  }

  /** A connection was lost with a write on it. */
  doubt(): void {
    this.#doubt += 1;
  }

  /** Waits until nothing is in doubt. `write` runs statements in a transaction that nothing bars. */
  async clear(write: (steps: readonly Step[]) => Promise<void>): Promise<void> {
    while (this.#doubt > 0) {
      this.#lowering ??= this.#lowerNow(write).finally(() => (this.#lowering = null));
      await this.#lowering;
    }
  }

  async #lowerNow(write: (steps: readonly Step[]) => Promise<void>): Promise<void> {
    const doubts = this.#doubt;
    const next = this.#epoch + 1;
    await write([
      [this.#lock, [this.writer]],
      [this.#lower, [this.writer, next]],
    ]);
    this.#epoch = next;
    this.#doubt -= doubts;
  }
}

type Step = readonly [Statement, readonly Value[]];

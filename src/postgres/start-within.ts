// Start within: a new instance, written by a user's own transaction (semantics 31).
//   SW1. The same rows as of any other birth (births.ts), without a lease. Nobody sees them until the user commits.
//   SW2. An id that is taken is met without a lock on whoever has it: what is said of it is true as of now.
//   SW3. An id that another transaction has taken, and not committed, is waited for, as PostgreSQL waits for any key;
//        the user's own lock_timeout bounds that.

import { PerdureError } from "../core/errors.ts";
import type { StartItem, StartResult } from "../core/provider/commit.ts";
import { isOtherRequest, KEY_REUSED } from "../core/provider/results.ts";
import type { Births } from "./births.ts";
import { integer, textOrNull, type Row } from "./columns.ts";
import type { Connection } from "./connection.ts";
import type { Lent } from "./lent.ts";
import type { NewsDraft } from "./news.ts";
import { Pipeline, type Statement } from "./pipeline.ts";
import { targetOf, toBirth } from "./start.ts";

/** How often an id may be gone again when it is looked at. */
const ROUNDS = 5;

export class StartsWithin {
  readonly #births: Births;
  readonly #meet: Statement;
  readonly #record: Statement;

  constructor(connection: Connection, births: Births) {
    this.#births = births;
    this.#meet = connection.prepare(`
      SELECT i.key, i.execution, r.outcome, r.execution AS earlier, r.digest
      FROM @instances AS i
      LEFT JOIN @requests AS r ON r.instance = i.key AND r.kind = 'start' AND r.id = $2::text
      WHERE i.id = $1::text`);
    this.#record = connection.prepare(`
      INSERT INTO @requests (instance, execution, created_at, batch, kind, id, outcome, digest)
      VALUES ($1::bigint, $2::bigint, (SELECT @clock()), 0, 'start', $3::text, 'existing', $4::text)
      ON CONFLICT DO NOTHING`);
  }

  async start(lent: Lent, item: StartItem, news: NewsDraft): Promise<StartResult> {
    for (let round = 1; round <= ROUNDS; round++) {
      const pipeline = new Pipeline();
      const read = this.#births.bear(pipeline, [{ ...toBirth(item), lease: null }]);
      await lent.run(pipeline);
      const born = read().get(item.id);
      if (born !== undefined && born.runId === item.runId) {
        if (born.isDue) news.due(item.id, { owner: null, target: targetOf(item) });
        return { kind: "started", key: born.key, execution: 1, leased: null };
      }
      const [met] = await lent.ask(this.#meet, [item.id, item.requestId]);
      if (met !== undefined) return this.#answer(lent, item, met);
    }
    const message = `Instance "${item.id}" comes and goes: it cannot be started now.`;
    throw new PerdureError("STORE_UNAVAILABLE", message);
  }

  async #answer(lent: Lent, item: StartItem, met: Row): Promise<StartResult> {
    const { requestId, requestDigest, onConflict } = item;
    const key = integer(met, "key");
    const outcome = textOrNull(met, "outcome");
    if (outcome !== null) {
      if (isOtherRequest(textOrNull(met, "digest"), requestDigest)) return KEY_REUSED;
      const execution = integer(met, "earlier");
      if (outcome === "existing") return { kind: "existing", key, execution };
      return { kind: "started", key, execution, leased: null };
    }
    if (onConflict !== "useExisting") return { kind: "refused", code: "INSTANCE_EXISTS" };
    const execution = integer(met, "execution");
    if (requestId !== null)
      await lent.ask(this.#record, [key, execution, requestId, requestDigest ?? null]);
    return { kind: "existing", key, execution };
  }
}

// Blocks: an instance that cannot go on waits, and what keeps it is taken away.
//   B1. A block frees the lease and is remembered by who found it: that runtime does not try again (semantics 5). A
//       quarantine is remembered by the code it was found under (N5).
//   B2. An unblock wakes the instance: its block may have been found after everything it was told had been taken. One
//       that has not begun is woken by its start, when that is due. After a quarantine the count stays: the next one
//       follows the first death.
//   B3. Steps that were open have nobody who runs them then: a wake tells whoever may try, since nothing else does.

import { ANY_QUARANTINE, codeEntry } from "../core/provider/blame.ts";
import type { BlockItem, SimpleResult, UnblockItem } from "../core/provider/commit.ts";
import { isTerminalStatus } from "../core/provider/instances.ts";
import { DONE, FINISHED, LEASE_LOST, NOT_FOUND } from "../core/provider/results.ts";
import { flag, integer, text } from "./columns.ts";
import type { Connection, Statements } from "./connection.ts";
import { tellDue } from "./delivery.ts";
import { wakeMessage, type Inbox } from "./inbox.ts";
import type { Instances } from "./instances.ts";
import type { NewsDraft } from "./news.ts";
import { Pipeline, type Statement } from "./pipeline.ts";

export class Blocks {
  readonly #instances: Instances;
  readonly #inbox: Inbox;
  readonly #block: Statement;
  readonly #unblock: Statement;

  constructor(connection: Connection, instances: Instances, inbox: Inbox) {
    this.#instances = instances;
    this.#inbox = inbox;
    // A quarantine takes back its own lease and one death: the next death is enough for the next quarantine.
    this.#block = connection.prepare(`
      UPDATE @instances SET
        lease_owner = NULL, lease_token = NULL, lease_until = NULL,
        suspicion = CASE WHEN $6::boolean THEN greatest(suspicion - 2, 0) ELSE 0 END,
        blocked = $3, updated_at = $5,
        blocked_by = CASE
          WHEN blocked_by IS NULL THEN '[' || $4::text || ']'
          WHEN strpos(blocked_by, $4::text) > 0 THEN blocked_by
          ELSE rtrim(blocked_by, ']') || ',' || $4::text || ']'
        END
      WHERE key = $1 AND lease_token = $2 RETURNING id, execution, steps_open`);
    // A lease that is being tried right now still counts as one (N4).
    this.#unblock = connection.prepare(`
      UPDATE @instances SET blocked = NULL, blocked_by = NULL, updated_at = $1,
        suspicion = CASE
          WHEN strpos(coalesce(blocked_by, ''), '${ANY_QUARANTINE}') > 0 THEN suspicion
          WHEN lease_token IS NULL THEN 0
          ELSE least(suspicion, 1)
        END
      WHERE key = $2`);
  }

  async block(statements: Statements, item: BlockItem, news: NewsDraft): Promise<SimpleResult> {
    const { key, token, reason, by, code } = item;
    const finder = code === undefined ? JSON.stringify(by) : codeEntry(code);
    const values = [key, token, reason, finder, statements.now, code !== undefined];
    const [row] = await statements.run(this.#block, values);
    if (row === undefined) return LEASE_LOST;
    news.changed(text(row, "id"));
    if (flag(row, "steps_open")) {
      const pipeline = new Pipeline();
      this.#inbox.put(pipeline, [wakeMessage(key, integer(row, "execution"))]);
      const due = this.#inbox.hasDue(pipeline, [key]);
      await statements.all(pipeline);
      tellDue(due, news);
    }
    return DONE;
  }

  async unblock(
    statements: Statements,
    { id }: UnblockItem,
    news: NewsDraft,
  ): Promise<SimpleResult> {
    const target = await this.#instances.find(statements, id);
    if (target === null) return NOT_FOUND;
    if (isTerminalStatus(target.status)) return FINISHED;
    const { key, execution, blocked, lastEvent } = target;
    const pipeline = new Pipeline();
    pipeline.add(this.#unblock, [statements.now, key]);
    const isToWake = blocked !== null && lastEvent > 0;
    if (isToWake) this.#inbox.put(pipeline, [wakeMessage(key, execution)]);
    const due = this.#inbox.hasDue(pipeline, [key]);
    await statements.all(pipeline);
    if (blocked !== null) news.changed(id);
    tellDue(due, news);
    return DONE;
  }
}

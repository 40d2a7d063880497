// Blocks: an instance that cannot go on waits, and what keeps it is taken away.
//   B1. A block frees the lease and is remembered by who found it: that runtime does not try again (semantics 5). A
//       quarantine is remembered by the code it was found under (N5).
//   B2. An unblock wakes the instance: its block may have been found after everything it was told had been taken. One
//       that has not begun is woken by its start, when that is due. After a quarantine the count stays: the next one
//       follows the first death.
//   B3. Steps that were open have nobody who runs them then: a wake tells whoever may try, since nothing else does.

import type { StatementSync } from "node:sqlite";
import { ANY_QUARANTINE, codeEntry } from "../core/provider/blame.ts";
import type { BlockItem, SimpleResult, UnblockItem } from "../core/provider/commit.ts";
import { isTerminalStatus } from "../core/provider/instances.ts";
import { DONE, FINISHED, LEASE_LOST, NOT_FOUND } from "../core/provider/results.ts";
import { integer, text } from "./columns.ts";
import type { Connection } from "./connection.ts";
import type { Inbox } from "./inbox.ts";
import type { Instances } from "./instances.ts";
import type { Transaction } from "./news.ts";

export class Blocks {
  readonly #instances: Instances;
  readonly #inbox: Inbox;
  readonly #block: StatementSync;
  readonly #unblock: StatementSync;

  constructor(connection: Connection, instances: Instances, inbox: Inbox) {
    this.#instances = instances;
    this.#inbox = inbox;
    // A quarantine takes back its own lease and one death: the next death is enough for the next quarantine.
    this.#block = connection.prepare(`
      UPDATE instances SET
        lease_owner = NULL, lease_token = NULL, lease_until = NULL,
        suspicion = iif(?6, max(suspicion - 2, 0), 0),
        blocked = ?3, updated_at = ?5,
        blocked_by = CASE
          WHEN blocked_by IS NULL THEN '[' || ?4 || ']'
          WHEN instr(blocked_by, ?4) THEN blocked_by
          ELSE rtrim(blocked_by, ']') || ',' || ?4 || ']'
        END
      WHERE key = ?1 AND lease_token = ?2 RETURNING id, execution, steps_open`);
    // A lease that is being tried right now still counts as one (N4).
    this.#unblock = connection.prepare(`
      UPDATE instances SET blocked = NULL, blocked_by = NULL, updated_at = ?,
        suspicion = CASE
          WHEN instr(coalesce(blocked_by, ''), '${ANY_QUARANTINE}') THEN suspicion
          WHEN lease_token IS NULL THEN 0
          ELSE min(suspicion, 1)
        END
      WHERE key = ?`);
  }

  block({ key, token, reason, by, code }: BlockItem, { now, news }: Transaction): SimpleResult {
    const finder = code === undefined ? JSON.stringify(by) : codeEntry(code);
    const isQuarantine = code === undefined ? 0 : 1;
    const row = this.#block.get(key, token, reason, finder, now, isQuarantine);
    if (row === undefined) return LEASE_LOST;
    const id = text(row, "id");
    news.changed(id);
    if (integer(row, "steps_open") === 1) {
      this.#inbox.insertWake(key, integer(row, "execution"), now);
      news.due(id);
    }
    return DONE;
  }

  unblock({ id }: UnblockItem, { now, news }: Transaction): SimpleResult {
    const target = this.#instances.find(id);
    if (target === null) return NOT_FOUND;
    if (isTerminalStatus(target.status)) return FINISHED;
    const { key, execution, blocked, lastEvent } = target;
    this.#unblock.run(now, key);
    if (blocked !== null) {
      if (lastEvent > 0) this.#inbox.insertWake(key, execution, now);
      news.changed(id);
    }
    if (this.#inbox.hasDue(key, now)) news.due(id);
    return DONE;
  }
}

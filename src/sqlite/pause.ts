// Pause: no further turn is committed until somebody resumes the instance (semantics 20).
//   P1. The token is left: whoever holds the instance keeps it, and its turns are refused as PAUSED (turn.ts).
//   P2. The first pause counts; a second one changes nothing, nor does a resume of what is not paused.
//   P3. Whatever came due meanwhile is news when the pause is lifted.

import type { StatementSync } from "node:sqlite";
import type { PauseItem, ResumeItem, SimpleResult } from "../core/provider/commit.ts";
import { isTerminalStatus } from "../core/provider/instances.ts";
import { DONE, FINISHED, NOT_FOUND } from "../core/provider/results.ts";
import type { Connection } from "./connection.ts";
import type { Inbox } from "./inbox.ts";
import type { InstanceHead } from "./instance-rows.ts";
import type { Instances } from "./instances.ts";
import type { Transaction } from "./news.ts";

export class Pauses {
  readonly #instances: Instances;
  readonly #inbox: Inbox;
  readonly #set: StatementSync;

  constructor(connection: Connection, instances: Instances, inbox: Inbox) {
    this.#instances = instances;
    this.#inbox = inbox;
    this.#set = connection.prepare("UPDATE instances SET paused = ?, updated_at = ? WHERE key = ?");
  }

  pause({ id, info }: PauseItem, { now, news }: Transaction): SimpleResult {
    const target = this.#instances.find(id);
    if (target === null) return NOT_FOUND;
    if (isTerminalStatus(target.status)) return FINISHED;
    if (target.paused !== null) return DONE;
    this.#set.run(info, now, target.key);
    news.changed(id);
    return DONE;
  }

  resume({ id }: ResumeItem, transaction: Transaction): SimpleResult {
    const target = this.#instances.find(id);
    if (target === null) return NOT_FOUND;
    if (isTerminalStatus(target.status)) return FINISHED;
    this.lift(target, transaction);
    return DONE;
  }

  lift({ id, key, paused }: InstanceHead, { now, news }: Transaction): void {
    if (paused === null) return;
    this.#set.run(null, now, key);
    news.changed(id);
    if (this.#inbox.hasDue(key, now)) news.due(id);
  }
}

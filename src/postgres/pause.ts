// Pause: no further turn is committed until somebody resumes the instance (semantics 20).
//   P1. The token is left: whoever holds the instance keeps it, and its turns are refused as PAUSED (turn.ts).
//   P2. The first pause counts; a second one changes nothing, nor does a resume of what is not paused.
//   P3. Whatever came due meanwhile is news when the pause is lifted.

import type { PauseItem, ResumeItem, SimpleResult } from "../core/provider/commit.ts";
import { isTerminalStatus } from "../core/provider/instances.ts";
import { DONE, FINISHED, NOT_FOUND } from "../core/provider/results.ts";
import type { Connection, Statements } from "./connection.ts";
import { tellDue } from "./delivery.ts";
import type { Inbox } from "./inbox.ts";
import type { InstanceHead } from "./instance-rows.ts";
import type { Instances } from "./instances.ts";
import type { NewsDraft } from "./news.ts";
import { Pipeline, type Statement } from "./pipeline.ts";

export class Pauses {
  readonly #instances: Instances;
  readonly #inbox: Inbox;
  readonly #set: Statement;

  constructor(connection: Connection, instances: Instances, inbox: Inbox) {
    this.#instances = instances;
    this.#inbox = inbox;
    this.#set = connection.prepare(
      "UPDATE @instances SET paused = $1, updated_at = $2 WHERE key = $3",
    );
  }

  async pause(statements: Statements, item: PauseItem, news: NewsDraft): Promise<SimpleResult> {
    const { id, info } = item;
    const target = await this.#instances.find(statements, id);
    if (target === null) return NOT_FOUND;
    if (isTerminalStatus(target.status)) return FINISHED;
    if (target.paused !== null) return DONE;
    await statements.run(this.#set, [info, statements.now, target.key]);
    news.changed(id);
    return DONE;
  }

  async resume(statements: Statements, { id }: ResumeItem, news: NewsDraft): Promise<SimpleResult> {
    const target = await this.#instances.find(statements, id);
    if (target === null) return NOT_FOUND;
    if (isTerminalStatus(target.status)) return FINISHED;
    await this.lift(statements, target, news);
    return DONE;
  }

  async lift(
    statements: Statements,
    { id, key, paused }: InstanceHead,
    news: NewsDraft,
  ): Promise<void> {
    if (paused === null) return;
    const pipeline = new Pipeline();
    pipeline.add(this.#set, [null, statements.now, key]);
    const due = this.#inbox.hasDue(pipeline, [key]);
    await statements.all(pipeline);
    news.changed(id);
    tellDue(due, news);
  }
}

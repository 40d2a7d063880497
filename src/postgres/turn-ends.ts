// Turn ends: turns that end an execution, with or without another one behind it.
//   TE1. The tasks of the execution go; so does what was addressed to it alone (B1).
//   TE2. What the instance was sent and has not read stays: parked when it has ended, in order for the next
//        execution when it continues as new (semantics 18a, 21). Then also goes what nobody asks for any more (R3 of
//        requests.ts).

import type { TurnItem } from "../core/provider/commit.ts";
import { ColumnArrays } from "./column-arrays.ts";
import type { Connection } from "./connection.ts";
import { eventMessage, startMessage, type Inbox } from "./inbox.ts";
import { NEXT_EXECUTION } from "./instances.ts";
import type { Pipeline, Statement } from "./pipeline.ts";
import type { Requests } from "./requests.ts";
import type { Tasks } from "./tasks.ts";
import { probe } from "./probing.ts";

const CONTINUED = new ColumnArrays({ key: "bigint", version: "text" });

export class TurnEnds {
  readonly #inbox: Inbox;
  readonly #tasks: Tasks;
  readonly #requests: Requests;
  readonly #continue: Statement;

  constructor(
    connection: Connection,
    parts: { readonly inbox: Inbox; readonly tasks: Tasks; readonly requests: Requests },
  ) {
    this.#inbox = parts.inbox;
    this.#tasks = parts.tasks;
    this.#requests = parts.requests;
    this.#continue = connection.prepare(`
      UPDATE @instances AS i SET ${NEXT_EXECUTION}, version = t.version, steps_open = false
      FROM ${CONTINUED.from("t")} WHERE ${probe("i.key", "t.key")}`);
  }

  write(pipeline: Pipeline, items: readonly TurnItem[]): void {
    const ended: number[] = [];
    const continued = [];
    const starts = [];
    const unread = [];
    for (const { key, execution, change } of items) {
      if (change.kind === "ended") ended.push(key);
      if (change.kind !== "continued") continue;
      continued.push({ key, version: change.version });
      starts.push(startMessage(key, execution + 1, change.started));
      unread.push(...change.unread.map((event) => eventMessage(key, event)));
    }
    const keys = continued.map(({ key }) => key);
    this.#tasks.clear(
      pipeline,
      [...ended, ...keys].sort((a, b) => a - b),
    );
    this.#inbox.park(pipeline, ended);
    if (continued.length === 0) return;
    pipeline.add(this.#continue, CONTINUED.values(continued));
    this.#inbox.carryOver(pipeline, starts, unread);
    this.#requests.forget(pipeline, keys);
  }
}

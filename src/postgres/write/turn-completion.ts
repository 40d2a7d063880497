// Turn completion: writes the end of an execution, with or without a next execution.
//   - The tasks of the execution are deleted, and so are messages addressed to it alone (messages.1).
//   - Unread events stay. They are parked if the instance has ended, and wait in order for the next
//     execution if it continues as new (semantics 18a, 21). Continuing as new also deletes old generated
//     request ids (requests.1).
//   - An instance that ends without a lease must have an empty inbox (postgres.turn.1). If it has a message, the transaction
//     is refused; the stepwise mode has looked before.
//   - turn-completion.1: If an instance waits for an answer or the end of one that ends, the transaction is refused in
//     one round trip. The stepwise mode notifies it (provider.asks.3, enqueue-keys.2).

import type { TurnItem } from "../../core/provider/commit.ts";
import { ColumnArrays, plain } from "../sql/column-arrays.ts";
import type { Connection } from "../connection/connection.ts";
import { Subject } from "../connection/subject.ts";
import { eventMessage, startMessage, type Inbox } from "../read/inbox.ts";
import { NEXT_EXECUTION } from "../read/instances.ts";
import type { Pipeline } from "../connection/pipeline.ts";
import type { Requests } from "./requests.ts";
import type { Tasks } from "../lease/tasks.ts";
import { exists, indexEquals } from "../../sql/index-lookup.ts";

const CONTINUED = new ColumnArrays({ key: "bigint", version: "text" });

interface CompletionParts {
  readonly inbox: Inbox;
  readonly tasks: Tasks;
  readonly requests: Requests;
}

export class TurnCompletion extends Subject {
  readonly #parts: CompletionParts;
  readonly #end = this.prepare(`
    SELECT @clear_ended(k.key) FROM unnest($1::bigint[], $2::boolean[]) AS k (key, is_unleased)
    WHERE CASE -- one expression, because PostgreSQL evaluates several conditions in any order
      WHEN k.is_unleased AND ${exists("FROM @inbox AS m WHERE m.instance = k.key")}
        THEN @refuse('an instance has messages') IS NULL
      WHEN $3::boolean AND (
        (SELECT true FROM @requests WHERE asker IS NOT NULL LIMIT 1) -- NULL while no instance waits
        AND ${exists(`
        FROM @requests AS r WHERE r.instance = k.key AND r.asker IS NOT NULL`)}
        OR (SELECT true FROM @enqueue_keys WHERE kind = 'unique' AND next IS NOT NULL LIMIT 1)
        AND ${exists(`
        FROM @enqueue_keys AS e WHERE e.instance = k.key AND e.kind = 'unique' AND e.next IS NOT NULL`)})
        THEN @refuse('an instance waits for an answer or an end') IS NULL
      ELSE ${exists("FROM @inbox AS m WHERE m.instance = k.key")}
        OR ${exists("FROM @tasks AS t WHERE t.instance = k.key")} END`);
  readonly #continue = this.prepare(`
    UPDATE @instances AS i SET ${NEXT_EXECUTION}, version = t.version, steps_open = false
    FROM ${CONTINUED.from("t")} WHERE ${indexEquals("i.key", "t.key")}`);

  constructor(connection: Connection, parts: CompletionParts) {
    super(connection);
    this.#parts = parts;
  }

  /** `refuseAsked`: turn-completion.1. */
  write(
    pipeline: Pipeline,
    items: readonly TurnItem[],
    { refuseAsked }: { readonly refuseAsked: boolean },
  ): void {
    const ended: TurnItem[] = [];
    const continued = [];
    const starts = [];
    const unread = [];
    for (const item of items) {
      const { key, execution, change } = item;
      if (change.kind === "ended") ended.push(item);
      if (change.kind !== "continued") continue;
      continued.push({ key, version: change.version });
      starts.push(startMessage(key, execution + 1, change.started));
      unread.push(...change.unread.map((event) => eventMessage(key, event)));
    }
    if (ended.length > 0) {
      ended.sort((a, b) => a.key - b.key);
      const keys = plain(ended.map(({ key }) => key));
      const areUnleased = plain(ended.map(({ isUnleased }) => isUnleased === true));
      pipeline.add(this.#end, [keys, areUnleased, refuseAsked]);
    }
    if (continued.length === 0) return;
    const keys = continued.map(({ key }) => key);
    this.#parts.tasks.clear(
      pipeline,
      keys.toSorted((a, b) => a - b),
    );
    pipeline.add(this.#continue, CONTINUED.values(continued));
    this.#parts.inbox.carryOver(pipeline, starts, unread);
    this.#parts.requests.forget(pipeline, keys);
  }
}

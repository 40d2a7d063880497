// Turn completion: writes the end of an execution, with or without a next execution.
//   - The tasks of the execution are deleted, and so are messages addressed to it alone (messages.1).
//   - Unread events stay. They are parked if the instance has ended, and wait in order for the next
//     execution if it continues as new (semantics 18a, 21). Continuing as new also deletes old generated
//     request ids (requests.1).
//   - turn-completion.1: If an instance waits for an answer of one that ends, the transaction is refused in one
//     round trip. The stepwise mode notifies it (provider.asks.3).

import type { TurnItem } from "../../core/provider/commit.ts";
import { ColumnArrays, plain } from "../sql/column-arrays.ts";
import type { Connection } from "../connection/connection.ts";
import { Subject } from "../connection/subject.ts";
import { eventMessage, readyOf, startMessage, type Inbox } from "../read/inbox.ts";
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
    WITH ended AS (
      SELECT k.key FROM unnest($1::bigint[]) AS k (key)
      WHERE CASE WHEN $2::boolean
        AND (SELECT true FROM @requests WHERE asker IS NOT NULL LIMIT 1) -- NULL while no instance waits
        AND ${exists(`
        FROM @requests AS r WHERE r.instance = k.key AND r.asker IS NOT NULL`)}
        THEN @refuse('an instance waits for an answer') IS NULL ELSE true END
    ), messages AS (
      DELETE FROM @inbox AS m USING ended AS k
      WHERE ${indexEquals("m.instance", "k.key")} AND m.kind <> 'event'
    ), events AS (
      UPDATE @inbox AS m SET parked = true FROM ended AS k
      ${readyOf("k.key", "e.kind = 'event'")} WHERE ${indexEquals("m.id", "x.id")}
    )
    DELETE FROM @tasks AS t USING ended AS k WHERE ${indexEquals("t.instance", "k.key")}`);
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
    if (ended.length > 0) {
      pipeline.add(this.#end, [plain(ended.sort((a, b) => a - b)), refuseAsked]);
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

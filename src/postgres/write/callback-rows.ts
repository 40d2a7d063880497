// Callback rows: what turns do to their callbacks (provider.callbacks.2), as sql/write/callbacks.ts does it for one turn.

import type { TurnItem } from "../../core/provider/commit.ts";
import { indexEquals } from "../../sql/index-lookup.ts";
import type { Pipeline } from "../connection/pipeline.ts";
import { Subject } from "../connection/subject.ts";
import { ColumnArrays, columns } from "../sql/column-arrays.ts";

const CHANGES = new ColumnArrays({
  ...columns("bigint", "instance", "execution"),
  ...columns("text", "kind", "request_id"),
});

export class CallbackRows extends Subject {
  readonly #close = this.prepare(`
    INSERT INTO @requests (instance, execution, created_at, kind, id, outcome)
    SELECT t.instance, t.execution, (SELECT @clock()), t.kind, t.request_id, 'closed'
    FROM ${CHANGES.from("t")} ON CONFLICT DO NOTHING`);
  // The kind is a column, because many rows have it (index-lookup.2).
  readonly #reopen = this.prepare(`
    DELETE FROM @requests AS r USING ${CHANGES.from("t")}
    WHERE ${indexEquals("r.instance", "t.instance")} AND ${indexEquals("r.kind", "t.kind")}
      AND ${indexEquals("r.id", "t.request_id")} AND r.outcome = 'done'`);

  /** The caller must hold the locks of the instances. */
  change(pipeline: Pipeline, turns: readonly TurnItem[]): void {
    const changing = turns.filter(({ callbacks }) => callbacks !== undefined);
    if (changing.length === 0) return;
    const rows = changing.flatMap(({ key: instance, execution, callbacks = [] }) =>
      callbacks.map(({ requestId: request_id, state }) => {
        return { instance, execution, kind: "send", request_id, state };
      }),
    );
    const closed = rows.filter(({ state }) => state === "closed");
    const opened = rows.filter(({ state }) => state === "open");
    // In this order: a closed callback never opens again.
    if (opened.length > 0) pipeline.add(this.#reopen, CHANGES.values(opened));
    if (closed.length > 0) pipeline.add(this.#close, CHANGES.values(closed));
  }
}

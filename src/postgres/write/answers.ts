// Answers: writes the answers of turns to the rows of their request ids (provider.asks.2).
//   - The first answer counts: an ask that is answered, or that a restart has made "finished", stays as it is.
//   - The time of the row becomes the time of the answer (sql.asks.2).

import type { TurnItem } from "../../core/provider/commit.ts";
import { checksumOf } from "../../core/values/checksum.ts";
import { indexEquals } from "../../sql/index-lookup.ts";
import type { Pipeline } from "../connection/pipeline.ts";
import { Subject } from "../connection/subject.ts";
import { ColumnArrays, columns } from "../sql/column-arrays.ts";

const ANSWERS = new ColumnArrays({
  ...columns("bigint", "instance", "checksum"),
  ...columns("text", "kind", "request_id", "answer"),
});

export class Answers extends Subject {
  // The kind is a column, because many rows have it (index-lookup.2).
  readonly #record = this.prepare(`
    UPDATE @requests AS r SET outcome = 'answered', answer = t.answer, answer_checksum = t.checksum,
      asker = NULL, created_at = (SELECT @clock())
    FROM ${ANSWERS.from("t")}
    WHERE ${indexEquals("r.instance", "t.instance")} AND ${indexEquals("r.kind", "t.kind")}
      AND ${indexEquals("r.id", "t.request_id")} AND r.outcome = 'asked'`);

  /** The caller must hold the locks of the instances. */
  record(pipeline: Pipeline, turns: readonly TurnItem[]): void {
    const answering = turns.filter(({ answers }) => answers !== undefined);
    if (answering.length === 0) return;
    const rows = answering.flatMap(({ key, answers = [] }) =>
      answers.map(({ requestId, answer }) => ({
        instance: key,
        kind: "ask",
        request_id: requestId,
        answer,
        checksum: checksumOf(answer),
      })),
    );
    if (rows.length > 0) pipeline.add(this.#record, ANSWERS.values(rows));
  }
}

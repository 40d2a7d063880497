// Step outcomes: stores the outcome of an inline step whose turn could not be committed (semantics 19a).
//   - The runtime that ran the step holds the instance: its token is compared. A pause does not refuse the
//     outcome.
//   - At most one outcome per step waits; a second one changes nothing (messages.3).

import type { SimpleResult, StepOutcomeItem } from "../../core/provider/commit.ts";
import { stepKey } from "../../core/provider/shared/message-keys.ts";
import { DONE, LEASE_LOST } from "../../core/provider/results.ts";
import { ColumnArrays, columns } from "../sql/column-arrays.ts";
import { integer, text } from "../../sql/columns.ts";
import { Subject } from "../connection/subject.ts";
import { INBOX_COLUMNS, OF_INSTANCE, ON_SAME_KEY } from "../read/inbox.ts";
import { TARGET } from "../../sql/rows/instance-rows.ts";
import { messageChecksum } from "../read/messages.ts";
import type { ChangeDraft } from "../notify/change-draft.ts";
import type { Pipeline } from "../connection/pipeline.ts";
import { toDue } from "../../sql/script/scope.ts";
import type { ReadResults } from "../lease/tasks.ts";
import { notExists, indexEquals } from "../../sql/index-lookup.ts";

/** The message of the refusal when the runtime no longer holds the step's instance. */
export const FENCED = "a step is fenced off";

const OUTCOMES = new ColumnArrays({
  ...columns("bigint", "instance", "token", "execution", "sequence", "checksum"),
  ...columns("text", "key", "outcome"),
});
const IS_HELD = `${indexEquals("i.key", "t.instance")} AND i.lease_token = t.token AND i.execution = t.execution`;

export class StepOutcomes extends Subject {
  readonly #put = this.prepare(`
    INSERT INTO @inbox (${INBOX_COLUMNS})
    SELECT ${OF_INSTANCE}, (SELECT @clock()), t.execution, t.sequence, 'step', NULL, t.key, t.outcome,
      t.checksum
    FROM ${OUTCOMES.from("t")} JOIN @instances AS i ON ${IS_HELD} ORDER BY t.n ${ON_SAME_KEY}`);
  readonly #selectHeld = this.prepare(`
    SELECT t.n, i.id, i.lease_owner, ${TARGET} AS target
    FROM ${OUTCOMES.from("t")} JOIN @instances AS i ON ${IS_HELD}`);
  readonly #refuse = this.prepare(`
    SELECT @refuse('${FENCED}') WHERE ${notExists(`
      FROM @instances AS i
      WHERE i.key = $1::bigint AND i.lease_token = $2::bigint AND i.execution = $3::bigint`)}`);

  /**
   * The caller must hold the locks of the instances. Call the returned function after the pipeline has run.
   */
  record(pipeline: Pipeline, items: readonly StepOutcomeItem[], changes: ChangeDraft): ReadResults {
    const rows = items.map((item) => {
      const { sequence, outcome: data } = item;
      const key = stepKey(item);
      const checksum = messageChecksum({ sequence, kind: "step", name: null, key, data });
      return { ...item, instance: item.key, checksum, key };
    });
    const values = OUTCOMES.values(rows);
    pipeline.add(this.#put, values);
    const held = pipeline.add(this.#selectHeld, values);
    return () => {
      const results = items.map((): SimpleResult => LEASE_LOST);
      for (const row of held.rows) {
        results[integer(row, "n") - 1] = DONE;
        changes.due(text(row, "id"), toDue(row));
      }
      return results;
    };
  }

  /** Like `record`, for one outcome; if it cannot be recorded, the transaction is refused. */
  recordOrRefuse(pipeline: Pipeline, item: StepOutcomeItem, changes: ChangeDraft): () => void {
    const read = this.record(pipeline, [item], changes);
    pipeline.add(this.#refuse, [item.key, item.token, item.execution]);
    return () => void read();
  }
}

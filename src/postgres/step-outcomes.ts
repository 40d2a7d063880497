// Step outcomes: what an inline step came to, when its turn could not be committed (semantics 19a).
//   S1. Whoever ran the step holds the instance: its token is compared, a pause is not.
//   S2. One outcome a step waits at a time; a second one changes nothing (B3).

import type { SimpleResult, StepOutcomeItem } from "../core/provider/commit.ts";
import { ColumnArrays } from "./column-arrays.ts";
import { integer, text } from "./columns.ts";
import type { Connection } from "./connection.ts";
import { INBOX_COLUMNS, OF_INSTANCE, ON_SAME_KEY, type Inbox } from "./inbox.ts";
import { TARGET } from "./instance-rows.ts";
import type { NewsDraft } from "./news.ts";
import type { Pipeline, Statement } from "./pipeline.ts";
import { DONE, LEASE_LOST } from "./results.ts";
import { dueOf, type ReadResults } from "./tasks.ts";
import { probe } from "./probing.ts";

const OUTCOMES = new ColumnArrays({
  instance: "bigint",
  token: "bigint",
  execution: "bigint",
  sequence: "bigint",
  key: "text",
  outcome: "text",
});
const IS_HELD = `${probe("i.key", "t.instance")} AND i.lease_token = t.token AND i.execution = t.execution`;

export class StepOutcomes {
  readonly #connection: Connection;
  readonly #inbox: Inbox;
  readonly #put: Statement;
  readonly #selectHeld: Statement;

  constructor(connection: Connection, inbox: Inbox) {
    this.#connection = connection;
    this.#inbox = inbox;
    this.#put = connection.prepare(`
      INSERT INTO @inbox (${INBOX_COLUMNS})
      SELECT ${OF_INSTANCE}, (SELECT @clock()), t.execution, t.sequence, 'step', NULL, t.key, t.outcome
      FROM ${OUTCOMES.from("t")} JOIN @instances AS i ON ${IS_HELD} ORDER BY t.n ${ON_SAME_KEY}`);
    this.#selectHeld = connection.prepare(`
      SELECT t.n, i.id, i.lease_owner, ${TARGET} AS target
      FROM ${OUTCOMES.from("t")} JOIN @instances AS i ON ${IS_HELD}`);
  }

  /** Under the locks of their instances. What is returned reads the results, when the answer is there. */
  record(pipeline: Pipeline, items: readonly StepOutcomeItem[], news: NewsDraft): ReadResults {
    const rows = items.map((item) => ({ ...item, instance: item.key, key: stepKey(item) }));
    const values = OUTCOMES.values(rows);
    pipeline.add(this.#put, values);
    const held = pipeline.add(this.#selectHeld, values);
    return () => {
      const results = items.map((): SimpleResult => LEASE_LOST);
      for (const row of held.rows) {
        results[integer(row, "n") - 1] = DONE;
        news.due(text(row, "id"), dueOf(row));
      }
      return results;
    };
  }

  /** Whether that outcome waits in the inbox. */
  async isWaiting(item: StepOutcomeItem): Promise<boolean> {
    const message = { instance: item.key, kind: "step", key: stepKey(item) } as const;
    const reading = { run: this.#connection.read.bind(this.#connection) };
    return (await this.#inbox.find(reading, message))?.data === item.outcome;
  }
}

function stepKey({ execution, sequence }: StepOutcomeItem): string {
  return `s:${execution}:${sequence}`;
}

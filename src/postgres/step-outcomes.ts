// Step outcomes: what an inline step came to, when its turn could not be committed (semantics 19a).
//   S1. Whoever ran the step holds the instance: its token is compared, a pause is not.
//   S2. One outcome a step waits at a time; a second one changes nothing (B3).
//   S3. An outcome whose commit was lost may have been taken by a turn before anybody asks what became of it: it is in
//       the inbox or, behind that, in history, and nowhere else.

import { decodeRow, type HistoryRow } from "../core/history-row.ts";
import type { HistoryEvent } from "../core/history-events.ts";
import { isPerdureError } from "../core/errors.ts";
import type { SimpleResult, StepOutcomeItem } from "../core/provider/commit.ts";
import { DONE, LEASE_LOST } from "../core/provider/results.ts";
import { ColumnArrays } from "./column-arrays.ts";
import { integer, text } from "./columns.ts";
import type { Connection } from "./connection.ts";
import type { History } from "./history.ts";
import { INBOX_COLUMNS, OF_INSTANCE, ON_SAME_KEY, type Inbox } from "./inbox.ts";
import { TARGET } from "./instance-rows.ts";
import { messageChecksum } from "./messages.ts";
import type { NewsDraft } from "./news.ts";
import type { Pipeline, Statement } from "./pipeline.ts";
import { dueOf, type ReadResults } from "./tasks.ts";
import { none, probe } from "./probing.ts";

/** What a transaction is refused with whose step is not its runner's any more. */
export const FENCED = "a step is fenced off";

const OUTCOMES = new ColumnArrays({
  instance: "bigint",
  token: "bigint",
  execution: "bigint",
  sequence: "bigint",
  checksum: "bigint",
  key: "text",
  outcome: "text",
});
const IS_HELD = `${probe("i.key", "t.instance")} AND i.lease_token = t.token AND i.execution = t.execution`;

export class StepOutcomes {
  readonly #connection: Connection;
  readonly #inbox: Inbox;
  readonly #history: History;
  readonly #put: Statement;
  readonly #selectHeld: Statement;
  readonly #refuse: Statement;

  constructor(connection: Connection, inbox: Inbox, history: History) {
    this.#connection = connection;
    this.#inbox = inbox;
    this.#history = history;
    this.#refuse = connection.prepare(`
      SELECT @refuse('${FENCED}') WHERE ${none(`
        FROM @instances AS i
        WHERE i.key = $1::bigint AND i.lease_token = $2::bigint AND i.execution = $3::bigint`)}`);
    this.#put = connection.prepare(`
      INSERT INTO @inbox (${INBOX_COLUMNS})
      SELECT ${OF_INSTANCE}, (SELECT @clock()), t.execution, t.sequence, 'step', NULL, t.key, t.outcome,
        t.checksum
      FROM ${OUTCOMES.from("t")} JOIN @instances AS i ON ${IS_HELD} ORDER BY t.n ${ON_SAME_KEY}`);
    this.#selectHeld = connection.prepare(`
      SELECT t.n, i.id, i.lease_owner, ${TARGET} AS target
      FROM ${OUTCOMES.from("t")} JOIN @instances AS i ON ${IS_HELD}`);
  }

  /** Under the locks of their instances. What is returned reads the results, when the answer is there. */
  record(pipeline: Pipeline, items: readonly StepOutcomeItem[], news: NewsDraft): ReadResults {
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
        news.due(text(row, "id"), dueOf(row));
      }
      return results;
    };
  }

  /** As `record`, of one, in a transaction that is not to be committed without it. */
  recordOrRefuse(pipeline: Pipeline, item: StepOutcomeItem, news: NewsDraft): () => void {
    const read = this.record(pipeline, [item], news);
    pipeline.add(this.#refuse, [item.key, item.token, item.execution]);
    return () => void read();
  }

  /** Whether that outcome waits in the inbox, or a turn has taken it into history since (S3). */
  async isWritten(item: StepOutcomeItem): Promise<boolean> {
    const message = { instance: item.key, kind: "step", key: stepKey(item) } as const;
    const reading = { run: this.#connection.read.bind(this.#connection) };
    const waiting = await this.#inbox.find(reading, message);
    if (waiting !== null) return waiting.data === item.outcome;
    const rows = await this.#history.read(item.key, item.execution);
    return rows.some((row) => eventsIn(row).some((event) => isEndOf(event, item)));
  }
}

function stepKey({ execution, sequence }: StepOutcomeItem): string {
  return `s:${execution}:${sequence}`;
}

/** None, where a row cannot be read: nobody can tell then. */
function eventsIn(row: HistoryRow): readonly HistoryEvent[] {
  try {
    return decodeRow(row);
  } catch (error) {
    if (isPerdureError(error, "HISTORY_CORRUPT")) return [];
    throw error;
  }
}

function isEndOf(event: HistoryEvent, { sequence }: StepOutcomeItem): boolean {
  const isEnd = event.kind === "StepCompleted" || event.kind === "StepFailed";
  return isEnd && event.scheduled === sequence;
}

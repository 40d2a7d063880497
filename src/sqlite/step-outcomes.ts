// Step outcomes: what an inline step came to, when its turn could not be committed (semantics 19a).
//   S1. Whoever ran the step holds the instance: its token is compared, a pause is not.
//   S2. One outcome a step waits at a time; a second one changes nothing (B3).

import type { StatementSync } from "node:sqlite";
import type { SimpleResult, StepOutcomeItem } from "../core/provider/commit.ts";
import { DONE, LEASE_LOST } from "../core/provider/results.ts";
import { text } from "./columns.ts";
import type { Connection } from "./connection.ts";
import type { Inbox } from "./inbox.ts";
import type { Transaction } from "./news.ts";

export class StepOutcomes {
  readonly #inbox: Inbox;
  readonly #selectHeld: StatementSync;

  constructor(connection: Connection, inbox: Inbox) {
    this.#inbox = inbox;
    this.#selectHeld = connection.prepare(
      "SELECT id FROM instances WHERE key = ? AND lease_token = ? AND execution = ?",
    );
  }

  record(item: StepOutcomeItem, { now, news }: Transaction): SimpleResult {
    const { key, token, execution, sequence, outcome } = item;
    const row = this.#selectHeld.get(key, token, execution);
    if (row === undefined) return LEASE_LOST;
    this.#inbox.insert(key, {
      kind: "step",
      execution,
      sequence,
      name: null,
      data: outcome,
      key: stepKey(item),
      visibleAt: now,
    });
    news.due(text(row, "id"));
    return DONE;
  }

  /** Whether that outcome waits in the inbox. */
  isWaiting(item: StepOutcomeItem): boolean {
    return this.#inbox.find(item.key, "step", stepKey(item))?.data === item.outcome;
  }
}

function stepKey({ execution, sequence }: StepOutcomeItem): string {
  return `s:${execution}:${sequence}`;
}

// Step outcomes: stores the outcome of an inline step whose turn could not be committed (semantics 19a).
//   - The runtime that ran the step holds the instance: its token is compared. A pause does not refuse the
//     outcome.
//   - At most one outcome per step waits; a second one changes nothing (messages.3).

import type { SimpleResult, StepOutcomeItem } from "../../core/provider/commit.ts";
import { stepKey } from "../../core/provider/shared/message-keys.ts";
import { DONE, LEASE_LOST } from "../../core/provider/results.ts";
import { text } from "../../sql/columns.ts";
import type { Connection } from "../connection/connection.ts";
import { Subject } from "../connection/subject.ts";
import type { Inbox } from "../read/inbox.ts";
import type { Transaction } from "../notify/change-draft.ts";

export class StepOutcomes extends Subject {
  readonly #inbox: Inbox;
  readonly #selectHeld = this.prepare(`
    SELECT id FROM instances WHERE key = ? AND lease_token = ? AND execution = ?`);

  constructor(connection: Connection, inbox: Inbox) {
    super(connection);
    this.#inbox = inbox;
  }

  record(item: StepOutcomeItem, { now, changes }: Transaction): SimpleResult {
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
    changes.due(text(row, "id"));
    return DONE;
  }
}

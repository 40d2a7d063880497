// Delivery: puts a message into the inbox of another instance.
//   - The outcome of an activity or a child is for one execution; it is dropped after that execution has
//     ended.
//   - No message becomes visible before the start of its execution. The start may lie in the future, or the
//     clock may have gone back since the execution was continued.
//   - No event becomes visible before an event that was sent earlier, even if the clock has gone back (P7).
//   - A receiver whose message is due is added to the transaction's changes.

import type { OutgoingMessage } from "../../core/provider/messages.ts";
import type { Inbox } from "../read/inbox.ts";
import type { Receiver } from "../../sql/rows/instance-rows.ts";
import type { Transaction } from "../notify/change-draft.ts";

export type Delivery = Omit<OutgoingMessage, "to">;

export class Deliveries {
  readonly #inbox: Inbox;

  constructor(inbox: Inbox) {
    this.#inbox = inbox;
  }

  deliver(target: Receiver, message: Delivery, { now, changes }: Transaction): void {
    const { kind, execution, sequence, name = null, data, key } = message;
    const isForOther = kind !== "event" && execution !== null && execution !== target.execution;
    if (isForOther && !(kind === "child" && this.#isCopied(target, sequence))) return;
    const visibleAt = this.#visibleAt(target, kind, now);
    const stored = this.#inbox.insert(target.key, {
      kind,
      execution: kind === "event" ? null : target.execution,
      sequence,
      name,
      data,
      key,
      visibleAt,
    });
    if (stored !== null && visibleAt <= now) changes.due(target.id);
  }

  /** Whether the newest execution waits for this call, which an earlier execution made (commit.8). */
  #isCopied({ key, execution }: Receiver, sequence: number | null): boolean {
    return sequence !== null && execution > 1 && sequence <= this.#inbox.copiedUntil(key);
  }

  #visibleAt({ key, lastEvent }: Receiver, kind: Delivery["kind"], now: number): number {
    const startAt = lastEvent === 0 ? this.#inbox.findStart(key)?.visibleAt : undefined;
    const lastAt = kind === "event" ? this.#inbox.lastEventAt(key) : null;
    return Math.max(now, startAt ?? now, lastAt ?? now);
  }
}

// Delivery: putting a message into another instance's inbox.
//   D1. An activity's or a child's outcome is for one execution; when that is over it is dropped.
//   D2. Nothing becomes visible before the start of an execution: one that is to begin later, or whose clock has gone
//       back since it was continued.
//   D3. No event becomes visible before one that was sent earlier, even if the clock has gone back (P7).
//   D4. Whoever gets a message that is due is named in the news.

import type { OutgoingMessage } from "../core/provider/messages.ts";
import type { Inbox } from "./inbox.ts";
import type { InstanceHead } from "./instance-rows.ts";
import type { Transaction } from "./news.ts";

export type Delivery = Omit<OutgoingMessage, "to">;

export class Deliveries {
  readonly #inbox: Inbox;

  constructor(inbox: Inbox) {
    this.#inbox = inbox;
  }

  deliver(target: InstanceHead, message: Delivery, { now, news }: Transaction): void {
    const { kind, execution, sequence, name = null, data, key } = message;
    if (kind !== "event" && execution !== null && execution !== target.execution) return;
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
    if (stored !== null && visibleAt <= now) news.due(target.id);
  }

  #visibleAt({ key, lastEvent }: InstanceHead, kind: Delivery["kind"], now: number): number {
    const startAt = lastEvent === 0 ? this.#inbox.findStart(key)?.visibleAt : undefined;
    const lastAt = kind === "event" ? this.#inbox.lastEventAt(key) : null;
    return Math.max(now, startAt ?? now, lastAt ?? now);
  }
}

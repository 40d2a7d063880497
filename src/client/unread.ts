// Messages an execution has taken and nobody has read: kept in its history, not in the inbox.

import type { HistoryEvent } from "../core/history-events.ts";
import { Mailbox } from "../core/mailbox.ts";
import type { KeptMessage } from "../core/provider/messages.ts";

export function unreadOf(events: readonly HistoryEvent[]): readonly KeptMessage[] {
  const mailbox = new Mailbox<number>();
  const waits = new Map<number, string>();
  for (const event of events) {
    if (event.kind === "EventSubscribed") {
      const taken = event.since === "now" ? null : mailbox.take(event.name);
      if (taken !== null) continue;
      mailbox.wait(event.name, event.sequence);
      waits.set(event.sequence, event.name);
    } else if (event.kind === "EventSubscriptionCancelled") {
      mailbox.forget(waits.get(event.scheduled) ?? "", event.scheduled);
    } else if (event.kind === "EventReceived") {
      mailbox.offer({ name: event.name, data: event.data, key: event.key ?? null });
    }
  }
  return mailbox.unread();
}

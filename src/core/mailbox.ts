// Mailbox: events an instance has been told of, and the waits that read them.
//   L1. A message goes to the oldest open wait of its name, else it is kept, in order, until read.
//   L2. A wait since "ever" takes the oldest unread message at once; one since "now" only sees messages that
//       are delivered after it was recorded (semantics 18).
//   L3. A cancelled wait never consumes: it is gone before the next message is offered.

import type { KeptMessage } from "./provider/messages.ts";

export class Mailbox<Wait> {
  // One list in arrival order: continueAsNew hands unread messages on in that order, across names.
  readonly #unread = new Map<string, { order: number; message: KeptMessage }[]>();
  readonly #waits = new Map<string, Wait[]>();
  #arrivals = 0;
  #unreadCount = 0;

  /** Whether the code waits for an event. */
  get isWaiting(): boolean {
    return this.#waits.size > 0;
  }
  get unreadCount(): number {
    return this.#unreadCount;
  }

  /** The wait that receives the message, or null when it is kept. */
  offer(message: KeptMessage): Wait | null {
    const waits = this.#waits.get(message.name);
    const wait = waits?.shift();
    if (wait !== undefined) {
      if (waits?.length === 0) this.#waits.delete(message.name);
      return wait;
    }
    const entry = { order: this.#arrivals++, message };
    const unread = this.#unread.get(message.name);
    if (unread === undefined) this.#unread.set(message.name, [entry]);
    else unread.push(entry);
    this.#unreadCount++;
    return null;
  }

  /** The oldest unread message of that name, taken. */
  take(name: string): KeptMessage | null {
    const unread = this.#unread.get(name);
    const entry = unread?.shift();
    if (entry === undefined) return null;
    this.#unreadCount--;
    if (unread?.length === 0) this.#unread.delete(name);
    return entry.message;
  }

  wait(name: string, wait: Wait): void {
    const waits = this.#waits.get(name);
    if (waits === undefined) this.#waits.set(name, [wait]);
    else waits.push(wait);
  }

  forget(name: string, wait: Wait): void {
    const waits = this.#waits.get(name);
    const index = waits?.indexOf(wait) ?? -1;
    if (index >= 0) waits?.splice(index, 1);
    if (waits?.length === 0) this.#waits.delete(name);
  }

  /** All unread messages in order of arrival. */
  unread(): readonly KeptMessage[] {
    const entries = [...this.#unread.values()].flat();
    return entries.sort((a, b) => a.order - b.order).map((entry) => entry.message);
  }
}

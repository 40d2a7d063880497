// Mailbox: the unread events of an instance, and the open waits for events.
//   - A message goes to the oldest open wait for its name. Without a wait it stays unread, in order of
//       arrival.
//   - A wait since "ever" takes the oldest unread message at once. A wait since "now" only receives messages
//       that are delivered after the wait was recorded (semantics 18).
//   - A cancelled wait never receives a message: it is removed before the next message is offered.

import type { KeptMessage } from "../provider/messages.ts";
import { LazyMap } from "../collections/lazy-map.ts";

export class Mailbox<Wait> {
  // `order` is the order of arrival across names: continueAsNew passes unread messages on in that order.
  readonly #unread = new LazyMap<string, { order: number; message: KeptMessage }[]>();
  readonly #waits = new LazyMap<string, Wait[]>();
  #arrivals = 0;
  #unreadCount = 0;

  /** Whether the code waits for an event. */
  get isWaiting(): boolean {
    return this.#waits.size > 0;
  }
  get unreadCount(): number {
    return this.#unreadCount;
  }

  /** The wait that receives the message; null if the message stays unread. */
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

  /** Removes and returns the oldest unread message of that name. */
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

  /** The names of unread messages, each with their number. */
  unreadCounts(): [name: string, count: number][] {
    return [...this.#unread.entries()].map(([name, entries]) => [name, entries.length]);
  }

  /** All unread messages in order of arrival. */
  unread(): readonly KeptMessage[] {
    const entries = [...this.#unread.values()].flat();
    return entries.sort((a, b) => a.order - b.order).map((entry) => entry.message);
  }
}

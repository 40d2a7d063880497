// Mailbox: the unread events of an instance, and the open waits for events.
//   - A message goes to the oldest open wait for its name. Without a wait it stays unread, in order of
//       arrival.
//   - A wait since "ever" takes the oldest unread message at once. A wait since "now" only receives messages
//       that are delivered after the wait was recorded (semantics 18).
//   - A schema may refuse an event (received.3). The recorded verdict then names the wait that receives the event,
//       or the event that a wait takes.
//   - A cancelled wait never receives a message: it is removed before the next message is offered.

import type { KeptMessage } from "../provider/messages.ts";
import { LazyMap } from "../collections/lazy-map.ts";
import type { StandardSchema } from "../values/standard-schema.ts";

/** An event that was received. */
export interface UnreadMessage extends KeptMessage {
  /** The EventReceived; 0: not known. */
  readonly sequence: number;
  /** Whether a schema has refused it in this execution. */
  isRefused?: boolean;
}

export class Mailbox<Wait> {
  // `order` is the order of arrival across names: continueAsNew passes unread messages on in that order.
  readonly #unread = new LazyMap<string, { order: number; message: UnreadMessage }[]>();
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
  offer(message: UnreadMessage): Wait | null {
    const waits = this.#waits.get(message.name);
    const wait = waits?.shift();
    if (wait !== undefined) {
      if (waits?.length === 0) this.#waits.delete(message.name);
      return wait;
    }
    this.keep(message);
    return null;
  }

  /** Keeps the message unread, although waits may be open. */
  keep(message: UnreadMessage): void {
    const entry = { order: this.#arrivals++, message };
    const unread = this.#unread.get(message.name);
    if (unread === undefined) this.#unread.set(message.name, [entry]);
    else unread.push(entry);
    this.#unreadCount++;
  }

  /**
   * Removes and returns the oldest unread message of that name, or the message with that sequence number. 0: no
   * message.
   */
  take(name: string, sequence?: number): UnreadMessage | null {
    if (sequence === 0) return null;
    const unread = this.#unread.get(name);
    const entry =
      sequence === undefined ? unread?.shift() : unread?.splice(indexOf(unread, sequence), 1)[0];
    if (entry === undefined) return null;
    this.#unreadCount--;
    if (unread?.length === 0) this.#unread.delete(name);
    return entry.message;
  }

  /** Marks an unread message as refused by a schema. */
  refuse(name: string, sequence: number): void {
    const entry = this.#unread.get(name)?.find(({ message }) => message.sequence === sequence);
    if (entry !== undefined) entry.message.isRefused = true;
  }

  /** The open waits for that name, oldest first. */
  waits(name: string): readonly Wait[] {
    return this.#waits.get(name) ?? [];
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

  /** The unread messages of that name, oldest first. */
  unreadOf(name: string): readonly UnreadMessage[] {
    return (this.#unread.get(name) ?? []).map(({ message }) => message);
  }

  /** All unread messages in order of arrival. */
  unread(): readonly UnreadMessage[] {
    const entries = [...this.#unread.values()].flat();
    return entries.sort((a, b) => a.order - b.order).map((entry) => entry.message);
  }
}

/**
 * The index of the message with that sequence number; after the last message if there is none. After a
 * checkpoint it may be a message whose number is not known.
 */
function indexOf(unread: readonly { readonly message: UnreadMessage }[], sequence: number): number {
  const index = unread.findIndex(({ message }) => message.sequence === sequence);
  const unknown = index < 0 ? unread.findIndex(({ message }) => message.sequence === 0) : index;
  return unknown < 0 ? unread.length : unknown;
}

/** The schemas that have refused a message since its run is in memory: the next wait does not call them again. */
const refusers = new WeakMap<UnreadMessage, Set<StandardSchema>>();

export function hasRefused(schema: StandardSchema, message: UnreadMessage): boolean {
  return refusers.get(message)?.has(schema) === true;
}

export function rememberRefusal(schema: StandardSchema, message: UnreadMessage): void {
  const schemas = refusers.get(message);
  if (schemas === undefined) refusers.set(message, new Set([schema]));
  else schemas.add(schema);
}

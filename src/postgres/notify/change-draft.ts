// Change draft: collects what a transaction changes, for the notification after its commit.
//   - Nothing is published before the transaction has committed (notifications.1); the draft of a
//     rolled-back transaction is discarded.
//   - Listeners in this process get the changes in full. Other processes get, per due instance, its owner
//     or the target that a runtime must register to lease it, so a process that cannot lease it ignores the
//     message (interest.ts).

import type { Changes, Due } from "../../sql/script/scope.ts";
import type { DueEvent, News } from "../../core/provider/notifications.ts";

/**
 * The changes in a message to other processes. Names are short because PostgreSQL limits the size of a
 * message.
 */
export interface ChangePayload {
  /** Due instances: id, target, owner. */
  readonly d?: readonly (readonly [string, string, string | null])[];
  /** Ids of instances that changed, or that lost a task which a worker may be running. */
  readonly c?: readonly string[];
  /** Receivers of events that wait in the outbox (outbox.ts); entries as in `d`. */
  readonly a?: readonly (readonly [string, string, string | null])[];
  /** Ids of instances with new progress of an activity. */
  readonly p?: readonly string[];
  /** Ids of instances whose streams have changed. */
  readonly s?: readonly string[];
  /** Names of tasks that wait in the queue. */
  readonly t?: readonly string[];
}

export class ChangeDraft implements Changes {
  readonly #due = new Map<string, Due>();
  /** Only for listeners in this process. */
  readonly #dueEvents = new Map<string, DueEvent>();
  readonly #arrived = new Map<string, Due>();
  readonly #changed = new Set<string>();
  readonly #progressed = new Set<string>();
  readonly #streamed = new Set<string>();
  readonly #tasks = new Set<string>();
  readonly #withdrawn = new Set<string>();

  due(instanceId: string, due: Due): void {
    this.#due.set(instanceId, due);
  }

  /** The instance is due, and this event is its only due message. */
  dueEvent(instanceId: string, event: DueEvent): void {
    this.#dueEvents.set(instanceId, event);
  }

  /** An event for the instance waits in the outbox. */
  arrived(instanceId: string, due: Due): void {
    this.#arrived.set(instanceId, due);
  }

  changed(instanceId: string): void {
    this.#changed.add(instanceId);
  }

  progressed(instanceId: string): void {
    this.#progressed.add(instanceId);
  }

  /** Streams of the instance have new entries, were closed or settled. */
  streamed(instanceId: string): void {
    this.#streamed.add(instanceId);
  }

  /** A task of that name waits in the queue. */
  queued(name: string): void {
    this.#tasks.add(name);
  }

  /**
   * A task of the instance was deleted while a worker may be running it. Only other processes are notified.
   */
  withdrawn(instanceId: string): void {
    this.#withdrawn.add(instanceId);
  }

  get isEmpty(): boolean {
    const ids = this.#due.size + this.#changed.size + this.#progressed.size + this.#withdrawn.size;
    return ids + this.#streamed.size + this.#arrived.size + this.#tasks.size === 0;
  }

  /** Adds the changes of another draft. */
  join(other: ChangeDraft): void {
    for (const [id, due] of other.#due) this.#due.set(id, due);
    for (const [id, due] of other.#arrived) this.#arrived.set(id, due);
    for (const id of other.#changed) this.#changed.add(id);
    for (const id of other.#progressed) this.#progressed.add(id);
    for (const id of other.#streamed) this.#streamed.add(id);
    for (const name of other.#tasks) this.#tasks.add(name);
    for (const id of other.#withdrawn) this.#withdrawn.add(id);
  }

  toNews(): News {
    return {
      due: [...this.#due.keys()],
      ...(this.#dueEvents.size === 0 ? {} : { dueEvents: this.#dueEvents }),
      changed: [...this.#changed],
      ...(this.#progressed.size === 0 ? {} : { progressed: [...this.#progressed] }),
      ...(this.#streamed.size === 0 ? {} : { streamed: [...this.#streamed] }),
      tasks: this.#tasks.size > 0,
      elsewhere: false,
    };
  }

  /** `isHere`: whether a runtime of this process has that id. Its instances concern no other process. */
  toPayload(isHere: (owner: string) => boolean): ChangePayload {
    const due = addressed(this.#due).filter(([, , owner]) => owner === null || !isHere(owner));
    const arrived = addressed(this.#arrived);
    const changed = [...this.#changed.union(this.#withdrawn)];
    return {
      ...(due.length === 0 ? {} : { d: due }),
      ...(arrived.length === 0 ? {} : { a: arrived }),
      ...(changed.length === 0 ? {} : { c: changed }),
      ...(this.#progressed.size === 0 ? {} : { p: [...this.#progressed] }),
      ...(this.#streamed.size === 0 ? {} : { s: [...this.#streamed] }),
      ...(this.#tasks.size === 0 ? {} : { t: [...this.#tasks] }),
    };
  }
}

function addressed(due: ReadonlyMap<string, Due>): (readonly [string, string, string | null])[] {
  return [...due].map(([id, { target, owner }]) => [id, target, owner] as const);
}

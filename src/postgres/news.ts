// News draft: what a transaction makes worth looking at, gathered while it runs, and for whom.
//   D1. Nothing leaves before the transaction has committed (W1); a rolled-back draft is thrown away.
//   D2. Listeners of this process hear it as it is. Others hear by whom an instance is held or what must be
//       registered to take it, so that who cannot take it need not look (addresses.ts).

import type { News } from "../core/provider/notifications.ts";

/** Who could do something about an instance that is due: its owner; if it has none, who registers the target. */
export interface Due {
  readonly owner: string | null;
  readonly target: string;
}
/** The names of news in a message to other processes, short because a message has few bytes. */
export interface Told {
  /** Id, target, owner. */
  readonly d?: readonly (readonly [string, string, string | null])[];
  /** Ids of what changed, or lost a task that somebody may be running. */
  readonly c?: readonly string[];
  /** As `d`: whose arrivals are to be brought into their inboxes (arrivals.ts). */
  readonly a?: readonly (readonly [string, string, string | null])[];
  readonly p?: readonly string[];
  /** Names of tasks that wait in the queue. */
  readonly t?: readonly string[];
}

/** In the place of a task's name: tasks of any name may be waiting. */
export const ANY_TASK = "";

export class NewsDraft {
  readonly #due = new Map<string, Due>();
  readonly #arrived = new Map<string, Due>();
  readonly #changed = new Set<string>();
  readonly #progressed = new Set<string>();
  readonly #tasks = new Set<string>();
  readonly #withdrawn = new Set<string>();

  due(instanceId: string, due: Due): void {
    this.#due.set(instanceId, due);
  }

  /** Something waits to be brought into its inbox. */
  arrived(instanceId: string, due: Due): void {
    this.#arrived.set(instanceId, due);
  }

  changed(instanceId: string): void {
    this.#changed.add(instanceId);
  }

  progressed(instanceId: string): void {
    this.#progressed.add(instanceId);
  }

  /** A task of that name waits in the queue. */
  queued(name: string): void {
    this.#tasks.add(name);
  }

  /** A task of that instance was taken away that somebody may be running. Those in other processes hear of it. */
  withdrawn(instanceId: string): void {
    this.#withdrawn.add(instanceId);
  }

  get isEmpty(): boolean {
    const ids = this.#due.size + this.#changed.size + this.#progressed.size + this.#withdrawn.size;
    return ids + this.#arrived.size + this.#tasks.size === 0;
  }

  /** Takes over what another one says. */
  join(other: NewsDraft): void {
    for (const [id, due] of other.#due) this.#due.set(id, due);
    for (const [id, due] of other.#arrived) this.#arrived.set(id, due);
    for (const id of other.#changed) this.#changed.add(id);
    for (const id of other.#progressed) this.#progressed.add(id);
    for (const name of other.#tasks) this.#tasks.add(name);
    for (const id of other.#withdrawn) this.#withdrawn.add(id);
  }

  toNews(): News {
    const news = {
      due: [...this.#due.keys()],
      changed: [...this.#changed],
      tasks: this.#tasks.size > 0,
      elsewhere: false,
    };
    return this.#progressed.size === 0 ? news : { ...news, progressed: [...this.#progressed] };
  }

  toTold(): Told {
    const due = addressed(this.#due);
    const arrived = addressed(this.#arrived);
    const changed = [...this.#changed.union(this.#withdrawn)];
    return {
      ...(due.length === 0 ? {} : { d: due }),
      ...(arrived.length === 0 ? {} : { a: arrived }),
      ...(changed.length === 0 ? {} : { c: changed }),
      ...(this.#progressed.size === 0 ? {} : { p: [...this.#progressed] }),
      ...(this.#tasks.size === 0 ? {} : { t: [...this.#tasks] }),
    };
  }
}

function addressed(due: ReadonlyMap<string, Due>): (readonly [string, string, string | null])[] {
  return [...due].map(([id, { target, owner }]) => [id, target, owner] as const);
}

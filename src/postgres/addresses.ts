// Addresses: what of other processes' news concerns this one.
//   A1. A runtime here is concerned by what it holds, and by what nobody holds and it could take. What it could take
//       is known from what it asks the store for.
//   A2. Where in doubt, it is: who has asked for nothing yet may take anything.

import type { News } from "../core/provider/notifications.ts";
import { ANY_TASK, type Told } from "./news.ts";

interface Served {
  readonly targets: ReadonlySet<string> | null;
  readonly names: ReadonlySet<string> | null;
}

export class Addresses {
  readonly #owners = new Map<string, Served>();

  /** That runtime is here, and asks for these. */
  serves(
    owner: string,
    asked: { readonly targets?: readonly string[]; readonly names?: readonly string[] },
  ): void {
    const known = this.#owners.get(owner);
    const targets = asked.targets === undefined ? (known?.targets ?? null) : new Set(asked.targets);
    const names = asked.names === undefined ? (known?.names ?? null) : new Set(asked.names);
    this.#owners.set(owner, { targets, names });
  }

  leaves(owner: string): void {
    this.#owners.delete(owner);
  }

  /** Null: none of it. */
  read({ d = [], c = [], p = [], t = [] }: Told): News | null {
    const due = d.filter(([, target, owner]) => this.#mayTake(target, owner)).map(([id]) => id);
    const tasks = t.some((name) => this.#mayRun(name));
    if (due.length + c.length + p.length === 0 && !tasks) return null;
    const news = { due, changed: c, tasks, elsewhere: false };
    return p.length === 0 ? news : { ...news, progressed: p };
  }

  /** Whether what has arrived is for a runtime here to take. */
  concerns({ a = [] }: Told): boolean {
    return a.some(([, target, owner]) => this.#mayTake(target, owner));
  }

  #mayTake(target: string, owner: string | null): boolean {
    if (owner !== null) return this.#owners.has(owner);
    return this.#owners.values().some(({ targets }) => targets === null || targets.has(target));
  }

  #mayRun(name: string): boolean {
    const isAny = name === ANY_TASK;
    return this.#owners.values().some(({ names }) => isAny || names === null || names.has(name));
  }
}

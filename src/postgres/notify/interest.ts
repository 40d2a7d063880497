// Interest: which changes of other processes concern this process.
//   - A runtime is concerned by an instance that it holds, and by a free instance that it could lease. The
//     requests that it sends to the store show what it could lease.
//   - A runtime that has sent no request yet may lease anything.

import type { News } from "../../core/provider/notifications.ts";
import { ANY_TASK } from "../../sql/script/scope.ts";
import type { ChangePayload } from "./change-draft.ts";

interface Served {
  readonly targets: ReadonlySet<string> | null;
  readonly names: ReadonlySet<string> | null;
}

export class Interest {
  readonly #owners = new Map<string, Served>();

  /** Records what a runtime of this process asks for. */
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

  /** Whether a runtime of this process has that id. */
  isHere(owner: string): boolean {
    return this.#owners.has(owner);
  }

  /** The part that concerns this process; null: nothing does. */
  read({ d = [], c = [], p = [], s = [], t = [] }: ChangePayload): News | null {
    const due = d.filter(([, target, owner]) => this.#mayTake(target, owner)).map(([id]) => id);
    const tasks = t.some((name) => this.#mayRun(name));
    if (due.length + c.length + p.length + s.length === 0 && !tasks) return null;
    return {
      due,
      changed: c,
      ...(p.length === 0 ? {} : { progressed: p }),
      ...(s.length === 0 ? {} : { streamed: s }),
      tasks,
      elsewhere: false,
    };
  }

  /** Whether an event waits in the outbox for an instance that a runtime here can lease. */
  concerns({ a = [] }: ChangePayload): boolean {
    return a.some(([, target, owner]) => this.#mayTake(target, owner));
  }

  #mayTake(target: string, owner: string | null): boolean {
    if (owner !== null) return this.isHere(owner);
    return this.#owners.values().some(({ targets }) => targets === null || targets.has(target));
  }

  #mayRun(name: string): boolean {
    const isAny = name === ANY_TASK;
    return this.#owners.values().some(({ names }) => isAny || names === null || names.has(name));
  }
}

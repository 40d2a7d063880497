// Later starts: lets the runtimes of a test environment know of starts in the future that its client writes.
//   - Elsewhere a runtime finds such a start when it polls, within a second. Here polls are rare (test-process.2).
//   - The runtimes are notified when the clock is about to move. Then they ask the store what comes due next.

import type { CommitItem } from "../../core/provider/commit.ts";
import type { NewsListener } from "../../core/provider/notifications.ts";
import type { Provider } from "../../core/provider/provider.ts";
import type { FaultPlan } from "../faults/fault-plan.ts";

const NEWS = { due: [""], changed: [], tasks: false, elsewhere: false } as const;

export class LaterStarts {
  /** The store, for the runtimes. */
  readonly store: Provider;
  readonly #listeners = new Set<NewsListener>();
  #areUnknown = false;

  constructor(store: Provider) {
    this.store = new Proxy(store, {
      get: (target, name) => {
        if (name === "subscribe")
          return (listener: NewsListener) => this.#subscribe(target, listener);
        const member: unknown = Reflect.get(target, name, target);
        return typeof member === "function" ? member.bind(target) : member;
      },
    });
  }

  /** Observes the calls of the client. It plans no faults. */
  readonly plan: FaultPlan = {
    call: ({ method, args }) => {
      if (method === "commit" && args[0].some(isLater)) this.#areUnknown = true;
      return undefined;
    },
  };

  announce(): void {
    if (!this.#areUnknown) return;
    this.#areUnknown = false;
    for (const listener of this.#listeners) listener(NEWS);
  }

  #subscribe(store: Provider, listener: NewsListener): () => void {
    const stop = store.subscribe(listener);
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
      stop();
    };
  }
}

/** Whether the item writes a delayed start, or a keyed start, which may become due later. */
function isLater(item: CommitItem): boolean {
  if (item.kind === "enqueue") return true;
  if (item.kind === "enqueueMany") return item.starts.some(isLater);
  return item.kind === "start" && (item.delayMs ?? item.dueAt) !== undefined;
}

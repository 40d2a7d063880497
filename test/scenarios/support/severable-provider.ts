// A provider that simulates the death of its process by cutting the connection to the store.
//   - Every call goes to the store unchanged until the scenario requests a fault.
//   - After `sever`, calls never return and notifications never arrive: the process is dead.
//   - `dieInNextCommit` severs the connection during a commit, before or after the store writes it.
//   - `failNext` throws STORE_UNAVAILABLE, before or after the store executes the call.
//   - The provider records every instance started through it, so that the final checks cover all instances.

import { PerdureError, type Provider } from "../../../src/index.ts";
import type { Dispatch } from "../../../src/core/provider/asks.ts";

type Method = (...parameters: readonly unknown[]) => unknown;
type Trouble = { readonly when: "before" | "after"; left: number };

export class SeverableProvider {
  /** The provider to use instead of the store. */
  readonly provider: Provider;
  readonly #started: Set<string>;
  readonly #troubles = new Map<string, Trouble>();
  #severed = false;
  #diesInCommit: "before" | "after" | null = null;

  constructor(store: Provider, started: Set<string>) {
    this.#started = started;
    this.provider = new Proxy(store, {
      get: (target, name) => this.#member(target, name),
      has: (target, name) => name in target,
    });
  }

  get isSevered(): boolean {
    return this.#severed;
  }

  sever(): void {
    this.#severed = true;
  }

  /** "before": the next commit is not written. "after": it is written, but the process gets no reply. */
  dieInNextCommit(when: "before" | "after"): void {
    this.#diesInCommit = when;
  }

  failNext(method: keyof Provider, trouble: { when: "before" | "after"; times?: number }): void {
    this.#troubles.set(method, { when: trouble.when, left: trouble.times ?? 1 });
  }

  #member(store: Provider, name: string | symbol): unknown {
    const member: unknown = Reflect.get(store, name, store);
    if (typeof member !== "function") return member;
    const method = (member as Method).bind(store);
    if (name === "subscribe") return this.#subscribe(method);
    if (name === "now" || name === "close") return method;
    if (name === "storeId") return async () => "store of the scenario"; // equal in all modes
    return (...parameters: readonly unknown[]) => this.#call(String(name), method, parameters);
  }

  async #call(name: string, method: Method, parameters: readonly unknown[]): Promise<unknown> {
    if (this.#severed) return never();
    if (name === "commit") this.#note(parameters[0]);
    const trouble = this.#troubles.get(name);
    const strikes = trouble !== undefined && trouble.left-- > 0;
    if (strikes && trouble.when === "before") throw unavailable(name);
    if (name === "commit" && this.#diesInCommit !== null) this.#severed = true;
    if (name === "commit" && this.#diesInCommit === "before") return never();
    const result = await method(...parameters);
    if (strikes) throw unavailable(name);
    return this.#severed ? never() : result;
  }

  #subscribe(method: Method): Method {
    return (listener) =>
      method((news: unknown) => {
        if (!this.#severed) (listener as (news: unknown) => void)(news);
      });
  }

  #note(items: unknown): void {
    for (const item of items as Parameters<Provider["commit"]>[0]) {
      if (item.kind === "start" || item.kind === "ask") this.#dispatched(item);
      else if (item.kind === "enqueue") this.#started.add(item.start.id);
      else if (item.kind === "enqueueMany") this.#note(item.starts);
      const turn = item.kind === "start" ? item.firstTurn : item.kind === "turn" ? item : undefined;
      for (const { id } of turn?.starts ?? []) this.#started.add(id);
      for (const dispatch of turn?.dispatched ?? []) this.#dispatched(dispatch.item);
    }
  }

  #dispatched(item: Dispatch["item"]): void {
    if (item.kind === "start") this.#started.add(item.id);
    else if (item.kind === "ask" && item.start !== null) this.#started.add(item.id);
  }
}

/** Returns a new promise each time, so that the garbage collector can free the waiting caller with it. */
function never(): Promise<never> {
  return new Promise(() => undefined);
}

function unavailable(method: string): PerdureError {
  return new PerdureError("STORE_UNAVAILABLE", `${method}: fault requested by the scenario`);
}

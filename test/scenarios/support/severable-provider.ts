// A provider that can be cut off: what a process sees of its store until it dies.
//   SP1. Every call goes to the store unchanged until something was asked for here.
//   SP2. After `sever` no call returns and no news arrives, for ever: that is what dying looks like from inside.
//   SP3. `dieInNextCommit` dies in the middle of a commit, before or after it is written; `failNext` throws what
//        a store in trouble throws, before or after the call was carried out.
//   SP4. Every instance that was started through here is noted, so that none escapes the checks at the end.

import { PerdureError, type Provider } from "../../../src/index.ts";

type Method = (...parameters: readonly unknown[]) => unknown;
type Trouble = { readonly when: "before" | "after"; left: number };

export class SeverableProvider {
  /** To be used in place of the store. */
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

  /** Before: the next commit is not written. After: it is, and nobody here hears of it. */
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
      if (item.kind === "start") this.#started.add(item.id);
      if (item.kind === "turn") for (const { id } of item.starts) this.#started.add(id);
    }
  }
}

/** A new one each time: whoever waits for it must be forgotten with it. */
function never(): Promise<never> {
  return new Promise(() => undefined);
}

function unavailable(method: string): PerdureError {
  return new PerdureError("STORE_UNAVAILABLE", `${method}: the scenario asked for trouble`);
}

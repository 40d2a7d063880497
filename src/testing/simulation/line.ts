// A line: what one process has in place of a store. It looks like a provider and leads over the network.
//   LI1. Severed, no call is answered and no news arrives, for ever: that is what dying looks like from inside.
//   LI2. Buried, every call fails at once, so that what is left of a dead process can be taken down.

import type { Environment } from "../../core/environment.ts";
import type { News, NewsListener } from "../../core/provider/notifications.ts";
import type { Provider } from "../../core/provider/provider.ts";
import { unavailable, type Method } from "./calls.ts";
import type { Network } from "./network.ts";
import type { SimulatedStore } from "./simulated-store.ts";
import type { Loop } from "./timeline.ts";

export interface LineOptions {
  readonly name: string;
  readonly loop: Loop;
  readonly environment: Environment;
  readonly store: SimulatedStore;
  readonly network: Network;
}

export class Line {
  readonly name: string;
  readonly loop: Loop;
  /** To be used in place of the store. */
  readonly provider: Provider;
  /** By how much this process's copy of the store's clock is wrong. */
  clockErrorMs = 0;
  /** Until then whatever it sends, or is sent, is held up; by the timeline. */
  cutUntilMs = 0;
  readonly #o: LineOptions;
  readonly #listeners = new Set<NewsListener>();
  #state: "open" | "severed" | "buried" = "open";

  constructor(options: LineOptions) {
    this.#o = options;
    this.name = options.name;
    this.loop = options.loop;
    this.provider = new Proxy(options.store.provider, {
      get: (target, name) => this.#member(target, name),
    });
    options.network.attach(this);
  }

  get isSevered(): boolean {
    return this.#state !== "open";
  }
  get isListening(): boolean {
    return this.#state === "open" && this.#listeners.size > 0;
  }

  sever(): void {
    this.#state = "severed";
    this.#o.network.detach(this);
  }
  bury(): void {
    this.#state = "buried";
    this.#listeners.clear();
  }

  tell(news: News): void {
    if (this.#state !== "open") return;
    for (const listener of [...this.#listeners]) listener(news);
  }

  #member(store: Provider, name: string | symbol): unknown {
    const { environment, network } = this.#o;
    if (name === "environment") return environment;
    if (name === "isRemote") return true;
    if (name === "now") return () => this.#o.store.now() + this.clockErrorMs;
    if (name === "subscribe") return (listener: NewsListener) => this.#subscribe(listener);
    const member: unknown = Reflect.get(store, name, store);
    if (typeof member !== "function") return member;
    const method = name as Method;
    return (...args: readonly unknown[]): Promise<unknown> => {
      if (this.#state === "severed") return NEVER;
      if (this.#state === "buried") return Promise.reject(unavailable(method, "its process died"));
      return network.ask(this, method, method === "registerRuntime" ? anonymous(args) : args);
    };
  }

  #subscribe(listener: NewsListener): () => void {
    const entry: NewsListener = (news) => listener(news); // the same function may be given twice
    this.#listeners.add(entry);
    return () => void this.#listeners.delete(entry);
  }
}

/** All processes here are one to the host, which would take none of them for dead. */
function anonymous(args: readonly unknown[]): readonly unknown[] {
  const [registration] = args as Parameters<Provider["registerRuntime"]>;
  return [{ ...registration, process: null, hostname: "simulated" }];
}

const NEVER = new Promise<never>(() => undefined);

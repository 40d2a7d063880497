// Line: the connection of one simulated process to the store. It is a provider whose calls go over the
// network.
//   - After a crash (`severed`) no call returns and no notification arrives, forever.
//   - After the cleanup has begun (`buried`) every call fails at once, so that the dead process can be shut
//        down.

import type { Environment } from "../../core/time/environment.ts";
import type { News, NewsListener } from "../../core/provider/notifications.ts";
import type { Provider } from "../../core/provider/provider.ts";
import { unavailable, type Method } from "./calls.ts";
import type { Network } from "./world/network.ts";
import type { SimulatedStore } from "./world/simulated-store.ts";
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
  /** The provider that the process uses in place of the store. */
  readonly provider: Provider;
  /** The error of this process's copy of the store's clock, in milliseconds. */
  clockErrorMs = 0;
  /**
   * The partition ends at this time of the timeline. Until then calls, replies and notifications are held
   * back.
   */
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

  deliver(news: News): void {
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
      if (this.#state === "buried")
        return Promise.reject(unavailable(method, "its process has crashed"));
      return network.ask(this, method, method === "registerRuntime" ? anonymous(args) : args);
    };
  }

  #subscribe(listener: NewsListener): () => void {
    const entry: NewsListener = (news) => listener(news); // a function may subscribe twice
    this.#listeners.add(entry);
    return () => void this.#listeners.delete(entry);
  }
}

/**
 * Removes the host's process id: all simulated processes share it, so it cannot show that one of them is
 * dead.
 */
function anonymous(args: readonly unknown[]): readonly unknown[] {
  const [registration] = args as Parameters<Provider["registerRuntime"]>;
  return [{ ...registration, process: null, hostname: "simulated" }];
}

const NEVER = new Promise<never>(() => undefined);

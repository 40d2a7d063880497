// The store as an activity thread sees it: every call is sent to the provider of the runtime.
//   - The process of the runtime executes the calls. There is no second connection, commits join the same
//     groups, and starts can be leased at once. So it works for every provider, also one in memory.
//   - Time and randomness in the thread are those of the machine. The store's clock is the runtime's copy
//     of it, sent with each attempt.
//   - Notifications are sent only while the thread has a subscriber.

import { defaultCodec } from "../../core/values/codec.ts";
import type { Environment } from "../../core/time/environment.ts";
import { fromFailure, type Failure } from "../../core/errors/failure.ts";
import type { CommitItem } from "../../core/provider/commit.ts";
import type { News, NewsListener } from "../../core/provider/notifications.ts";
import type { Provider } from "../../core/provider/provider.ts";
import type { FromThread, ThreadData, ToThread } from "./thread-messages.ts";

type Answer = Extract<ToThread, { kind: "answer" | "refusal" }>;

export interface ThreadStoreOptions {
  readonly store: ThreadData["store"];
  readonly environment: Environment;
  readonly post: (message: FromThread) => void;
}

export class ThreadStore {
  readonly provider: Provider;
  readonly #deps: ThreadStoreOptions;
  readonly #calls = new Map<number, PromiseWithResolvers<unknown>>();
  readonly #listeners = new Set<NewsListener>();
  #lastCall = 0;
  #skewMs = 0;

  constructor(options: ThreadStoreOptions) {
    this.#deps = options;
    this.provider = this.#createProvider();
  }

  setStoreTime(storeNow: number): void {
    this.#skewMs = storeNow - this.#deps.environment.monotonic();
  }

  answer(message: Answer): void {
    const call = this.#calls.get(message.id);
    this.#calls.delete(message.id);
    if (message.kind === "answer") call?.resolve(defaultCodec.decode(message.value));
    else call?.reject(fromFailure(JSON.parse(message.failure) as Failure)); // written by the host
  }

  notify(text: string): void {
    const changes = JSON.parse(text) as News; // written by the host
    for (const listener of [...this.#listeners]) listener(changes);
    this.#deps.post({ kind: "handled" });
  }

  #createProvider(): Provider {
    const { store, environment } = this.#deps;
    const own = {
      ...store,
      environment,
      now: () => environment.monotonic() + this.#skewMs,
      subscribe: (listener: NewsListener) => this.#subscribe(listener),
      commit: (items: readonly CommitItem[]) => this.#call("commit", [items]), // without the callback
      close: () => Promise.resolve(), // the runtime's process owns the store
      startLivenessThread: undefined,
      then: undefined, // so that an accidental await does not treat the proxy as a promise
    };
    return new Proxy(own, {
      get: (target, name) => {
        if (name in target || typeof name === "symbol") return Reflect.get(target, name) as unknown;
        return (...parameters: readonly unknown[]) => this.#call(name, parameters);
      },
    }) as unknown as Provider; // every other member is a method of the runtime's provider
  }

  #call(method: string, parameters: readonly unknown[]): Promise<unknown> {
    const id = ++this.#lastCall;
    const call = Promise.withResolvers<unknown>();
    this.#calls.set(id, call);
    const text = defaultCodec.encode(parameters);
    this.#deps.post({ kind: "call", id, method, parameters: text });
    return call.promise;
  }

  #subscribe(listener: NewsListener): () => void {
    const entry: NewsListener = (changes) => listener(changes); // the same function may subscribe twice
    if (this.#listeners.size === 0) this.#deps.post({ kind: "listen", on: true });
    this.#listeners.add(entry);
    return () => {
      if (!this.#listeners.delete(entry) || this.#listeners.size > 0) return;
      this.#deps.post({ kind: "listen", on: false });
    };
  }
}

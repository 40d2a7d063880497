// The store, as an activity thread sees it: every call travels to the runtime's own provider.
//   TS1. What the thread asks for is done by the runtime's process: no second connection, the same group commits, and
//        a start is born leased there. So it works for every provider, also one in memory.
//   TS2. Time and chance of the thread are the machine's own; the store's clock is the runtime's copy, told with
//        each attempt.
//   TS3. News is heard only while somebody listens.

import { defaultCodec } from "../core/codec.ts";
import type { Environment } from "../core/environment.ts";
import { fromFailure, type Failure } from "../core/failure.ts";
import type { News, NewsListener } from "../core/provider/notifications.ts";
import type { Provider } from "../core/provider/provider.ts";
import type { FromThread, ThreadData, ToThread } from "./thread-messages.ts";

type Answer = Extract<ToThread, { kind: "answer" | "refusal" }>;

export interface ThreadStoreOptions {
  readonly store: ThreadData["store"];
  readonly environment: Environment;
  readonly post: (message: FromThread) => void;
}

export class ThreadStore {
  readonly provider: Provider;
  readonly #o: ThreadStoreOptions;
  readonly #calls = new Map<number, PromiseWithResolvers<unknown>>();
  readonly #listeners = new Set<NewsListener>();
  #lastCall = 0;
  #skewMs = 0;

  constructor(options: ThreadStoreOptions) {
    this.#o = options;
    this.provider = this.#line();
  }

  tellTime(storeNow: number): void {
    this.#skewMs = storeNow - this.#o.environment.monotonic();
  }

  answer(message: Answer): void {
    const call = this.#calls.get(message.id);
    this.#calls.delete(message.id);
    if (message.kind === "answer") call?.resolve(defaultCodec.decode(message.value));
    else call?.reject(fromFailure(JSON.parse(message.failure) as Failure)); // written by the host
  }

  hear(text: string): void {
    const news = JSON.parse(text) as News; // written by the host
    for (const listener of [...this.#listeners]) listener(news);
    this.#o.post({ kind: "heard" });
  }

  #line(): Provider {
    const { store, environment } = this.#o;
    const own = {
      ...store,
      environment,
      now: () => environment.monotonic() + this.#skewMs,
      subscribe: (listener: NewsListener) => this.#subscribe(listener),
      close: () => Promise.resolve(), // the store is the runtime's to close
      startHeart: undefined,
      then: undefined, // it may be awaited by mistake; it is no promise
    };
    return new Proxy(own, {
      get: (target, name) => {
        if (name in target || typeof name === "symbol") return Reflect.get(target, name) as unknown;
        return (...parameters: readonly unknown[]) => this.#call(name, parameters);
      },
    }) as unknown as Provider; // what is not the thread's own is a method of the runtime's provider
  }

  #call(method: string, parameters: readonly unknown[]): Promise<unknown> {
    const id = ++this.#lastCall;
    const call = Promise.withResolvers<unknown>();
    this.#calls.set(id, call);
    const text = defaultCodec.encode(parameters);
    this.#o.post({ kind: "call", id, method, parameters: text });
    return call.promise;
  }

  #subscribe(listener: NewsListener): () => void {
    const entry: NewsListener = (news) => listener(news); // the same function may be given twice
    if (this.#listeners.size === 0) this.#o.post({ kind: "listen", on: true });
    this.#listeners.add(entry);
    return () => {
      if (!this.#listeners.delete(entry) || this.#listeners.size > 0) return;
      this.#o.post({ kind: "listen", on: false });
    };
  }
}

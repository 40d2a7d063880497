// An instance's key-values, from the outside: as of its last commit, also after its end.

import { parseDuration, type Duration } from "../core/duration.ts";
import { PerdureError } from "../core/errors.ts";
import { Changes } from "./changes.ts";
import { notFound, type Store } from "./store.ts";

export class HandleKeyValues {
  readonly #store: Store;
  readonly #id: string;

  constructor(store: Store, id: string) {
    this.#store = store;
    this.#id = id;
  }

  /** Undefined: there is no such key. */
  async get<T = unknown>(key: string): Promise<T | undefined> {
    const record = await this.#store.read((provider) => provider.readKeyValue(this.#id, key));
    // What a key holds is the caller's to know.
    return record === null ? undefined : (this.#store.codec.decode(record.value) as T);
  }

  /** Sorted by key. */
  async entries<T = unknown>(): Promise<readonly (readonly [key: string, value: T])[]> {
    const records = await this.#store.read((provider) => provider.readKeyValues(this.#id));
    return records.map(({ key, value }) => [key, this.#store.codec.decode(value) as T] as const);
  }

  /** Waits until the key is there. */
  async waitFor<T = unknown>(key: string, options: { timeout?: Duration } = {}): Promise<T> {
    const { provider } = this.#store;
    const { environment } = provider;
    const timeoutMs =
      options.timeout === undefined ? Infinity : parseDuration(options.timeout, "timeout");
    const until = environment.monotonic() + timeoutMs;
    for (;;) {
      const { promise: woken, resolve } = Promise.withResolvers<void>();
      const unwatch = Changes.of(provider).watch(this.#id, resolve);
      const leftMs = until - environment.monotonic();
      const timer = leftMs === Infinity ? null : environment.setTimer(leftMs, resolve);
      try {
        const record = await this.#store.read((store) => store.readKeyValue(this.#id, key), until);
        if (record !== null) return this.#store.codec.decode(record.value) as T;
        if ((await this.#store.read((store) => store.readInstance(this.#id), until)) === null) {
          throw notFound(this.#id);
        }
        if (environment.monotonic() >= until) {
          const message = `Instance "${this.#id}" did not set the key "${key}" in time.`;
          throw new PerdureError("TIMEOUT", message);
        }
        await woken;
      } finally {
        unwatch();
        timer?.cancel();
      }
    }
  }
}

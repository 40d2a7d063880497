// The key-values of an instance, read by a client: as of the instance's last commit, also after its end.

import { parseKey } from "../core/ids/ids.ts";
import type { Store } from "./store.ts";
import { checkWait, waitUntil, type WaitOptions } from "./waiting.ts";

export class HandleKeyValues {
  readonly #store: Store;
  readonly #id: string;

  constructor(store: Store, id: string) {
    this.#store = store;
    this.#id = id;
  }

  /** Undefined: the key does not exist. */
  async get<T = unknown>(key: string): Promise<T | undefined> {
    parseKey(key);
    const record = await this.#store.read((provider) => provider.readKeyValue(this.#id, key));
    // The caller chooses the type: the store does not know it.
    return record === null ? undefined : (this.#store.codec.decode(record.value) as T);
  }

  /** Sorted by key. */
  async entries<T = unknown>(): Promise<readonly (readonly [key: string, value: T])[]> {
    const records = await this.#store.read((provider) => provider.readKeyValues(this.#id));
    return records.map(({ key, value }) => [key, this.#store.codec.decode(value) as T] as const);
  }

  /** Waits until the key exists. */
  async waitFor<T = unknown>(key: string, options: WaitOptions = {}): Promise<T> {
    parseKey(key);
    checkWait(options, "handle.kv.waitFor");
    const look = async (until: number): Promise<{ readonly value: T } | null> => {
      const record = await this.#store.read((store) => store.readKeyValue(this.#id, key), until);
      if (record !== null) return { value: this.#store.codec.decode(record.value) as T };
      await this.#store.record(this.#id, until);
      return null;
    };
    const what = `Instance "${this.#id}" did not set the key "${key}"`;
    return (await waitUntil(this.#store, this.#id, options, look, { what })).value;
  }
}

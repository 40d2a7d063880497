// Read batcher: combines many small reads into few large ones.
//   - One read is in flight at a time. Keys requested meanwhile are read together by the next. So a single
//     caller does not wait, and a thousand callers cost a few round trips.
//   - A read that began before a call never answers it: its data could be older than what the caller knows.

const KEYS_MAX = 500;

export class ReadBatcher<Key, Value> {
  readonly #load: (keys: readonly Key[]) => Promise<ReadonlyMap<Key, Value>>;
  readonly #missing: Value;
  readonly #waiting = new Map<Key, PromiseWithResolvers<Value>>();
  #reading = false;

  /** `missing` is the value of a key that was not found. */
  constructor(load: (keys: readonly Key[]) => Promise<ReadonlyMap<Key, Value>>, missing: Value) {
    this.#load = load;
    this.#missing = missing;
  }

  get(key: Key): Promise<Value> {
    const waiting = this.#waiting.get(key) ?? Promise.withResolvers<Value>();
    this.#waiting.set(key, waiting);
    if (!this.#reading) {
      this.#reading = true;
      queueMicrotask(() => void this.#readAll()); // together with keys requested in the same tick
    }
    return waiting.promise;
  }

  async #readAll(): Promise<void> {
    while (this.#waiting.size > 0) {
      const batch = [...this.#waiting].slice(0, KEYS_MAX);
      for (const [key] of batch) this.#waiting.delete(key);
      try {
        const found = await this.#load(batch.map(([key]) => key));
        for (const [key, { resolve }] of batch) resolve(found.get(key) ?? this.#missing);
      } catch (error) {
        for (const [, { reject }] of batch) reject(error);
      }
    }
    this.#reading = false;
  }
}

// Read batcher: combines many small reads into few large ones.
//   - One read is in flight at a time. Keys requested meanwhile are read together by the next. So a single
//     caller does not wait, and a thousand callers cost a few round trips.
//   - A read that began before a call never answers it: its data could be older than what the caller knows.

interface Waiter<Value> {
  readonly resolve: (value: Value) => void;
  readonly reject: (reason: unknown) => void;
}

const KEYS_MAX = 500;

export class ReadBatcher<Key, Value> {
  readonly #load: (keys: readonly Key[]) => Promise<ReadonlyMap<Key, Value>>;
  readonly #missing: Value;
  #waiting = new Map<Key, Waiter<Value>[]>();
  #reading = false;

  /** `missing` is the value of a key that was not found. */
  constructor(load: (keys: readonly Key[]) => Promise<ReadonlyMap<Key, Value>>, missing: Value) {
    this.#load = load;
    this.#missing = missing;
  }

  get(key: Key): Promise<Value> {
    return new Promise((resolve, reject) => {
      const waiters = this.#waiting.get(key);
      if (waiters === undefined) this.#waiting.set(key, [{ resolve, reject }]);
      else waiters.push({ resolve, reject });
      if (this.#reading) return;
      this.#reading = true;
      queueMicrotask(() => void this.#readAll()); // together with keys requested in the same tick
    });
  }

  async #readAll(): Promise<void> {
    while (this.#waiting.size > 0) {
      const batch = [...this.#waiting].slice(0, KEYS_MAX);
      for (const [key] of batch) this.#waiting.delete(key);
      try {
        const found = await this.#load(batch.map(([key]) => key));
        for (const [key, waiters] of batch) {
          const value = found.get(key) ?? this.#missing;
          for (const { resolve } of waiters) resolve(value);
        }
      } catch (error) {
        for (const [, waiters] of batch) for (const { reject } of waiters) reject(error);
      }
    }
    this.#reading = false;
  }
}

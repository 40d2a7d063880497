// Gathering: many small reads as few large ones.
//   GA1. One read of a kind is under way; what is asked for meanwhile is read together by the next. So a lone caller
//        waits for nobody, and a thousand cost a handful of round trips.
//   GA2. A read that began before a call was made never answers it: it could be older than what the caller knows.

interface Asked<Value> {
  readonly resolve: (value: Value) => void;
  readonly reject: (reason: unknown) => void;
}

const KEYS_MAX = 500;

export class Gathering<Key, Value> {
  readonly #load: (keys: readonly Key[]) => Promise<ReadonlyMap<Key, Value>>;
  readonly #none: Value;
  #waiting = new Map<Key, Asked<Value>[]>();
  #reading = false;

  /** `none` answers for a key that was not found. */
  constructor(load: (keys: readonly Key[]) => Promise<ReadonlyMap<Key, Value>>, none: Value) {
    this.#load = load;
    this.#none = none;
  }

  get(key: Key): Promise<Value> {
    return new Promise((resolve, reject) => {
      const asked = this.#waiting.get(key);
      if (asked === undefined) this.#waiting.set(key, [{ resolve, reject }]);
      else asked.push({ resolve, reject });
      if (this.#reading) return;
      this.#reading = true;
      queueMicrotask(() => void this.#readAll()); // with what else is asked for in this very moment
    });
  }

  async #readAll(): Promise<void> {
    while (this.#waiting.size > 0) {
      const batch = [...this.#waiting].slice(0, KEYS_MAX);
      for (const [key] of batch) this.#waiting.delete(key);
      try {
        const found = await this.#load(batch.map(([key]) => key));
        for (const [key, asked] of batch) {
          const value = found.get(key) ?? this.#none;
          for (const { resolve } of asked) resolve(value);
        }
      } catch (error) {
        for (const [, asked] of batch) for (const { reject } of asked) reject(error);
      }
    }
    this.#reading = false;
  }
}

// Numbers: every store gives instances and messages numbers of its own; here they become the model's.
//   NU1. A pair is made when both sides show a number at the same place for the first time, and stays: who shows
//        another one there later, or one twice (N1), is different.

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

class Pairs {
  readonly #toStore = new Map<number, number>();
  readonly #toModel = new Map<number, number>();

  toStore(model: number): number {
    return this.#toStore.get(model) ?? model;
  }

  toModel(expected: unknown, store: number): unknown {
    if (typeof expected === "number" && !this.#toStore.has(expected) && !this.#toModel.has(store)) {
      this.#toStore.set(expected, store);
      this.#toModel.set(store, expected);
    }
    return this.#toModel.get(store) ?? `a number of the store's own (${store})`;
  }
}

export class Numbers {
  readonly #keys = new Pairs();
  readonly #messages = new Pairs();

  /** What the model says, as this store is told it. */
  toStore<Value>(value: Value): Value {
    return this.#translate(value) as Value;
  }

  /** What this store says, in the model's numbers. */
  toModel(expected: unknown, actual: unknown): unknown {
    if (Array.isArray(actual)) {
      const beside: readonly unknown[] = Array.isArray(expected) ? expected : [];
      return actual.map((each, index) => this.toModel(beside[index], each));
    }
    if (!isObject(actual)) return actual;
    const beside = isObject(expected) ? expected : {};
    const isMessage = "visibleAt" in actual;
    const entries = Object.entries(actual).map(([name, value]): [string, unknown] => {
      if (typeof value !== "number") return [name, this.toModel(beside[name], value)];
      if (name === "key") return [name, this.#keys.toModel(beside[name], value)];
      if (name === "id" && isMessage) return [name, this.#messages.toModel(beside[name], value)];
      return [name, value];
    });
    return Object.fromEntries(entries);
  }

  #translate(value: unknown, name = ""): unknown {
    if (Array.isArray(value)) return value.map((each) => this.#translate(each, name));
    if (isObject(value)) {
      const entries = Object.entries(value);
      return Object.fromEntries(entries.map(([key, each]) => [key, this.#translate(each, key)]));
    }
    if (typeof value !== "number") return value;
    if (name === "key") return this.#keys.toStore(value);
    return name === "consumed" ? this.#messages.toStore(value) : value;
  }
}

// Numbers: every store gives instances and messages numbers of its own; here they become the model's.
//   NU1. A pair is made when both sides show a number at the same place for the first time, and stays: who shows
//        another one there later, or one twice (N1), is different.

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

class Pairs {
  readonly #toStore: Map<number, number>;
  readonly #toModel: Map<number, number>;

  constructor(from?: Pairs) {
    this.#toStore = new Map(from === undefined ? [] : from.#toStore);
    this.#toModel = new Map(from === undefined ? [] : from.#toModel);
  }

  toStore(model: number, otherwise = model): number {
    return this.#toStore.get(model) ?? otherwise;
  }

  fromStore(store: number): number {
    return this.#toModel.get(store) ?? -store;
  }

  toModel(expected: unknown, store: number): unknown {
    if (typeof expected === "number" && !this.#toStore.has(expected) && !this.#toModel.has(store)) {
      this.#toStore.set(expected, store);
      this.#toModel.set(store, expected);
    }
    return this.#toModel.get(store) ?? `a number of the store's own (${store})`;
  }
}

type Direction = (pairs: Pairs) => (number: number) => number;

export class Numbers {
  readonly #keys: Pairs;
  readonly #messages: Pairs;

  constructor(from?: Numbers) {
    this.#keys = new Pairs(from === undefined ? undefined : from.#keys);
    this.#messages = new Pairs(from === undefined ? undefined : from.#messages);
  }

  /** What the model says, as this store is told it. */
  toStore<Value>(value: Value): Value {
    return this.#translate(value, (pairs) => (number) => pairs.toStore(number)) as Value;
  }

  /** What this store was told, in the model's numbers; one that has no pair is nobody's there. */
  fromStore<Value>(value: Value): Value {
    return this.#translate(value, (pairs) => (number) => pairs.fromStore(number)) as Value;
  }

  /** The model's numbers as this store's, and 0 for those that no answer has shown. */
  shown(value: unknown): unknown {
    return this.#translate(value, (pairs) => (number) => pairs.toStore(number, 0));
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

  #translate(value: unknown, direction: Direction, name = ""): unknown {
    if (Array.isArray(value)) return value.map((each) => this.#translate(each, direction, name));
    if (isObject(value)) {
      const entries = Object.entries(value);
      const translated = entries.map(([key, each]) => [key, this.#translate(each, direction, key)]);
      return Object.fromEntries(translated);
    }
    if (typeof value !== "number") return value;
    if (name === "key") return direction(this.#keys)(value);
    return name === "consumed" ? direction(this.#messages)(value) : value;
  }
}

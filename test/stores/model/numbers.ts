// Numbers: every store assigns its own numbers to instances and messages. This maps them to the numbers of the model.
//   - numbers.1: A pair is created when both sides first show a number at the same position, and it stays. A store that
//        later shows a different number, or the same number twice (provider.instances.1), differs from the model.

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
    return this.#toModel.get(store) ?? `an unpaired number of the store (${store})`;
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

  /** Translates numbers of the model to numbers of this store. */
  toStore<Value>(value: Value): Value {
    return this.#translate(value, (pairs) => (number) => pairs.toStore(number)) as Value;
  }

  /** Translates numbers of this store to numbers of the model. A number without a pair becomes an unknown number. */
  fromStore<Value>(value: Value): Value {
    return this.#translate(value, (pairs) => (number) => pairs.fromStore(number)) as Value;
  }

  /** Translates numbers of the model to numbers of this store, and to 0 if no answer has shown them. */
  shown(value: unknown): unknown {
    return this.#translate(value, (pairs) => (number) => pairs.toStore(number, 0));
  }

  /** Translates an answer of this store to numbers of the model. */
  toModel(expected: unknown, actual: unknown): unknown {
    if (Array.isArray(actual)) {
      const counterpart: readonly unknown[] = Array.isArray(expected) ? expected : [];
      return actual.map((each, index) => this.toModel(counterpart[index], each));
    }
    if (!isObject(actual)) return actual;
    const counterpart = isObject(expected) ? expected : {};
    const isMessage = "visibleAt" in actual;
    const entries = Object.entries(actual).map(([name, value]): [string, unknown] => {
      if (typeof value !== "number") return [name, this.toModel(counterpart[name], value)];
      if (name === "key") return [name, this.#keys.toModel(counterpart[name], value)];
      if (name === "id" && isMessage)
        return [name, this.#messages.toModel(counterpart[name], value)];
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

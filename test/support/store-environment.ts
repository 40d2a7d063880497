// Virtual time with a store that answers in real time: the clock does not move while a call of the store is in flight.
//   - `settle` waits for all calls of the store, however long they take. A test on a database behind a socket therefore
//        behaves like a test on a database in memory, and waits only for answers.
//   - Every call of a watched provider counts, from any caller, except `close`: its caller may wait for `settle`.

import type { Provider } from "../../src/index.ts";
import { VirtualEnvironment } from "../../src/testing/virtual-environment.ts";

type Method = (...parameters: readonly unknown[]) => unknown;

const UNWATCHED: readonly (string | symbol)[] = ["now", "subscribe", "close"];

export class StoreEnvironment extends VirtualEnvironment {
  #out = 0;
  #answered: (() => void)[] = [];

  /** The same provider with counted calls. A method that a test replaces is not counted. */
  watch<P extends Provider>(provider: P): P {
    const replaced = new Map<string | symbol, unknown>();
    return new Proxy(provider, {
      set: (_, name, value) => {
        replaced.set(name, value);
        return true;
      },
      get: (target, name) => {
        if (replaced.has(name)) return replaced.get(name);
        const member: unknown = Reflect.get(target, name, target);
        if (typeof member !== "function") return member;
        const method = (member as Method).bind(target);
        return UNWATCHED.includes(name) ? method : this.#counted(method);
      },
    });
  }

  override async settle(): Promise<void> {
    await super.settle();
    while (this.#out > 0) {
      await new Promise<void>((resolve) => void this.#answered.push(resolve));
      await super.settle();
    }
  }

  #counted(method: Method): Method {
    return (...parameters) => {
      const result = method(...parameters);
      if (!(result instanceof Promise)) return result;
      this.#out += 1;
      const over = (): void => {
        this.#out -= 1;
        if (this.#out > 0) return;
        for (const resolve of this.#answered.splice(0)) resolve();
      };
      result.then(over, over);
      return result;
    };
  }
}

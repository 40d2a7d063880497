// Virtual time over a store that answers in real time: a clock that does not move while the store is at work.
//   SE1. Nothing has come to rest while a call to the store is out, however long the real answer takes. So a test on
//        a database behind a socket sees what it sees on one in memory, and waits for nothing but answers.
//   SE2. Every call of a provider that was watched here counts, whoever makes it; `close` does not, since it may
//        be made by somebody who waits for rest.

import type { Provider } from "../../src/index.ts";
import { VirtualEnvironment } from "../../src/testing/virtual-environment.ts";

type Method = (...parameters: readonly unknown[]) => unknown;

const UNWATCHED: readonly (string | symbol)[] = ["now", "subscribe", "close"];

export class StoreEnvironment extends VirtualEnvironment {
  #out = 0;
  #answered: (() => void)[] = [];

  /** The same provider, whose calls count; a method that a test puts in its place does as it likes. */
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

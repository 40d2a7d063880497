// A provider that counts the calls that reach its store.
//   The liveness thread sends heartbeats on its own connection, which bypasses this provider; `CallCount` reports its
//   rate.

import type { Provider } from "../../src/index.ts";

/** Calls answered from memory. */
const NOT_CALLS: readonly PropertyKey[] = ["now", "subscribe", "startLivenessThread", "close"];

export class CallCount {
  calls = 0;
  /** Heartbeats per second that the liveness thread sends. */
  beatsPerS = 0;
  readonly byMethod = new Map<PropertyKey, number>();

  /** The same provider, with its calls counted. */
  around(provider: Provider): Provider {
    const methods = new Map<PropertyKey, unknown>();
    return new Proxy(provider, {
      get: (target, property) => {
        const known = methods.get(property);
        if (known !== undefined) return known;
        const value: unknown = Reflect.get(target, property, target);
        if (typeof value !== "function") return value;
        const bound: unknown = value.bind(target);
        const method = NOT_CALLS.includes(property) ? bound : this.#counted(property, bound);
        methods.set(
          property,
          property === "startLivenessThread" ? this.#countHeartbeats(method) : method,
        );
        return methods.get(property);
      },
    });
  }

  #counted(property: PropertyKey, method: unknown): unknown {
    if (typeof method !== "function") return method;
    return (...words: unknown[]): unknown => {
      this.calls++;
      this.byMethod.set(property, (this.byMethod.get(property) ?? 0) + 1);
      return method(...words);
    };
  }

  #countHeartbeats(method: unknown): unknown {
    if (typeof method !== "function") return method;
    return (options: { readonly beatMs: number }): unknown => {
      this.beatsPerS = 1_000 / options.beatMs;
      return method(options);
    };
  }
}

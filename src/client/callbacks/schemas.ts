// The schemas of callbacks that this process knows, so that a client can refuse a value before it is stored.
//   - A process learns a schema when code in it calls `ctx.callback` with it. The table is bounded; without an entry the
//       receiver checks the value.

import type { Provider } from "../../core/provider/provider.ts";
import type { StandardSchema } from "../../core/values/standard-schema.ts";

const SCHEMAS_MAX = 1_000;

export class CallbackSchemas {
  static readonly #byProvider = new WeakMap<Provider, CallbackSchemas>();
  readonly #schemas = new Map<string, StandardSchema>();

  /** The table that the clients and runtimes of a process on one provider share. */
  static of(provider: Provider): CallbackSchemas {
    const known = CallbackSchemas.#byProvider.get(provider);
    if (known !== undefined) return known;
    const schemas = new CallbackSchemas();
    CallbackSchemas.#byProvider.set(provider, schemas);
    return schemas;
  }

  /** The newest schemas stay. */
  learn(orchestration: string, name: string, schema: StandardSchema): void {
    const key = keyOf(orchestration, name);
    if (this.#schemas.get(key) === schema) return;
    this.#schemas.delete(key);
    this.#schemas.set(key, schema);
    const [oldest] = this.#schemas.keys();
    if (this.#schemas.size > SCHEMAS_MAX && oldest !== undefined) this.#schemas.delete(oldest);
  }

  find(orchestration: string, name: string): StandardSchema | undefined {
    return this.#schemas.get(keyOf(orchestration, name));
  }
}

function keyOf(orchestration: string, name: string): string {
  return JSON.stringify([orchestration, name]);
}

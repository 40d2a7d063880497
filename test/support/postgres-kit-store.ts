// Opens a store in PostgreSQL for a test environment.

import type { Environment, Provider } from "../../src/index.ts";
import { giveBackSchema, openOnPool, takeSchema } from "./postgres-stores.ts";

/** Closing the provider also returns its schema to the pool of schemas. */
export async function postgresKitStore(environment: Environment): Promise<Provider> {
  const schema = takeSchema();
  const provider = await openOnPool(schema, { environment });
  const close = async (): Promise<void> => {
    await provider.close();
    await giveBackSchema(schema);
  };
  return new Proxy<Provider>(provider, {
    get(target, name) {
      if (name === "close") return close;
      const member: unknown = Reflect.get(target, name, target);
      return typeof member === "function" ? (member.bind(target) as unknown) : member;
    },
  });
}

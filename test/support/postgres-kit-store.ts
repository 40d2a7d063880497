// Opens a store in PostgreSQL for a test environment.
//   A test environment has one provider, so notifications are not needed. A provider that listens would also end a
//   connection of the pool when it is closed, and the next one would plan all statements again.

import type { Environment, Provider } from "../../src/index.ts";
import { giveBackSchema, openOnPool, takeSchema } from "./postgres-stores.ts";

/** Closing the provider also returns its schema to the pool of schemas. */
export async function postgresKitStore(environment: Environment): Promise<Provider> {
  const schema = takeSchema();
  const provider = await openOnPool(schema, { environment, notifications: false, prepare: true });
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

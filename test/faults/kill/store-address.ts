// A store's address as one string, which can be passed to a process: `sqlite:<file>`, or a PostgreSQL URL with the
// schema as its fragment.

import type { Provider } from "../../../src/index.ts";

export const SQLITE = "sqlite:";
/** Many processes share the server's connections. */
const POOL_SIZE = 4;

/** Loads only the provider that the address needs; the returned function opens the store. */
export async function loadProvider(address: string): Promise<() => Promise<Provider>> {
  if (address.startsWith(SQLITE)) {
    const { SqliteProvider } = await import("../../../src/sqlite/index.ts");
    return () => SqliteProvider.open(address.slice(SQLITE.length));
  }
  const { PostgresProvider } = await import("../../../src/postgres/index.ts");
  const { url, schema } = partsOf(address);
  return () => PostgresProvider.open(url, { schema, poolSize: POOL_SIZE });
}

export async function openAddress(address: string): Promise<Provider> {
  return (await loadProvider(address))();
}

export function partsOf(address: string): { readonly url: string; readonly schema: string } {
  const url = new URL(address);
  const schema = url.hash.slice(1);
  url.hash = "";
  return { url: url.href, schema };
}

// Opening a store by its address, of whatever kind it is.
//   OP1. A provider is loaded when a store of its kind is opened, so that a user of one needs nothing of the other.

import type { Provider } from "../core/provider/provider.ts";
import { maskAddress } from "../core/secrets.ts";
import { CliError } from "./exit-codes.ts";
import type { StoreSource } from "./store-address.ts";

/** Whether missing tables are made, or refused. A function of the config's decides that itself. */
export type Migrate = "apply" | "verify";

/**
 * What a command does with the store. "read": it looks and ends. "follow": it looks and waits for changes. Both work on
 * a standby of PostgreSQL and with a role that may only read.
 */
export type Access = "read" | "follow" | "write";

export async function openProvider(
  source: StoreSource,
  migrate: Migrate,
  access: Access = "write",
): Promise<Provider> {
  if (source.kind === "function") return source.open();
  const { address } = source;
  if (address.startsWith("sqlite:")) {
    const { SqliteProvider } = await import("../sqlite/index.ts");
    return SqliteProvider.open(address.slice("sqlite:".length), { migrate });
  }
  if (/^postgres(ql)?:\/\//.test(address)) {
    const { PostgresProvider } = await import("../postgres/index.ts");
    return PostgresProvider.open(address, {
      migrate,
      ...(access === "write" ? {} : { readOnly: true }),
      ...(access === "read" ? { notifications: false } : {}),
    });
  }
  const message = `${maskAddress(address)} is not a store's address: it must begin with sqlite: or postgres://.`;
  throw new CliError("USAGE", message);
}

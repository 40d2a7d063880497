// Opening a store by its address, of whatever kind it is.
//   OP1. A provider is loaded when a store of its kind is opened, so that a user of one needs nothing of the other.

import type { Provider } from "../core/provider/provider.ts";
import { maskAddress } from "../core/secrets.ts";
import { CliError } from "./exit-codes.ts";
import type { StoreSource } from "./store-address.ts";

/** Whether missing tables are made, or refused. A function of the config's decides that itself. */
export type Migrate = "apply" | "verify";

export async function openProvider(source: StoreSource, migrate: Migrate): Promise<Provider> {
  if (source.kind === "function") return source.open();
  const { address } = source;
  if (address.startsWith("sqlite:")) {
    const { SqliteProvider } = await import("../sqlite/index.ts");
    return SqliteProvider.open(address.slice("sqlite:".length), { migrate });
  }
  if (/^postgres(ql)?:\/\//.test(address)) {
    const { PostgresProvider } = await import("../postgres/index.ts");
    return PostgresProvider.open(address, { migrate });
  }
  const message = `${maskAddress(address)} is not a store's address: it must begin with sqlite: or postgres://.`;
  throw new CliError("USAGE", message);
}

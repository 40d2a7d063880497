// Opens a store by its address.
//   - The code of a provider is loaded only when a store of its kind is opened. A user of SQLite does not
//        need `pg`.

import type { Provider } from "../../core/provider/provider.ts";
import { maskAddress } from "../../core/values/secrets.ts";
import { CliError } from "../exit-codes.ts";
import type { StoreSource } from "./store-address.ts";

/**
 * Whether to create missing tables or to refuse the store. A store function of the config decides that
 * itself.
 */
export type Migrate = "apply" | "verify";

/**
 * How a command uses the store. "read": it reads and exits. "follow": it reads and waits for changes. Both
 * work on a PostgreSQL standby and with a read-only role.
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
    const { SqliteProvider } = await import("../../sqlite/index.ts");
    return SqliteProvider.open(address.slice("sqlite:".length), { migrate });
  }
  if (/^postgres(ql)?:\/\//.test(address)) {
    const { PostgresProvider } = await import("../../postgres/index.ts");
    return PostgresProvider.open(address, {
      migrate,
      ...(access === "write" ? {} : { readOnly: true }),
      ...(access === "read" ? { notifications: false } : {}),
    });
  }
  const message = `The address of a store must begin with sqlite: or postgres://; got ${maskAddress(address)}.`;
  throw new CliError("USAGE", message);
}

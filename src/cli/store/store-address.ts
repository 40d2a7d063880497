// Chooses the store of a command and formats its address.
//   - An argument or `--store` has precedence over PERDURE_STORE, which has precedence over the config.
//   - store-address.1: A relative path in the config is relative to the config file. Any other relative
//        path is relative to the current directory.
//   - Passwords are never shown (core/values/secrets.ts).

import { existsSync } from "node:fs";
import { dirname, isAbsolute, resolve } from "node:path";
import type { Provider } from "../../core/provider/provider.ts";
import { maskAddress } from "../../core/values/secrets.ts";
import type { LoadedConfig } from "./config-file.ts";
import { CliError } from "../exit-codes.ts";

const SQLITE = "sqlite:";

export type StoreSource =
  | { readonly kind: "address"; readonly address: string }
  | { readonly kind: "function"; readonly open: () => Provider | Promise<Provider> };

export function chooseStore(options: {
  readonly given: string | undefined;
  readonly env: NodeJS.ProcessEnv;
  readonly config: LoadedConfig | undefined;
}): StoreSource {
  const { given, env, config } = options;
  if (given !== undefined) return { kind: "address", address: given };
  const fromEnvironment = env["PERDURE_STORE"];
  if (fromEnvironment !== undefined && fromEnvironment !== "") {
    return { kind: "address", address: fromEnvironment };
  }
  const store = config?.config.store;
  if (typeof store === "function") return { kind: "function", open: store };
  if (config !== undefined && store !== undefined) {
    return { kind: "address", address: relativeTo(dirname(config.path), store) };
  }
  const message =
    "No store given. Pass --store sqlite:./orders.db, set PERDURE_STORE, or set store in perdure.config.ts.";
  throw new CliError("USAGE", message);
}

/** Whether an argument is the address of a store. */
export function looksLikeAddress(word: string): boolean {
  return /^[a-z][a-z0-9+.-]+:/.test(word);
}

/** The file of a SQLite store. Undefined for any other store and for :memory:. */
export function sqliteFile(address: string): string | undefined {
  if (!address.startsWith(SQLITE)) return undefined;
  const path = address.slice(SQLITE.length);
  return path === ":memory:" ? undefined : path;
}

/** Refuses a SQLite file that does not exist. A command that only reads must not create one. */
export function assertStoreExists(address: string): void {
  const file = sqliteFile(address);
  if (file === undefined || existsSync(file)) return;
  const message = `There is no store at ${resolve(file)}. Create it with: perdure migrate --store ${address}`;
  throw new CliError("STORE_MISSING", message);
}

export function showSource(source: StoreSource): string {
  return source.kind === "address" ? maskAddress(source.address) : "the store of the config";
}

function relativeTo(directory: string, address: string): string {
  const file = sqliteFile(address);
  if (file === undefined || isAbsolute(file)) return address;
  return `${SQLITE}${resolve(directory, file)}`;
}

// Location: what may be opened, looked at before anything is.
//   L1. Nothing is connected or changed here; what cannot be a store is named with the reason.

import type pg from "pg";
import { PerdureError } from "../core/errors.ts";
import { parseAddress, type Dialing } from "./address.ts";
import type { PostgresOptions } from "./options.ts";

/** A URL, what `pg` takes as a pool's configuration, or a pool of the user's own. */
export type PostgresTarget = string | pg.PoolConfig | pg.Pool;

const SCHEMA_BYTES_MAX = 63;

export function isPool(target: PostgresTarget): target is pg.Pool {
  return typeof target === "object" && "connect" in target && typeof target.connect === "function";
}

/** What a pool of our own is made from, where it connects, and the options that an address holds. */
export interface Location {
  readonly config: pg.PoolConfig;
  readonly dialing: Dialing;
  readonly options: PostgresOptions;
}

const ONE_HOST: Dialing = { hosts: [], session: "any" };

export function locationOf(target: string | pg.PoolConfig): Location {
  if (typeof target === "string") return locationAt(target, {});
  if (typeof target !== "object" || target === null) throw unfit("there is no configuration");
  const { connectionString } = target;
  if (connectionString !== undefined) return locationAt(connectionString, target);
  return { config: target, dialing: ONE_HOST, options: {} };
}

function locationAt(address: string, config: pg.PoolConfig): Location {
  const { connectionString, dialing, options } = parseAddress(address);
  return { config: { ...config, connectionString }, dialing, options };
}

/** The schema's name, as it stands in statements. */
export function quoteSchema(name: string): string {
  if (typeof name !== "string" || name === "") throw unfit("a schema's name is not empty");
  const bytes = Buffer.byteLength(name);
  if (bytes > SCHEMA_BYTES_MAX) {
    throw unfit(`the schema's name has ${bytes} bytes; PostgreSQL takes ${SCHEMA_BYTES_MAX}`);
  }
  if (/\p{Cc}/u.test(name) || !name.isWellFormed()) {
    throw unfit("the schema's name holds control characters, or is no Unicode");
  }
  if (name.startsWith("pg_") || name === "information_schema") {
    throw unfit(`the schema's name "${name}" is PostgreSQL's own`);
  }
  return `"${name.replaceAll('"', '""')}"`;
}

function unfit(why: string): PerdureError {
  return new PerdureError("INVALID_ARGUMENT", `No PostgreSQL store can be opened there: ${why}.`);
}

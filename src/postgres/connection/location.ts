// Location: checks the target of a store before anything is opened.
//   - Nothing is connected or changed here. An invalid target raises an error with the reason.

import type pg from "pg";
import { PerdureError } from "../../core/errors/errors.ts";
import { parseAddress, type Dialing } from "./address.ts";
import type { PostgresOptions } from "../options.ts";

/** A URL, a pool configuration of `pg`, or a pool of the caller. */
export type PostgresTarget = string | pg.PoolConfig | pg.Pool;

const SCHEMA_BYTES_MAX = 63;

export function isPool(target: PostgresTarget): target is pg.Pool {
  return typeof target === "object" && "connect" in target && typeof target.connect === "function";
}

/** The pool configuration, the hosts, and the options that the address holds. */
export interface Location {
  readonly config: pg.PoolConfig;
  readonly dialing: Dialing;
  readonly options: PostgresOptions;
}

const ONE_HOST: Dialing = { hosts: [], session: "any" };

export function locationOf(target: string | pg.PoolConfig): Location {
  if (typeof target === "string") return locationAt(target, {});
  if (typeof target !== "object" || target === null)
    throw unfit("the target must be a URL, a configuration of pg, or a pool");
  const { connectionString } = target;
  if (connectionString !== undefined) return locationAt(connectionString, target);
  return { config: target, dialing: ONE_HOST, options: {} };
}

function locationAt(address: string, config: pg.PoolConfig): Location {
  const { connectionString, dialing, options } = parseAddress(address);
  return { config: { ...config, connectionString }, dialing, options };
}

/** The schema's name, quoted for use in statements. */
export function quoteSchema(name: string): string {
  if (typeof name !== "string" || name === "")
    throw unfit("the schema's name must be a string that is not empty");
  const bytes = Buffer.byteLength(name);
  if (bytes > SCHEMA_BYTES_MAX) {
    throw unfit(`the schema's name must have at most ${SCHEMA_BYTES_MAX} bytes; got ${bytes}`);
  }
  if (/\p{Cc}/u.test(name) || !name.isWellFormed()) {
    throw unfit("the schema's name must be valid Unicode without control characters");
  }
  if (name.startsWith("pg_") || name === "information_schema") {
    throw unfit(`the schema's name "${name}" is reserved by PostgreSQL`);
  }
  return `"${name.replaceAll('"', '""')}"`;
}

function unfit(why: string): PerdureError {
  return new PerdureError("INVALID_ARGUMENT", `The PostgreSQL store cannot be opened: ${why}.`);
}

// Location: what may be opened, looked at before anything is.
//   L1. Nothing is connected or changed here; what cannot be a store is named with the reason.

import type pg from "pg";
import { PerdureError } from "../core/errors.ts";

/** A URL, what `pg` takes as a pool's configuration, or a pool of the user's own. */
export type PostgresTarget = string | pg.PoolConfig | pg.Pool;

const SCHEMA_BYTES_MAX = 63;

export function isPool(target: PostgresTarget): target is pg.Pool {
  return typeof target === "object" && "connect" in target && typeof target.connect === "function";
}

/** What a pool of our own is made from. */
export function configOf(target: string | pg.PoolConfig): pg.PoolConfig {
  if (typeof target === "object") {
    if (target === null) throw unfit("there is no configuration");
    return target;
  }
  if (typeof target !== "string" || !/^postgres(ql)?:\/\//.test(target)) {
    throw unfit("an address begins with postgres://, such as postgres://user@host/database");
  }
  return { connectionString: target };
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

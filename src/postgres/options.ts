// Options: how a PostgreSQL store is opened, and their defaults.

import type pg from "pg";
import type { Environment } from "../core/time/environment.ts";
import {
  checkChoice,
  checkFlag,
  checkMembers,
  checkInteger,
  type Members,
} from "../core/checks.ts";
import { PerdureError } from "../core/errors/errors.ts";
import { locationOf, quoteSchema } from "./connection/location.ts";
import type { Migrate } from "./migrations.ts";
import type { Durability } from "./connection/settings.ts";

/** How a PostgreSQL store is opened. */
export interface PostgresOptions {
  readonly environment?: Environment;
  /** The schema that holds the tables. Default "perdure". */
  readonly schema?: string;
  /** "apply" creates missing tables; "verify" raises an error instead. Default "apply". */
  readonly migrate?: Migrate;
  /** Default "full": when a write returns, it is on disk. */
  readonly durability?: Durability;
  /**
   * Whether processes notify each other of commits, over one additional connection. Default true. With
   * false they find work by polling.
   */
  readonly notifications?: boolean;
  /**
   * The direct address of the same database, for the connection that receives notifications. Use it if the
   * store is reached through a pooler that shares connections between transactions, such as PgBouncer in
   * transaction mode: LISTEN does not work there. Default: the address of the store.
   */
  readonly listen?: string | pg.ClientConfig;
  /**
   * Opens the store for reading only. The server may then be a standby, and the role needs no right to write.
   * Calls that write reject with `STORE_READ_ONLY`, and missing tables are not created. Default false.
   */
  readonly readOnly?: boolean;
  /**
   * Whether connections use prepared statements. Default: the value of `notifications`, and false behind a
   * pooler that shares connections between transactions.
   */
  readonly prepare?: boolean;
  /** The size of the pool that Perdure opens. Ignored if the caller passes a pool. Default 10. */
  readonly poolSize?: number;
  /** How many `ctx.tx` steps run at once, each on an additional connection. Default 5. */
  readonly transactionPoolSize?: number;
  /**
   * After this many milliseconds without a reply, the call and its connection count as lost. Default
   * 30,000.
   */
  readonly answerMs?: number;
}

const OPTIONS: Members<PostgresOptions> = {
  environment: true,
  schema: true,
  migrate: true,
  durability: true,
  notifications: true,
  listen: true,
  readOnly: true,
  prepare: true,
  poolSize: true,
  transactionPoolSize: true,
  answerMs: true,
};

const DEFAULTS = {
  schema: "perdure",
  migrate: "apply",
  durability: "full",
  notifications: true,
  readOnly: false,
  poolSize: 10,
  transactionPoolSize: 5,
  answerMs: 30_000,
} as const;

/**
 * Checks the options and fills in the defaults. Options win over the address. `schema` is quoted for
 * statements.
 */
export function settingsOf(options: PostgresOptions, ofAddress: PostgresOptions) {
  checkOptions(options, "a PostgreSQL store");
  checkOptions(ofAddress, "a PostgreSQL address");
  const given = { ...present(ofAddress), ...present(options) };
  const settings = { ...DEFAULTS, ...given };
  const schema = quoteSchema(settings.schema);
  checkListen(settings);
  if (settings.readOnly) return { settings: { ...settings, migrate: "verify" as const }, schema };
  return { settings, schema };
}

function checkOptions(options: PostgresOptions, what: string): void {
  checkMembers(options, OPTIONS, what);
  checkChoice(options.durability, ["full", "local", "off"], "durability");
  checkChoice(options.migrate, ["apply", "verify"], "migrate");
  checkFlag(options.notifications, "notifications");
  checkFlag(options.readOnly, "readOnly");
  checkFlag(options.prepare, "prepare");
  checkInteger(options.poolSize, 1, "poolSize");
  checkInteger(options.transactionPoolSize, 1, "transactionPoolSize");
  checkInteger(options.answerMs, 1, "answerMs");
}

/** The direct address must be valid, be used, and hold no options of a store. */
function checkListen({ listen, notifications }: Pick<PostgresOptions, "listen" | "notifications">) {
  if (listen === undefined) return;
  if (notifications === false) {
    const message = "listen is for notifications, but notifications is false. Omit one of them.";
    throw new PerdureError("INVALID_ARGUMENT", message);
  }
  const [option] = Object.keys(locationOf(listen).options);
  if (option === undefined) return;
  const message = `perdure.${option} belongs to the address of the store, not to the address in listen.`;
  throw new PerdureError("INVALID_ARGUMENT", message);
}

/** Drops the options that are set to undefined. */
function present(options: PostgresOptions): PostgresOptions {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}

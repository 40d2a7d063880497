// Options: how a PostgreSQL store is opened, and what is taken where nothing was said.

import type { Environment } from "../core/environment.ts";
import {
  checkChoice,
  checkFlag,
  checkMembers,
  checkWhole,
  type Members,
} from "../core/known-members.ts";
import { quoteSchema } from "./location.ts";
import type { Migrate } from "./migrations.ts";
import type { Durability } from "./settings.ts";

/** How a PostgreSQL store is opened. */
export interface PostgresOptions {
  readonly environment?: Environment;
  /** Where the tables are. Default "perdure". */
  readonly schema?: string;
  /** Whether tables that are missing are made, or refused. Default "apply". */
  readonly migrate?: Migrate;
  /** Default "full": a call that returned is on disk. */
  readonly durability?: Durability;
  /**
   * Whether processes tell each other what they commit, on a connection more. Default true. Without, they find it by
   * polling; needed behind a pooler that shares connections between transactions, such as PgBouncer.
   */
  readonly notifications?: boolean;
  /**
   * Only look: nothing is written, so that the store may be on a standby, or the role may lack the right to write.
   * Calls that write reject with `STORE_READ_ONLY`; tables that are missing are not made. Default false.
   */
  readonly readOnly?: boolean;
  /** Whether connections keep prepared statements. Default true, but false without notifications. */
  readonly prepare?: boolean;
  /** Connections of the pool, unless it is the caller's own. Default 10. */
  readonly poolSize?: number;
  /** How many steps of `ctx.tx` are under way at once, each on a connection of its own besides. Default 5. */
  readonly transactionPoolSize?: number;
  /** An answer that takes longer than this counts as lost, and its connection with it. Default 30,000. */
  readonly answerMs?: number;
}

const OPTIONS: Members<PostgresOptions> = {
  environment: true,
  schema: true,
  migrate: true,
  durability: true,
  notifications: true,
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

/** What holds for a store that is opened so; `schema` as it stands in statements. Options win over an address. */
export function settingsOf(options: PostgresOptions, ofAddress: PostgresOptions = {}) {
  checkOptions(options, "a PostgreSQL store");
  checkOptions(ofAddress, "a PostgreSQL address");
  const given = { ...present(ofAddress), ...present(options) };
  const settings = { ...DEFAULTS, ...given };
  const schema = quoteSchema(settings.schema);
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
  checkWhole(options.poolSize, 1, "poolSize");
  checkWhole(options.transactionPoolSize, 1, "transactionPoolSize");
  checkWhole(options.answerMs, 1, "answerMs");
}

/** What was given as undefined was not given. */
function present(options: PostgresOptions): PostgresOptions {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}

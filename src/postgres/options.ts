// Options: how a PostgreSQL store is opened, and what is taken where nothing was said.

import type { Environment } from "../core/environment.ts";
import { PerdureError } from "../core/errors.ts";
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
  /** Whether connections keep prepared statements. Default true, but false without notifications. */
  readonly prepare?: boolean;
  /** Connections of the pool, unless it is the caller's own. Default 10. */
  readonly poolSize?: number;
  /** How many steps of `ctx.tx` are under way at once, each on a connection of its own besides. Default 5. */
  readonly transactionPoolSize?: number;
  /** An answer that takes longer than this counts as lost, and its connection with it. Default 30,000. */
  readonly answerMs?: number;
}

const DEFAULTS = {
  schema: "perdure",
  migrate: "apply",
  durability: "full",
  notifications: true,
  poolSize: 10,
  transactionPoolSize: 5,
  answerMs: 30_000,
} as const;

/** What holds for a store that is opened so; `schema` as it stands in statements. */
export function settingsOf(options: PostgresOptions) {
  const settings = { ...DEFAULTS, ...options };
  const schema = quoteSchema(settings.schema);
  const { transactionPoolSize: steps } = settings;
  if (!Number.isInteger(steps) || steps < 1) {
    const message = `transactionPoolSize is a whole number from 1 on, not ${String(steps)}.`;
    throw new PerdureError("INVALID_ARGUMENT", message);
  }
  return { settings, schema };
}

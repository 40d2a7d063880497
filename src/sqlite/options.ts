// Options: how a SQLite store is opened, and their defaults.

import type { Environment } from "../core/time/environment.ts";
import { checkChoice, checkMembers, checkInteger, type Members } from "../core/checks.ts";
import { systemEnvironment } from "../core/time/system-environment.ts";
import type { Migrate } from "./migrations.ts";
import type { Durability } from "./connection/settings.ts";

/** How a SQLite store is opened. */
export interface SqliteOptions {
  readonly environment?: Environment;
  /** Default "full": when a write returns, it is on disk. */
  readonly durability?: Durability;
  /**
   * How long a call waits for another process's write lock before it fails, in milliseconds. Default 5,000.
   */
  readonly busyMs?: number;
  /**
   * "verify" raises STORE_INVALID for a file whose tables are missing or old, and changes nothing. Default
   * "apply".
   */
  readonly migrate?: Migrate;
}

const OPTIONS: Members<SqliteOptions> = {
  environment: true,
  durability: true,
  busyMs: true,
  migrate: true,
};

/** Checks the options and fills in the defaults. */
export function settingsOf(options: SqliteOptions) {
  checkMembers(options, OPTIONS, "a SQLite store");
  checkChoice(options.durability, ["full", "normal"], "durability");
  checkChoice(options.migrate, ["apply", "verify"], "migrate");
  checkInteger(options.busyMs, 0, "busyMs");
  const { environment = systemEnvironment, durability = "full" } = options;
  const { busyMs = 5_000, migrate = "apply" } = options;
  return { environment, durability, busyMs, migrate };
}

// Options: how a SQLite store is opened, and what is taken where nothing was said.

import type { Environment } from "../core/environment.ts";
import { checkChoice, checkMembers, checkWhole, type Members } from "../core/known-members.ts";
import { systemEnvironment } from "../core/system-environment.ts";
import type { Migrate } from "./migrations.ts";
import type { Durability } from "./settings.ts";

/** How a SQLite store is opened. */
export interface SqliteOptions {
  readonly environment?: Environment;
  /** Default "full": a call that returned is on disk. */
  readonly durability?: Durability;
  /** How long a call waits for another process's write before it fails. Default 5,000. */
  readonly busyMs?: number;
  /** "verify": a file whose tables are missing or old is refused (STORE_INVALID), not changed. Default "apply". */
  readonly migrate?: Migrate;
}

const OPTIONS: Members<SqliteOptions> = {
  environment: true,
  durability: true,
  busyMs: true,
  migrate: true,
};

/** What holds for a store that is opened so. */
export function settingsOf(options: SqliteOptions) {
  checkMembers(options, OPTIONS, "a SQLite store");
  checkChoice(options.durability, ["full", "normal"], "durability");
  checkChoice(options.migrate, ["apply", "verify"], "migrate");
  checkWhole(options.busyMs, 0, "busyMs");
  const { environment = systemEnvironment, durability = "full" } = options;
  const { busyMs = 5_000, migrate = "apply" } = options;
  return { environment, durability, busyMs, migrate };
}

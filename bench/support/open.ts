// Opens what is measured: the store of a setting, and Perdure on it with default options.

import { strict as assert } from "node:assert";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { Perdure, type OpenOptions, type Provider } from "../../src/index.ts";
import { PostgresProvider } from "../../src/postgres/index.ts";
import { SqliteProvider } from "../../src/sqlite/index.ts";
import { until } from "../measure.ts";
import type { Setting } from "../subject.ts";

/** Prints only errors between the figures. */
export const QUIET: NonNullable<OpenOptions["runtime"]> = {
  log: (level, message, fields) => {
    if (level === "error") console.error(message, fields);
  },
};

export function openProvider({ directory, database }: Setting): Promise<Provider> {
  if (database === null) return SqliteProvider.open(join(directory, "bench.db"));
  return PostgresProvider.open(database.url, { schema: database.schema });
}

/** Another store of the same kind, for a workload that needs more than one. */
export function within(setting: Setting, name: string): Setting {
  const directory = join(setting.directory, name);
  mkdirSync(directory);
  const { database } = setting;
  return { ...setting, directory, database: database && { ...database, schema: name } };
}

/** Opens, works, closes; anything left open keeps the process alive, and repetition.1 detects it. */
export async function withPerdure<T>(
  setting: Setting,
  options: OpenOptions,
  work: (perdure: Perdure) => Promise<T>,
  dress: (provider: Provider) => Provider = (provider) => provider,
): Promise<T> {
  const provider = await openProvider(setting);
  try {
    const runtime = { ...QUIET, ...options.runtime };
    const perdure = await Perdure.open(dress(provider), { ...options, runtime });
    try {
      return await work(perdure);
    } finally {
      await perdure.close();
    }
  } finally {
    await provider.close();
  }
}

/** Asserts an undisturbed run: nothing failed, nothing was refused, nothing ran twice. */
export async function assertUntroubled({ runtime }: Perdure, instances: number): Promise<void> {
  // A result can be read as soon as it is stored, before the runtime that stored it has counted it.
  const counted = (): boolean => runtime.stats().orchestrationsCompleted >= instances;
  await until("the runtime has counted every instance", counted);
  const stats = runtime.stats();
  assert.equal(stats.orchestrationsCompleted, instances, "every instance has completed");
  assert.equal(stats.refusedTurns, 0, "no turn was refused");
  assert.equal(stats.providerErrors, 0, "the store had no trouble");
  assert.equal(stats.activities.failed + stats.activities.retried, 0, "no activity failed");
}

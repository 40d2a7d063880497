// Setup for the tests of the PostgreSQL provider: stores in separate schemas, closed with their test.

import type pg from "pg";
import { onTestFinished } from "vitest";
import { Client, Runtime, type Provider, type RuntimeOptions } from "../../../src/index.ts";
import {
  PostgresProvider,
  type PostgresOptions,
  type PostgresTarget,
} from "../../../src/postgres/index.ts";
import { registration } from "../../../src/testing/conformance/fixture.ts";
import { dropSchema, freshSchema, postgres } from "../../support/postgres.ts";

/** A schema that is dropped after the test. */
export function ownSchema(): string {
  const schema = freshSchema();
  onTestFinished(() => dropSchema(schema));
  return schema;
}

/** A provider that is closed after the test. */
export async function openStore(
  options: PostgresOptions & { readonly target?: PostgresTarget } = {},
): Promise<PostgresProvider> {
  const { target, ...rest } = options;
  const schema = rest.schema ?? ownSchema();
  const provider = await PostgresProvider.open(target ?? (await postgres()).url, {
    poolSize: 4,
    ...rest,
    schema,
  });
  onTestFinished(() => provider.close());
  return provider;
}

/** The same, with registered runtimes of these ids. */
export async function openStoreFor(
  owners: readonly string[],
  options: Parameters<typeof openStore>[0] = {},
): Promise<PostgresProvider> {
  const provider = await openStore(options);
  for (const id of owners) await provider.registerRuntime(registration({ id }));
  return provider;
}

/** A runtime that is shut down after the test, and a client. */
export async function startRuntime(
  provider: Provider,
  register: ConstructorParameters<typeof Runtime>[1]["register"],
  options: RuntimeOptions = {},
): Promise<{ readonly runtime: Runtime; readonly client: Client }> {
  const quiet: RuntimeOptions = { log: () => undefined, shadowReplay: "never" };
  const runtime = new Runtime(provider, { ...quiet, ...options, register });
  onTestFinished(() => runtime.shutdown({ graceMs: 0 }));
  await runtime.start();
  return { runtime, client: new Client(provider) };
}

/** Waits until the condition holds; a timeout error contains `what`. */
export async function until(
  what: string,
  condition: () => boolean | Promise<boolean>,
  deadlineMs = 30_000,
): Promise<void> {
  const deadline = performance.now() + deadlineMs;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`timeout: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** The URL with a different role or port of the same server. */
export async function urlWith(change: (url: URL) => void): Promise<string> {
  const url = new URL((await postgres()).url);
  change(url);
  return url.toString();
}

/** The number of rows read from each table so far, by sequential and index scans of the pool's only connection. */
export async function rowsRead(pool: pg.Pool, schema: string): Promise<Map<string, number>> {
  await pool.query("SELECT pg_stat_force_next_flush()");
  await pool.query("SELECT pg_stat_clear_snapshot()");
  const { rows } = await pool.query<{ relname: string; read: string }>(
    `SELECT t.relname, coalesce(t.seq_tup_read, 0) + coalesce(
       (SELECT sum(i.idx_tup_read) FROM pg_stat_user_indexes AS i WHERE i.relid = t.relid), 0) AS read
     FROM pg_stat_user_tables AS t WHERE t.schemaname = $1`,
    [schema],
  );
  return new Map(rows.map(({ relname, read }) => [relname, Number(read)]));
}

// What the PostgreSQL provider's own tests begin with: stores in schemas of their own, closed with their test.

import { onTestFinished } from "vitest";
import { Client, Runtime, type Provider, type RuntimeOptions } from "../../src/index.ts";
import {
  PostgresProvider,
  type PostgresOptions,
  type PostgresTarget,
} from "../../src/postgres/index.ts";
import { registration } from "../../src/testing/conformance/fixture.ts";
import { dropSchema, freshSchema, postgres } from "../support/postgres.ts";

/** A schema that goes with the test. */
export function ownSchema(): string {
  const schema = freshSchema();
  onTestFinished(() => dropSchema(schema));
  return schema;
}

/** A provider that is closed with its test. */
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

/** The same, with runtimes of these ids that may be given leases. */
export async function openStoreFor(
  owners: readonly string[],
  options: Parameters<typeof openStore>[0] = {},
): Promise<PostgresProvider> {
  const provider = await openStore(options);
  for (const id of owners) await provider.registerRuntime(registration({ id }));
  return provider;
}

/** A runtime that is shut down with its test, and a client beside it. */
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

/** Waits until the condition holds; `what` is told when it never does. */
export async function until(
  what: string,
  condition: () => boolean | Promise<boolean>,
  deadlineMs = 30_000,
): Promise<void> {
  const deadline = performance.now() + deadlineMs;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`It never came to this: ${what}.`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** The URL for another role or port of the same server. */
export async function urlWith(change: (url: URL) => void): Promise<string> {
  const url = new URL((await postgres()).url);
  change(url);
  return url.toString();
}

// Keys of starts move with the store: further calls meet the same instances there.

import { afterAll, expect, onTestFinished, test } from "vitest";
import { moveStore, type EnqueueKey, type Provider } from "../../../src/index.ts";
import { SqliteProvider } from "../../../src/sqlite/index.ts";
import { ALPHA, BETA, fresh } from "../../../src/testing/conformance/fixture.ts";
import {
  begin,
  enqueue,
  enqueueItem,
  startOf,
  unique,
} from "../../../src/testing/conformance/jobs/job-steps.ts";
import { Setup } from "../../../src/testing/conformance/setup.ts";
import { closePool, openOnPool } from "../../support/postgres-stores.ts";
import { dropSchema, freshSchema } from "../../support/postgres.ts";
import { StoreEnvironment } from "../../support/store-environment.ts";

afterAll(closePool);

const DEBOUNCE: EnqueueKey = { kind: "debounce", key: "k", waitMs: 1_000, maxMs: 1_500 };
const TRAILING: EnqueueKey = { kind: "throttle", key: "k", perMs: 1_000, trailing: true };

async function inSqlite(environment: StoreEnvironment): Promise<Provider> {
  const provider = await SqliteProvider.open(":memory:", { environment });
  onTestFinished(() => provider.close());
  return provider;
}

async function inPostgres(environment: StoreEnvironment): Promise<Provider> {
  const schema = freshSchema();
  onTestFinished(() => dropSchema(schema));
  const provider = await openOnPool(schema, { environment, notifications: false, prepare: true });
  onTestFinished(() => provider.close());
  return provider;
}

test.each([
  ["SQLite to PostgreSQL", inSqlite, inPostgres],
  ["PostgreSQL to SQLite", inPostgres, inSqlite],
] as const)("keys that move from %s still belong to their instances", async (_, from, to) => {
  const environment = new StoreEnvironment();
  const cleanup = async () => undefined;
  const first = new Setup(environment, { provider: await from(environment), cleanup });
  await first.prepare();
  await enqueue(first, enqueueItem("runs", unique("replace")), "started");
  const { held, task } = await begin(first, "runs");
  const [leased] = (await first.leaseTasks(ALPHA)).tasks;
  expect(leased).toMatchObject(task);
  await enqueue(first, enqueueItem("waits", unique("replace")), "started");
  await enqueue(first, enqueueItem("debounced", DEBOUNCE), "started");
  await enqueue(first, enqueueItem("leading", TRAILING), "started");
  await enqueue(first, enqueueItem("trailing", TRAILING), "started");
  for (const { id } of await first.provider.listRuntimes()) await first.die(id);

  const target = await to(environment);
  await moveStore(first.provider, target);
  const second = new Setup(environment, { provider: target, cleanup });
  await second.prepare();
  const replaced = enqueueItem("x", unique("replace"), { input: "new" });
  expect(await second.commit(replaced)).toMatchObject({ kind: "replaced", id: "waits" });
  await environment.advance(900);
  await enqueue(second, enqueueItem("y", DEBOUNCE), "existing");
  const { visibleAt } = (await startOf(second, "debounced")).message;
  expect(visibleAt - environment.now()).toBe(600);
  const trailing = enqueueItem("z", TRAILING);
  expect(await second.commit(trailing)).toMatchObject({ kind: "existing", id: "trailing" });
  const { instances } = await second.lease(ALPHA, { token: fresh(), allowSuspect: true });
  expect(instances.map(({ id }) => id)).toEqual(["leading"]);
  await second.commit({
    kind: "terminate",
    id: "runs",
    status: "terminated",
    terminated: "{}",
    childRequest: "{}",
  });
  expect(await second.read("runs")).toMatchObject({ status: "terminated", key: held.key });
  expect((await startOf(second, "waits")).input).toBe("new");
  await second.leaseOnly("waits", BETA);
});

// Rows of keys do not pile up: a deletion, a later call or a refusal removes them.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, expect, test } from "vitest";
import type { EnqueueKey } from "../../../src/index.ts";
import { SqliteProvider } from "../../../src/sqlite/index.ts";
import { startItem, terminateItem } from "../../../src/testing/conformance/fixture.ts";
import { enqueue, enqueueItem, unique } from "../../../src/testing/conformance/jobs/job-steps.ts";
import { Setup } from "../../../src/testing/conformance/setup.ts";
import { VirtualEnvironment } from "../../../src/testing/virtual-environment.ts";
import {
  closePool,
  giveBackSchema,
  openOnPool,
  takeSchema,
} from "../../support/postgres-stores.ts";
import { postgres } from "../../support/postgres.ts";

afterAll(closePool);

interface Opened {
  readonly setup: Setup;
  /** The keys that have a row. */
  keys(): Promise<readonly string[]>;
}

const DEBOUNCE: EnqueueKey = { kind: "debounce", key: "d", waitMs: 1_000, maxMs: null };
const throttle = (key: string, trailing = false): EnqueueKey => ({
  kind: "throttle",
  key,
  perMs: 1_000,
  trailing,
});
const SELECT = "SELECT key FROM enqueue_keys ORDER BY key";

async function inSqlite(work: (opened: Opened) => Promise<void>): Promise<void> {
  const environment = new VirtualEnvironment();
  const directory = await mkdtemp(join(tmpdir(), "perdure-keys-"));
  const path = join(directory, "store.db");
  const provider = await SqliteProvider.open(path, { environment });
  const cleanup = async () => {
    await provider.close();
    await rm(directory, { recursive: true });
  };
  const keys = async () => {
    using database = new DatabaseSync(path, { readOnly: true });
    return database
      .prepare(SELECT)
      .all()
      .map(({ key }) => String(key));
  };
  await work({ setup: new Setup(environment, { provider, cleanup }), keys });
}

async function inPostgres(work: (opened: Opened) => Promise<void>): Promise<void> {
  const environment = new VirtualEnvironment();
  const schema = takeSchema();
  const provider = await openOnPool(schema, { environment });
  const cleanup = async () => {
    await provider.close();
    await giveBackSchema(schema);
  };
  const keys = async () => {
    const { query } = await postgres();
    const rows = await query(SELECT.replace("enqueue_keys", `${schema}.enqueue_keys`));
    return rows.map(({ key }) => String(key));
  };
  await work({ setup: new Setup(environment, { provider, cleanup }), keys });
}

async function emptyAgain({ setup, keys }: Opened): Promise<void> {
  await setup.prepare();
  await setup.commit(startItem({ id: "taken" }));
  await enqueue(setup, enqueueItem("taken", unique()), "refused");
  expect(await keys()).toEqual([]);

  await enqueue(setup, enqueueItem("u", unique("replace", "u")), "started");
  await enqueue(setup, enqueueItem("d", DEBOUNCE), "started");
  await enqueue(setup, enqueueItem("t", throttle("t")), "started");
  expect(await keys()).toEqual(["d", "t", "u"]);
  for (const id of ["u", "d", "t"]) {
    await setup.commit(terminateItem(id));
    await setup.provider.deleteInstance({ id, force: false });
  }
  expect(await keys()).toEqual(["t"]); // its window counts
  await setup.environment.advance(1_000);
  await enqueue(setup, enqueueItem("t2", throttle("t2", true)), "started");
  expect(await keys()).toEqual(["t2"]);

  // The row stays until the window of the trailing instance is over.
  await enqueue(setup, enqueueItem("t3", throttle("t2", true)), "started");
  await setup.environment.advance(1_999);
  await enqueue(setup, enqueueItem("t4", throttle("t4")), "started");
  expect(await keys()).toEqual(["t2", "t4"]);
  await setup.environment.advance(1_000);
  for (const id of ["t2", "t3", "t4"]) {
    await setup.provider.deleteInstance({ id, force: true });
  }
  expect(await keys()).toEqual([]);
  await setup.close();
}

test("rows of keys are removed on SQLite", () => inSqlite(emptyAgain));
test("rows of keys are removed on PostgreSQL", () => inPostgres(emptyAgain));

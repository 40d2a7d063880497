// A start that takes its early messages reads only those, although its plan was made while hardly any messages
// waited.

import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import type { CommitResult } from "../../../src/index.ts";
import { PostgresProvider } from "../../../src/postgres/index.ts";
import { keepItem, startItem } from "../../../src/testing/conformance/fixture.ts";
import { postgres } from "../../support/postgres.ts";
import { ownSchema, rowsRead } from "./support.ts";

const WAITING = 2_000;

test.each([
  ["the store", false],
  ["the user", true],
])("a start in a transaction of %s reads only its own early messages", async (_, isOfUser) => {
  const schema = ownSchema();
  const { url } = await postgres();
  // One connection each, because plans belong to a connection.
  const own = new pg.Pool({ connectionString: url, max: 1 });
  const users = new pg.Pool({ connectionString: url, max: 1 });
  onTestFinished(async () => void (await Promise.all([own.end(), users.end()])));
  const store = await PostgresProvider.open(own, { schema, notifications: false, prepare: true });
  await own.query(`ALTER TABLE ${schema}.kept SET (autovacuum_enabled = off)`);
  await own.query(`VACUUM ANALYZE ${schema}.kept`);

  const startOfUser = async (id: string): Promise<readonly CommitResult[]> => {
    const client = await users.connect();
    await client.query("BEGIN");
    const results = await store.writeWithin(client, [startItem({ id })]);
    await client.query("COMMIT");
    client.release();
    return results;
  };
  const startWithMessage = async (id: string): Promise<void> => {
    await store.commit([keepItem({ id })]);
    const results = isOfUser ? await startOfUser(id) : await store.commit([startItem({ id })]);
    expect(results).toMatchObject([{ kind: "started" }]);
    const instance = await store.readInstance(id);
    expect(await store.readInbox(instance?.key ?? 0)).toMatchObject([
      { kind: "start" },
      { kind: "event" },
    ]);
  };
  const keptRead = async (): Promise<number> => {
    await rowsRead(users, schema); // the server has then counted what each connection read
    return (await rowsRead(own, schema)).get("kept") ?? 0;
  };

  for (let i = 0; i < 7; i++) await startWithMessage(`first-${i}`); // PostgreSQL has chosen its plan by then
  await store.commit(Array.from({ length: WAITING }, (_each, i) => keepItem({ id: `waits-${i}` })));
  const before = await keptRead();
  await startWithMessage("last");
  const read = (await keptRead()) - before;
  expect(read).toBeGreaterThan(0);
  expect(read).toBeLessThan(WAITING / 2);
});

// All transactions lock rows in the same order, so no two groups wait for each other (batched-writes.1).

import { expect, test } from "vitest";
import { sendItem, startItem } from "../../../src/testing/conformance/fixture.ts";
import { postgres } from "../../support/postgres.ts";
import { openStoreFor, ownSchema, until, urlWith } from "./support.ts";

const INSTANCES = 40;
const ROUNDS = 60;

test(`in ${ROUNDS} rounds two processes send to the same ${INSTANCES} instances in opposite order without a deadlock`, async () => {
  const schema = ownSchema();
  // The server looks for deadlocks before the store gives up waiting for a lock, which it also does on a busy machine.
  const options = "-c deadlock_timeout=10ms";
  const target = await urlWith((url) => url.searchParams.set("options", options));
  const one = await openStoreFor([], { schema, target });
  const other = await openStoreFor([], { schema, target });
  const ids = Array.from({ length: INSTANCES }, (_, index) => `instance-${index}`);
  await one.commit(ids.map((id) => startItem({ id })));
  const before = await statistics();
  for (let round = 0; round < ROUNDS; round++) {
    await Promise.all([
      one.commit(ids.map((id) => sendItem({ id }))),
      other.commit(ids.toReversed().map((id) => sendItem({ id }))),
    ]);
  }
  // A connection reports its statistics when it ends.
  for (const store of [one, other]) await store.close();
  await until("the commits are counted", async () => {
    return (await statistics()).commits >= before.commits + 2 * ROUNDS;
  });
  expect((await statistics()).deadlocks).toBe(before.deadlocks);
});

test("the statistics of PostgreSQL count a deadlock", async () => {
  const { query } = await postgres();
  const schema = ownSchema();
  await query(`CREATE SCHEMA ${schema}`);
  await query(`CREATE TABLE ${schema}.pair AS SELECT * FROM (VALUES (1), (2)) AS v (n)`);
  const before = await deadlocks();
  const lock = (first: number, second: number): Promise<unknown> =>
    query(`DO $$ BEGIN
      PERFORM n FROM ${schema}.pair WHERE n = ${first} FOR UPDATE;
      PERFORM pg_sleep(0.3);
      PERFORM n FROM ${schema}.pair WHERE n = ${second} FOR UPDATE;
    END $$`);
  const ends = await Promise.allSettled([lock(1, 2), lock(2, 1)]);
  expect(ends.filter(({ status }) => status === "rejected")).toHaveLength(1);
  await until("the deadlock is counted", async () => (await deadlocks()) > before);
});

async function deadlocks(): Promise<number> {
  return (await statistics()).deadlocks;
}

async function statistics(): Promise<{ readonly deadlocks: number; readonly commits: number }> {
  const { query } = await postgres();
  const sql = `SELECT deadlocks, xact_commit AS commits FROM pg_stat_database
    WHERE datname = current_database()`;
  const [row] = await query(sql);
  return { deadlocks: Number(row?.["deadlocks"]), commits: Number(row?.["commits"]) };
}

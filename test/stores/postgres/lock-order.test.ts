// All transactions lock rows in the same order, so no two groups wait for each other (batched-writes.1).

import { expect, test } from "vitest";
import { sendItem, startItem } from "../../../src/testing/conformance/fixture.ts";
import { postgres } from "../../support/postgres.ts";
import { openStoreFor, ownSchema, until } from "./support.ts";

const INSTANCES = 40;
const ROUNDS = 60;

test(`in ${ROUNDS} rounds two processes send to the same ${INSTANCES} instances in opposite order without a deadlock`, async () => {
  const schema = ownSchema();
  const one = await openStoreFor([], { schema });
  const other = await openStoreFor([], { schema });
  const ids = Array.from({ length: INSTANCES }, (_, index) => `instance-${index}`);
  await one.commit(ids.map((id) => startItem({ id })));
  const before = await lockFailures();
  for (let round = 0; round < ROUNDS; round++) {
    const [sent, received] = await Promise.all([
      one.commit(ids.map((id) => sendItem({ id }))),
      other.commit(ids.toReversed().map((id) => sendItem({ id }))),
    ]);
    expect([...sent, ...received].every(({ kind }) => kind === "done")).toBe(true);
  }
  // A deadlock would end one transaction after 100 ms with a rollback, and the store would halve its group.
  expect(await lockFailures()).toEqual(before);
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
  return (await lockFailures()).deadlocks;
}

async function lockFailures(): Promise<{ deadlocks: number; rollbacks: number }> {
  const { query } = await postgres();
  const sql = `SELECT deadlocks, xact_rollback AS rollbacks FROM pg_stat_database
    WHERE datname = current_database()`;
  const [row] = await query(sql);
  return { deadlocks: Number(row?.["deadlocks"]), rollbacks: Number(row?.["rollbacks"]) };
}

// A lease request skips locked rows and does not wait (SKIP LOCKED for instances and tasks).

import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import {
  ALPHA,
  BETA,
  CHARGE,
  fresh,
  newTask,
  scheduledText,
  sessionsOf,
  startItem,
  TARGETS,
  turnItem,
} from "../../../src/testing/conformance/fixture.ts";
import { postgres } from "../../support/postgres.ts";
import { openStoreFor, ownSchema } from "./support.ts";

const LEASE = { limit: 10, targets: TARGETS, allowSuspect: true, messagesMax: 10 };
const IDS = ["one", "two", "three"];

test("a lease request for instances skips a row locked by a transaction", async () => {
  const schema = ownSchema();
  const store = await openStoreFor([ALPHA, BETA], { schema });
  await store.commit(IDS.map((id) => startItem({ id })));
  const lock = await lockRows(`SELECT 1 FROM ${schema}.instances WHERE id = 'two' FOR UPDATE`);
  const taken = await store.leaseInstances({ ...LEASE, owner: ALPHA, token: fresh() });
  expect(taken.instances.map(({ id }) => id)).toEqual(["one", "three"]);
  await lock.end();
  const rest = await store.leaseInstances({ ...LEASE, owner: BETA, token: fresh() });
  expect(rest.instances.map(({ id }) => id)).toEqual(["two"]);
});

test("a lease request for tasks skips a row locked by a transaction", async () => {
  const schema = ownSchema();
  const store = await openStoreFor([ALPHA, BETA], { schema });
  await store.commit(IDS.map((id) => startItem({ id })));
  const { instances } = await store.leaseInstances({ ...LEASE, owner: ALPHA, token: fresh() });
  for (const { messages, ...instance } of instances) {
    const consumed = messages.map(({ id }) => id);
    const tasks = [newTask({ sequence: 1 })];
    const turn = { events: [scheduledText()], tasks, consumed };
    await store.commit([turnItem({ ...instance, runId: "r" }, turn)]);
  }
  const keyOfTwo = instances.find(({ id }) => id === "two")?.key;
  const lock = await lockRows(
    `SELECT 1 FROM ${schema}.tasks WHERE instance = ${keyOfTwo} FOR UPDATE`,
  );
  const lease = {
    ...{ owner: BETA, limit: 10, names: [CHARGE], tags: "any" as const },
    ...{ allowSuspect: true, sessions: sessionsOf(BETA) },
  };
  const taken = await store.leaseTasks({ ...lease, token: fresh() });
  expect(taken.tasks.map(({ instanceId }) => instanceId)).toEqual(["one", "three"]);
  await lock.end();
  const rest = await store.leaseTasks({ ...lease, token: fresh() });
  expect(rest.tasks.map(({ instanceId }) => instanceId)).toEqual(["two"]);
});

/** A transaction that locks these rows until it ends. */
async function lockRows(sql: string): Promise<{ end(): Promise<void> }> {
  const client = new pg.Client({ connectionString: (await postgres()).url });
  await client.connect();
  let isOver = false;
  const end = async (): Promise<void> => {
    if (!isOver) await client.end();
    isOver = true;
  };
  onTestFinished(end);
  await client.query("BEGIN");
  const { rowCount } = await client.query(sql);
  expect(rowCount).toBe(1);
  return { end };
}

// A lease request first finds instances, then takes them. An instance that is released in between, with a due message,
// is taken first and replaces another one. It is returned once, and the replaced one is not forgotten (postgres.leases.3).
// A queue that is paused while a request reads the tasks gives it none.

import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import {
  ALPHA,
  CHARGE,
  eventText,
  fresh,
  newTask,
  scheduledText,
  sendItem,
  sessionsOf,
  startItem,
  TARGETS,
  turnItem,
} from "../../../src/testing/conformance/fixture.ts";
import { VirtualEnvironment } from "../../../src/testing/virtual-environment.ts";
import { postgres } from "../../support/postgres.ts";
import { openStoreFor, ownSchema, until } from "./support.ts";

test("an instance released between finding and taking is returned once, and more is true", async () => {
  const environment = new VirtualEnvironment(); // a fixed time, so that age decides the order
  const schema = ownSchema();
  const pool = new pg.Pool({ connectionString: (await postgres()).url, max: 4 });
  onTestFinished(() => pool.end());
  const options = { environment, schema, notifications: false };
  const direct = await openStoreFor([ALPHA], options);
  const provider = await openStoreFor([], { ...options, target: pool });
  const lease = {
    ...{ owner: ALPHA, limit: 10, targets: TARGETS, allowSuspect: true, messagesMax: 10 },
  };
  await direct.commit([startItem({ id: "first" })]);
  const [first] = (await direct.leaseInstances({ ...lease, token: fresh() })).instances;
  if (first === undefined) throw new Error("no instance could be leased");
  await direct.commit([startItem({ id: "second" })]);

  let connects = 0;
  const connect = pool.connect.bind(pool) as () => Promise<pg.PoolClient>;
  pool.connect = (async () => {
    connects += 1;
    if (connects === 2) {
      const consumed = first.messages.map(({ id }) => id);
      const turn = { events: [eventText()], consumed, release: true };
      await direct.commit([turnItem({ ...first, runId: "r" }, turn)]);
      await direct.commit([sendItem({ id: "first" })]);
    }
    return connect();
  }) as typeof pool.connect;
  const leased = await provider.leaseInstances({ ...lease, token: fresh() });
  expect(connects).toBe(2);
  expect(leased.instances.map(({ id, fresh: isFresh }) => [id, isFresh])).toEqual([
    ["first", true],
  ]);
  expect(leased.more).toBe(true);
  const next = await provider.leaseInstances({ ...lease, token: fresh() });
  expect(next.instances.filter(({ fresh: isFresh }) => isFresh).map(({ id }) => id)).toEqual([
    "second",
  ]);
});

test("a queue that is paused while a request reads its tasks gives none", async () => {
  const schema = ownSchema();
  const store = await openStoreFor([ALPHA], { schema, notifications: false });
  await store.commit([startItem({ id: "one" })]);
  const lease = { owner: ALPHA, limit: 10, allowSuspect: true };
  const instances = { ...lease, token: fresh(), targets: TARGETS, messagesMax: 10 };
  const [held] = (await store.leaseInstances(instances)).instances;
  if (held === undefined) throw new Error("no instance could be leased");
  const consumed = held.messages.map(({ id }) => id);
  const turn = { events: [scheduledText()], tasks: [newTask({ sequence: 1 })], consumed };
  await store.commit([turnItem({ ...held, runId: "r" }, turn)]);

  const { url } = await postgres();
  const blocker = new pg.Client({ connectionString: url });
  await blocker.connect();
  onTestFinished(() => blocker.end());
  await blocker.query(`BEGIN; LOCK TABLE ${schema}.sessions IN ACCESS EXCLUSIVE MODE`);
  const sessions = sessionsOf(ALPHA);
  const leasing = store.leaseTasks({
    ...lease,
    token: fresh(),
    names: [CHARGE],
    tags: "any",
    sessions,
  });
  await until("the request waits for the table of sessions", async () => {
    const waiting = "SELECT 1 FROM pg_locks WHERE relation = $1::regclass AND NOT granted";
    return (await blocker.query(waiting, [`${schema}.sessions`])).rowCount === 1;
  });
  await store.pauseQueue(CHARGE, "{}");
  await blocker.query("COMMIT");
  expect((await leasing).tasks).toEqual([]);
});

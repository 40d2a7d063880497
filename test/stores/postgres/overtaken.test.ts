// A lease request first finds instances, then takes them. An instance that is released in between, with a due message,
// is taken first and replaces another one. It is returned once, and the replaced one is not forgotten (postgres.leases.3).

import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import {
  ALPHA,
  eventText,
  fresh,
  sendItem,
  startItem,
  TARGETS,
  turnItem,
} from "../../../src/testing/conformance/fixture.ts";
import { VirtualEnvironment } from "../../../src/testing/virtual-environment.ts";
import { postgres } from "../../support/postgres.ts";
import { openStoreFor, ownSchema } from "./support.ts";

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

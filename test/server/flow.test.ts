// The flow that an instance runs, told over HTTP by whoever registers it.

import { expect, test } from "vitest";
import { flow } from "../../src/index.ts";
import { openScene, worker } from "./support.ts";

const order = flow<number>("order")
  .then("double", (n) => n * 2)
  .then("add", (n) => n + 1)
  .build();

test("an instance of a flow comes with its definition, one of an orchestration without", async () => {
  const { perdure, call } = await openScene({}, [order]);
  await (await perdure.client.start(order, 1, { id: "flow" })).result();
  await perdure.client.start(worker, 1, { id: "plain" });
  const told = await call("viewer", "GET", "/instances/flow/flow");
  expect(await told.json()).toEqual({ definition: order.definition });
  expect(await (await call("viewer", "GET", "/instances/plain/flow")).json()).toEqual({});
  expect((await call("viewer", "GET", "/instances/nobody/flow")).status).toBe(404);
});

test("when the runtime has gone, nobody tells it any more", async () => {
  const { perdure, call } = await openScene({}, [order]);
  await (await perdure.client.start(order, 1, { id: "flow" })).result();
  await perdure.runtime.shutdown();
  expect(await (await call("viewer", "GET", "/instances/flow/flow")).json()).toEqual({});
});

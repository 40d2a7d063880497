// The definition of an instance's flow over HTTP; it comes from a runtime that registers the flow.

import { expect, test } from "vitest";
import { flow } from "../../../src/flow/index.ts";
import { openScene, worker } from "./support.ts";

const order = flow<number>("order")
  .then("double", (n) => n * 2)
  .then("add", (n) => n + 1)
  .build();

test("an instance of a flow comes with its definition, an instance of an orchestration without", async () => {
  const { perdure, call } = await openScene({}, [order]);
  await (await perdure.client.start(order, 1, { id: "flow" })).result();
  await perdure.client.start(worker, 1, { id: "plain" });
  const answer = await call("viewer", "GET", "/instances/flow/flow");
  expect(await answer.json()).toEqual({ definition: order.definition });
  expect(await (await call("viewer", "GET", "/instances/plain/flow")).json()).toEqual({});
  expect((await call("viewer", "GET", "/instances/missing/flow")).status).toBe(404);
});

test("after the runtime has shut down, the definition is absent", async () => {
  const { perdure, call } = await openScene({}, [order]);
  await (await perdure.client.start(order, 1, { id: "flow" })).result();
  await perdure.runtime.shutdown();
  expect(await (await call("viewer", "GET", "/instances/flow/flow")).json()).toEqual({});
});

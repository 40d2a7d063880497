// The loop of an entity: which turns write its state.

import { expect, test } from "vitest";
import { entity } from "../../../src/entity/index.ts";
import { orchestration } from "../../../src/index.ts";
import { TestEnvironment, type StoreCall } from "../../../src/testing/index.ts";

const account = entity("account", {
  state: () => ({ cents: 0 }),
  handlers: { deposit: (self, cents: number) => (self.state.cents += cents) },
  reads: { balance: (state) => state.cents },
});
const thrice = orchestration("thrice", async (ctx) => {
  const ada = ctx.entity(account, "ada");
  return [await ada.deposit(5), await ada.deposit(0), await ada.deposit(2)];
});

test("a handler that changes nothing does not write the state again", async () => {
  const written: unknown[] = [];
  const call = ({ method, args }: StoreCall): undefined => {
    if (method !== "commit") return;
    for (const item of args[0]) {
      if (item.kind === "turn") written.push(...(item.state?.keyValues ?? []));
    }
  };
  await using kit = await TestEnvironment.create({ register: [account, thrice], faults: { call } });
  expect(await (await kit.start(thrice)).result()).toEqual([5, 5, 7]);
  expect(written).toEqual([
    { key: "perdure.state", value: '{"cents":5}' },
    { key: "perdure.state", value: '{"cents":7}' },
  ]);
  expect(await kit.client.entity(account, "ada").balance()).toBe(7);
});

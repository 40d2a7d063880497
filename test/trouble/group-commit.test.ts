// How groups follow each other (GC1, GC2, GC6 of src/core/committer.ts), seen from outside by what the store is asked.

import { expect, test } from "vitest";
import { Client, orchestration } from "../../src/index.ts";
import { virtualStore } from "./support.ts";
import { wrapProvider } from "./wrapped-provider.ts";

const STARTS = 300;

test("the next group is on its way before anybody hears of the last, and never two are", async () => {
  const { provider } = await virtualStore();
  const seen: string[] = [];
  let underWay = 0;
  const wrapped = wrapProvider(provider, {
    isRemote: true,
    async commit(items) {
      underWay += 1;
      seen.push(`${items.length} sent, ${underWay} under way`);
      // As a connection does that has to be fetched from its pool first.
      await new Promise<void>((resolve) => provider.environment.immediate(resolve));
      const results = await provider.commit(items);
      underWay -= 1;
      return results;
    },
  });
  const nothing = orchestration("nothing", () => Promise.resolve());
  const client = new Client(wrapped);
  const started = Array.from({ length: STARTS }, async (_, index) => {
    await client.start(nothing, undefined, { id: `start-${index}` });
    if (index === 0) seen.push("the first is answered");
  });
  await Promise.all(started);
  expect(seen).toEqual(["256 sent, 1 under way", "44 sent, 1 under way", "the first is answered"]);
});

test("answers keep the order of their groups, however quickly the second comes", async () => {
  const { provider } = await virtualStore();
  const wrapped = wrapProvider(provider, { isRemote: true });
  const nothing = orchestration("nothing", () => Promise.resolve());
  const client = new Client(wrapped);
  const told: number[] = [];
  const started = Array.from({ length: 3 * STARTS }, async (_, index) => {
    await client.start(nothing, undefined, { id: `start-${index}` });
    told.push(index);
  });
  await Promise.all(started);
  expect(told).toEqual(told.toSorted((a, b) => a - b));
});

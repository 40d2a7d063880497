// W12: asks an entity and gets the answer, all in one process.
//   One ask at a time on an idle system; many asks in flight on one key; many asks in flight, each on a key of its own.
//   Every handler adds one and returns the sum, so the sums show that each ask was handled once.

import { strict as assert } from "node:assert";
import { entity } from "../../src/entity/index.ts";
import type { Client } from "../../src/index.ts";
import { forEachOf, timeMs } from "../measure.ts";
import { askSizes, ASKS_HOT, ASKS_SPREAD } from "../sizes.ts";
import type { Run } from "../subject.ts";
import { measureLatency } from "../support/latency.ts";
import { withPerdure } from "../support/open.ts";

const counter = entity("counter", {
  state: () => ({ sum: 0 }),
  handlers: { add: (self, value: number) => (self.state.sum += value) },
});

export const run: Run = (setting) =>
  withPerdure(setting, { register: [counter] }, async ({ client }) => {
    const one = client.entity(counter, "one");
    let asked = 0;
    const latency = await measureLatency(setting, () =>
      timeMs(async () => assert.equal(await one.add(1), ++asked)),
    );
    const { hot, perKey } = askSizes(setting);
    return [
      ...latency,
      { metric: "hotAsksPerS", value: await hotKey(client, hot), n: ASKS_HOT },
      { metric: "asksPerS", value: await manyKeys(client, perKey), n: ASKS_SPREAD },
    ];
  });

async function hotKey(client: Client, asks: number): Promise<number> {
  const hot = client.entity(counter, "hot");
  const ask = async (): Promise<void> => void (await hot.add(1));
  await forEachOf(asks / 4, ASKS_HOT, ask); // the warm-up
  const ms = await timeMs(() => forEachOf(asks, ASKS_HOT, ask));
  assert.equal(await hot.add(0), asks + asks / 4);
  return (asks / ms) * 1_000;
}

/** Each lane has a key of its own, and one ask in flight. */
async function manyKeys(client: Client, perKey: number): Promise<number> {
  const lane = async (index: number, asks: number): Promise<void> => {
    const calls = client.entity(counter, `key-${index}`);
    for (let i = 0; i < asks; i++) await calls.add(1);
  };
  const round = (asks: number): Promise<void> =>
    forEachOf(ASKS_SPREAD, ASKS_SPREAD, (index) => lane(index, asks));
  await round(perKey / 4); // the warm-up, which also creates the keys
  const ms = await timeMs(() => round(perKey));
  assert.equal(await client.entity(counter, "key-0").add(0), perKey + perKey / 4);
  return ((ASKS_SPREAD * perKey) / ms) * 1_000;
}

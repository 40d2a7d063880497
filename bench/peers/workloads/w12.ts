// W12 for peers with objects that have a key: asks an object and gets the answer.

import { strict as assert } from "node:assert";
import { forEachOf, timeMs } from "../../measure.ts";
import { ASKS_HOT, ASKS_SPREAD } from "../../sizes.ts";
import type { Engine } from "../peer.ts";
import { withEngine, type PeerRun } from "../run.ts";
import { ASKS_PER_KEY, HOT_ASKS } from "../sizes.ts";
import { measureLatency } from "./latency.ts";

export const run: PeerRun = (order) =>
  withEngine(order, "many", async ({ ask }) => {
    assert.ok(ask !== undefined, "the peer has objects");
    let asked = 0;
    const latency = await measureLatency(order.setting, () =>
      timeMs(async () => assert.equal(await ask("one", 1), ++asked)),
    );
    return [
      ...latency,
      { metric: "hotAsksPerS", value: await hotKey(ask), n: ASKS_HOT },
      { metric: "asksPerS", value: await manyKeys(ask), n: ASKS_SPREAD },
    ];
  });

type Ask = NonNullable<Engine["ask"]>;

async function hotKey(ask: Ask): Promise<number> {
  const one = async (): Promise<void> => void (await ask("hot", 1));
  await forEachOf(HOT_ASKS / 4, ASKS_HOT, one); // the warm-up
  const ms = await timeMs(() => forEachOf(HOT_ASKS, ASKS_HOT, one));
  assert.equal(await ask("hot", 0), HOT_ASKS + HOT_ASKS / 4);
  return (HOT_ASKS / ms) * 1_000;
}

/** Each lane has a key of its own, and one ask in flight. */
async function manyKeys(ask: Ask): Promise<number> {
  const round = (asks: number): Promise<void> =>
    forEachOf(ASKS_SPREAD, ASKS_SPREAD, async (index) => {
      for (let i = 0; i < asks; i++) await ask(`key-${index}`, 1);
    });
  await round(ASKS_PER_KEY / 4); // the warm-up, which also creates the keys
  const ms = await timeMs(() => round(ASKS_PER_KEY));
  return ((ASKS_SPREAD * ASKS_PER_KEY) / ms) * 1_000;
}

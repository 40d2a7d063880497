// W5: from raising an event, for which an instance waits, to the instance's result, on an idle system.

import { strict as assert } from "node:assert";
import { event, orchestration } from "../../src/index.ts";
import { timeMs, until } from "../measure.ts";
import { samples } from "../sizes.ts";
import type { Run } from "../subject.ts";
import { measureLatency } from "../support/latency.ts";
import { assertUntroubled, withPerdure } from "../support/open.ts";

const go = event<number>("go");
const waiter = orchestration("waiter", (ctx, _: undefined) => ctx.waitFor(go));

export const run: Run = (setting) =>
  withPerdure(setting, { register: [waiter] }, async (perdure) => {
    const readings = await measureLatency(setting, async (i) => {
      const handle = await perdure.client.start(waiter);
      const waits = async (): Promise<boolean> => (await handle.describe()).waitingFor.length === 1;
      await until("the instance waits for its event", waits, { everyMs: 1 });
      return timeMs(async () => {
        await handle.raise(go, i);
        assert.equal(await handle.result(), i);
      });
    });
    const { n, warmUp } = samples(setting);
    await assertUntroubled(perdure, n + warmUp);
    return readings;
  });

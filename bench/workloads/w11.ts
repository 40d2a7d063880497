// W11: describing an instance of n events, and reading one page of its history.
//   The instance runs n / 2 activities, 50 at a time, and then waits for an event. A client without a runtime reads it.
//   A figure is processor time, the median of the reads after a warm-up.

import { strict as assert } from "node:assert";
import { event, orchestration, type Perdure } from "../../src/index.ts";
import { until } from "../measure.ts";
import { DESCRIBED_EVENTS, DESCRIBES } from "../sizes.ts";
import { median } from "../statistics.ts";
import type { Run } from "../subject.ts";
import { increment } from "../support/five-steps.ts";
import { withPerdure } from "../support/open.ts";

const TOGETHER = 50;
const PAGE = 100;
/** OrchestrationStarted, and the subscription to the event. */
const OTHER_EVENTS = 2;
const ID = "long";

const go = event<number>("go");
const long = orchestration("long", async (ctx, steps: number) => {
  for (let i = 0; i < steps; i += TOGETHER) {
    await Promise.all(Array.from({ length: TOGETHER }, (_, j) => ctx.run(increment, i + j)));
  }
  return ctx.waitFor(go);
});

export const run: Run = async (setting) => {
  const n = DESCRIBED_EVENTS;
  const limits = { historyEventsMax: 2 * n };
  const register = [long, increment];
  await withPerdure(setting, { register, runtime: { limits } }, (perdure) => write(perdure, n));
  return withPerdure(setting, { register: [] }, async ({ client }) => {
    const handle = client.get(ID);
    const after = n - 10 * PAGE;
    assert.equal((await handle.history({ after, limit: PAGE })).length, PAGE);
    return [
      { metric: "describeCpuMs", value: await cpuMs(() => handle.describe()), n },
      { metric: "pageCpuMs", value: await cpuMs(() => handle.history({ after, limit: PAGE })), n },
    ];
  });
};

async function write(perdure: Perdure, events: number): Promise<void> {
  const handle = await perdure.client.start(long, events / 2, { id: ID });
  const waits = async (): Promise<boolean> =>
    (await handle.describe()).waitingFor.some(({ kind }) => kind === "event");
  await until("the instance waits for its event", waits, { everyMs: 200 });
  assert.equal((await handle.stats()).events, events + OTHER_EVENTS);
}

async function cpuMs(read: () => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  for (let i = 0; i < 2 * DESCRIBES; i++) {
    const before = process.cpuUsage();
    await read();
    const { user, system } = process.cpuUsage(before);
    if (i >= DESCRIBES) times.push((user + system) / 1_000);
  }
  return median(times);
}

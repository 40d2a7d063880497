// Memory that a runtime retains after work has ended.

import { expect, onTestFinished, test } from "vitest";
import { activity, event, orchestration, Perdure } from "../../../src/index.ts";
import { heapInUse } from "../../support/garbage.ts";
import { freshStore, sizeOn } from "../../support/test-store.ts";

const PAYLOAD_BYTES = 500_000;
const INSTANCES = sizeOn({ sqlite: 40, postgres: 20 });
const payload = (letter: string): string => letter.repeat(PAYLOAD_BYTES);

const produce = activity("produce", (letter: string) => payload(letter));
const note = event<string>("note");
const measure = orchestration("measure", async (_ctx, text: string) => text.length);
const large = orchestration("large", async (ctx, input: string) => {
  const result = await ctx.run(produce, "r");
  const step = await ctx.step("compute", () => payload("s"));
  const received = await ctx.waitFor(note);
  const child = await ctx.call(measure, result);
  return input.length + step.length + received.length + child;
});

test("the payloads of finished instances are released from memory", async () => {
  const perdure = await Perdure.open(await freshStore(), { register: [large, measure, produce] });
  onTestFinished(() => perdure.close());
  const runOne = async (): Promise<void> => {
    const handle = await perdure.client.start(large, payload("i"));
    await handle.raise(note, payload("n"));
    expect(await handle.result()).toBe(4 * PAYLOAD_BYTES);
  };
  await runOne();
  await runOne();
  const before = await heapInUse();
  for (let i = 0; i < INSTANCES; i++) await runOne();
  const grownBytes = (await heapInUse()) - before;
  // Each instance handles four payloads. Keeping one of the four would be 20 MB, or 10 MB for 20 instances.
  expect(grownBytes).toBeLessThan((INSTANCES * PAYLOAD_BYTES) / 2);
});

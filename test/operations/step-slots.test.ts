// Slots of steps: a step that is dropped frees its slot for the steps that wait.

import { expect, onTestFinished, test } from "vitest";
import { orchestration, Perdure } from "../../src/index.ts";
import { freshStore } from "../support/test-store.ts";

test("a step that waits for a slot runs as soon as the step in the slot is dropped", async () => {
  const { promise: entered, resolve: enter } = Promise.withResolvers<void>();
  const hangs = orchestration("hangs", (ctx) =>
    ctx.step("hang", () => {
      enter();
      return new Promise<never>(() => undefined); // ignores its abort signal
    }),
  );
  const quick = orchestration("quick", (ctx) => ctx.step("add", () => 1));
  const perdure = await Perdure.open(await freshStore(), {
    register: [hangs, quick],
    runtime: { log: () => undefined, stepConcurrency: 1 },
  });
  onTestFinished(() => perdure.close({ graceMs: 0 }));
  const hanging = await perdure.client.start(hangs);
  await entered;
  const waiting = await perdure.client.start(quick);
  await expect.poll(async () => (await waiting.describe()).waitingFor).toHaveLength(1);
  await hanging.terminate("it hangs");
  expect(await waiting.result({ timeout: "20s" })).toBe(1);
});

// Pause and resume, unblock (semantics 5, 19a, 20).

import { expect, test } from "vitest";
import { activity, orchestration, Perdure } from "../../../src/index.ts";
import { freshStore } from "../../support/test-store.ts";
import { go, open, untilWaiting, worker } from "./support.ts";

test("a paused instance takes no messages; they wait in order until resume", async () => {
  const perdure = await open();
  const handle = await perdure.client.start(worker, 1, { id: "w" });
  await untilWaiting(perdure, "w");
  await handle.pause({ reason: "audit", by: "ada" });
  await handle.raise(go, "first");
  expect(await handle.describe()).toMatchObject({
    status: "paused",
    paused: { reason: "audit", by: "ada" },
  });
  await expect(handle.result({ timeout: 50 })).rejects.toMatchObject({ code: "TIMEOUT" });
  await handle.resume();
  expect(await handle.result()).toMatchObject({ word: "first" });
});

test("an activity that runs when its instance is paused completes once, and its result waits for resume", async () => {
  const started = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<string>();
  let runs = 0;
  const slow = activity("slow", async () => {
    runs++;
    started.resolve();
    return gate.promise;
  });
  const one = orchestration("one", async (ctx) => ctx.run(slow));
  const perdure = await Perdure.open(await freshStore(), {
    register: [one, slow],
    runtime: { log: () => undefined },
  });
  const handle = await perdure.client.start(one, undefined, { id: "p" });
  await started.promise;
  await handle.pause("hold");
  gate.resolve("done");
  await expect(handle.result({ timeout: 50 })).rejects.toMatchObject({ code: "TIMEOUT" });
  await handle.resume();
  expect(await handle.result()).toBe("done");
  expect(runs).toBe(1);
  await perdure.close();
});

test("a step that runs when its instance is paused does not run again after resume", async () => {
  const started = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<number>();
  let runs = 0;
  const one = orchestration("one", async (ctx) =>
    ctx.step("slow", async () => {
      runs++;
      started.resolve();
      return gate.promise;
    }),
  );
  const perdure = await open([one], { shadowReplay: "never" });
  const handle = await perdure.client.start(one, undefined, { id: "p" });
  await started.promise;
  await handle.pause("hold");
  gate.resolve(7);
  await expect(handle.result({ timeout: 50 })).rejects.toMatchObject({ code: "TIMEOUT" });
  await handle.resume();
  expect(await handle.result()).toBe(7);
  expect(runs).toBe(1);
});

test("a cancel ends a paused instance", async () => {
  const perdure = await open();
  const handle = await perdure.client.start(worker, 1, { id: "w" });
  await untilWaiting(perdure, "w");
  await handle.pause();
  await handle.cancel("enough");
  await expect(handle.result()).rejects.toMatchObject({ kind: "cancelled" });
});

test("pause and resume of a missing or ended instance are refused", async () => {
  const perdure = await open();
  const unknown = perdure.client.get("unknown");
  await expect(unknown.pause()).rejects.toMatchObject({ code: "INSTANCE_NOT_FOUND" });
  const handle = await perdure.client.start(worker, 1, { id: "w" });
  await handle.raise(go, "on");
  await handle.result();
  await expect(handle.pause()).rejects.toMatchObject({ code: "INSTANCE_FINISHED" });
});

test("after unblock the runtime that reported the block retries the instance", async () => {
  let foreign: Promise<unknown> = new Promise(() => undefined);
  const odd = orchestration("odd", async (ctx) => {
    await foreign;
    await ctx.sleep(1);
    return "through";
  });
  const perdure = await Perdure.open(await freshStore(), {
    register: [odd],
    runtime: { log: () => undefined },
  });
  const handle = await perdure.client.start(odd, undefined, { id: "o" });
  for await (const info of handle.watch()) if (info.blocked !== undefined) break;
  expect((await handle.describe()).blocked).toMatchObject({ code: "FOREIGN_AWAIT" });
  foreign = Promise.resolve();
  await handle.unblock();
  expect(await handle.result()).toBe("through");
  await perdure.close();
});

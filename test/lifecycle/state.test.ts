// Custom status, key-values and attributes, as a client sees them.

import { expect, test } from "vitest";
import { orchestration } from "../../src/index.ts";
import { virtualWorld } from "../trouble/support.ts";
import { double, go, open, untilWaiting, worker } from "./support.ts";

test("watch tells every status that is committed, the last one always, and ends with the instance", async () => {
  const { client } = await open();
  const handle = await client.start(worker, 21, { id: "w" });
  const seen: unknown[] = [];
  for await (const info of handle.watch()) {
    if (seen.at(-1) !== info.customStatusVersion) seen.push(info.customStatusVersion);
    if (info.waitingFor.some((wait) => wait.kind === "event")) await handle.raise(go, "now");
    if (info.status === "completed") expect(info.customStatus).toBeUndefined();
  }
  expect(seen.at(-1)).toBe(3);
  expect(await handle.result()).toEqual({ doubled: 42, word: "now" });
});

test("key-values are readable while it runs, can be waited for, and stay after the end", async () => {
  const { client } = await open();
  const handle = await client.start(worker, 4, { id: "w" });
  expect(await handle.kv.waitFor("doubled", { timeout: "5s" })).toBe(8);
  await handle.raise(go, "on");
  await handle.result();
  expect(await handle.kv.entries()).toEqual([["doubled", 8]]);
  expect(await handle.kv.get("other")).toBeUndefined();
});

test("a key that never comes is a TIMEOUT, one of an instance that does not exist INSTANCE_NOT_FOUND", async () => {
  const { client } = await open();
  const handle = await client.start(worker, 4, { id: "w" });
  const late = handle.kv.waitFor("other", { timeout: 30 });
  await expect(late).rejects.toMatchObject({ code: "TIMEOUT" });
  const nobody = client.get("nobody").kv.waitFor("x");
  await expect(nobody).rejects.toMatchObject({ code: "INSTANCE_NOT_FOUND" });
});

test("status, key-values and attributes survive continueAsNew; the version goes on counting", async () => {
  const twice = orchestration("twice", async (ctx, round: number): Promise<unknown> => {
    if (round === 0) {
      ctx.setStatus("first");
      ctx.kv.set("big", 12n);
      ctx.kv.set("gone", 1);
      ctx.kv.delete("gone");
      ctx.setAttributes({ tenant: "a", draft: "yes" });
      ctx.setAttributes({ draft: null });
      return ctx.continueAsNew(1);
    }
    return { status: ctx.status, kv: ctx.kv.entries(), attributes: ctx.info.attributes };
  });
  const { client } = await open([twice]);
  const handle = await client.start(twice, 0);
  expect(await handle.result()).toEqual({
    status: "first",
    kv: [["big", 12n]],
    attributes: { tenant: "a" },
  });
  expect(await handle.describe()).toMatchObject({ customStatus: "first", customStatusVersion: 1 });
});

test("another instance's key is read once and recorded; a missing one is undefined", async () => {
  const reader = orchestration("reader", async (ctx, id: string) => [
    await ctx.kv.of(id).get("doubled"),
    await ctx.kv.of(id).get("missing"),
    await ctx.kv.of("nobody").get("doubled"),
  ]);
  const perdure = await open([reader]);
  await perdure.client.start(worker, 5, { id: "w" });
  await untilWaiting(perdure, "w");
  const handle = await perdure.client.start(reader, "w");
  expect(await handle.result()).toEqual([10, undefined, undefined]);
});

test("a watcher in the same process is pushed every turn, also one that changes nothing but the wait", async () => {
  const quiet = orchestration("quiet", async (ctx) => {
    await ctx.run(double, 1);
    return ctx.event(go);
  });
  const { client } = await virtualWorld([quiet, double]);
  const seen: string[] = [];
  const handle = await client.start(quiet, undefined, { id: "q" });
  for await (const { status, waitingFor } of handle.watch()) {
    seen.push(`${status} ${waitingFor.map(({ kind }) => kind).join()}`);
    if (waitingFor.some(({ kind }) => kind === "event")) break; // on virtual time no safety net has looked
  }
  expect(seen.at(-1)).toBe("running event");
});

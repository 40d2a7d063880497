// Custom status, key-values and attributes as a client sees them.

import { expect, test } from "vitest";
import { activity, orchestration, RetryAfterError } from "../../../src/index.ts";
import { virtualWorld } from "../../faults/trouble/support.ts";
import { double, go, open, untilWaiting, worker } from "./support.ts";

test("watch reports committed statuses up to the last one and ends with the instance", async () => {
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

test("a client can read key-values of a running instance, wait for a key, and read them after the end", async () => {
  const { client } = await open();
  const handle = await client.start(worker, 4, { id: "w" });
  expect(await handle.kv.waitFor("doubled", { timeout: "5s" })).toBe(8);
  await handle.raise(go, "on");
  await handle.result();
  expect(await handle.kv.entries()).toEqual([["doubled", 8]]);
  expect(await handle.kv.get("other")).toBeUndefined();
});

test("waiting for a key throws TIMEOUT if the key is not set and INSTANCE_NOT_FOUND for an unknown instance", async () => {
  const { client } = await open();
  const handle = await client.start(worker, 4, { id: "w" });
  const late = handle.kv.waitFor("other", { timeout: 30 });
  await expect(late).rejects.toMatchObject({ code: "TIMEOUT" });
  const unknown = client.get("unknown").kv.waitFor("x");
  await expect(unknown).rejects.toMatchObject({ code: "INSTANCE_NOT_FOUND" });
});

test("status, status version, key-values and attributes survive continueAsNew", async () => {
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

test("reading a key of another instance returns its value, or undefined if the key is missing", async () => {
  const reader = orchestration("reader", async (ctx, id: string) => [
    await ctx.kv.of(id).get("doubled"),
    await ctx.kv.of(id).get("missing"),
    await ctx.kv.of("unknown").get("doubled"),
  ]);
  const perdure = await open([reader]);
  await perdure.client.start(worker, 5, { id: "w" });
  await untilWaiting(perdure, "w");
  const handle = await perdure.client.start(reader, "w");
  expect(await handle.result()).toEqual([10, undefined, undefined]);
});

test("a watcher in the same process is notified of every turn, also if only waitingFor changes", async () => {
  const quiet = orchestration("quiet", async (ctx) => {
    await ctx.run(double, 1);
    return ctx.waitFor(go);
  });
  const { client } = await virtualWorld([quiet, double]);
  const seen: string[] = [];
  const handle = await client.start(quiet, undefined, { id: "q" });
  for await (const { status, waitingFor } of handle.watch()) {
    seen.push(`${status} ${waitingFor.map(({ kind }) => kind).join()}`);
    if (waitingFor.some(({ kind }) => kind === "event")) break; // virtual time has not advanced, so no poll has run
  }
  expect(seen.at(-1)).toBe("running event");
});

test("a watcher in the same process is notified of a failed attempt, with the error", async () => {
  const closed = activity(
    "closed",
    async () => {
      throw new RetryAfterError("1h", "the bank is closed");
    },
    { attempts: 3 },
  );
  const main = orchestration("main", (ctx) => ctx.run(closed));
  const { client } = await virtualWorld([main, closed]);
  const handle = await client.start(main, undefined, { id: "r" });
  for await (const { waitingFor } of handle.watch()) {
    const [wait] = waitingFor;
    if (wait?.kind !== "activity" || wait.attempt === 1) continue;
    expect(wait).toMatchObject({ attempt: 2, lastError: "the bank is closed" });
    break; // virtual time has not advanced, so no poll has run
  }
});

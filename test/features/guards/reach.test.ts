// A guard acts only while the runtime drains its orchestration (guards.1).

import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { expect, test } from "vitest";
import { defaultCodec } from "../../../src/core/values/codec.ts";
import { GUARD_NAMES } from "../../../src/core/define/guard-names.ts";
import { activity, Client, orchestration, type Codec } from "../../../src/index.ts";
import { signal, temporaryFolder, virtualWorld } from "../../faults/trouble/support.ts";
import { actingGuards } from "./support.ts";

const look = activity("look", async () => {
  const first = actingGuards();
  await Promise.resolve();
  return [first, actingGuards()];
});

test("steps and activities use the originals, before and after their awaits", async () => {
  const work = orchestration("work", async (ctx) => {
    const step = ctx.step("look", async () => {
      const first = actingGuards();
      await new Promise((resolve) => setTimeout(resolve, 1));
      return [first, actingGuards()];
    });
    return { inside: actingGuards(), step: await step, activity: await ctx.run(look) };
  });
  const { client } = await virtualWorld([work, look]);
  expect(await (await client.start(work)).result()).toEqual({
    inside: GUARD_NAMES,
    step: [[], []],
    activity: [[], []],
  });
});

test("helpers, scopes, races, shields and compensations are guarded like the orchestration", async () => {
  const helper = async () => {
    await Promise.resolve();
    return actingGuards();
  };
  let compensating: unknown;
  const work = orchestration("work", async (ctx) => {
    const seen = await ctx.all([
      helper(),
      () => helper(),
      ctx.scope(helper),
      ctx.shield(helper),
      ctx.sleep("1s").map(() => actingGuards()),
      ctx.sleep("1s").then(() => actingGuards()),
      new Promise((resolve) => process.nextTick(() => resolve(actingGuards()))),
    ]);
    ctx.compensate(() => {
      compensating = actingGuards();
    });
    ctx.setStatus(seen);
    throw new Error("for the compensation");
  });
  const { client, environment } = await virtualWorld([work]);
  const handle = await client.start(work);
  await environment.advance(1_000);
  const { customStatus } = await handle.describe();
  expect(customStatus).toEqual(Array.from({ length: 7 }, () => GUARD_NAMES));
  expect(compensating).toEqual(GUARD_NAMES);
});

test("a promise chain of an orchestration uses the originals when it runs outside of a drain", async () => {
  const foreign = signal();
  const outside = signal<unknown>();
  const work = orchestration("work", async (ctx) => {
    void foreign.reached.then(() => outside.reach(actingGuards()));
    return ctx.waitFor("go");
  });
  const { client, environment } = await virtualWorld([work]);
  const handle = await client.start(work);
  await environment.settle();
  foreign.reach(); // in the async context of the orchestration, but outside of a drain
  expect(await outside.reached).toEqual([]);
  await handle.raise("go");
  await environment.settle();
  await handle.result();
});

test("a promise chain of one orchestration uses the originals in a drain of another orchestration", async () => {
  const foreign = signal();
  const seen = signal<unknown>();
  const waiting = orchestration("waiting", async (ctx) => {
    void foreign.reached.then(() => seen.reach(actingGuards()));
    return ctx.waitFor("never");
  });
  const settling = orchestration("settling", async () => {
    foreign.reach();
    return actingGuards();
  });
  const { client, environment } = await virtualWorld([waiting, settling]);
  await client.start(waiting);
  await environment.settle();
  expect(await (await client.start(settling)).result()).toEqual(GUARD_NAMES);
  expect(await seen.reached).toEqual([]);
});

test("outside code that continues because of a drain uses the originals", async () => {
  const reported = signal();
  const work = orchestration("work", async () => reported.reach());
  const { client } = await virtualWorld([work]);
  const handle = await client.start(work);
  await reported.reached;
  expect(actingGuards()).toEqual([]);
  await handle.result();
});

test("a codec that draws random bytes works inside an orchestration", async () => {
  const salted: Codec = {
    encode: (value) => `${randomBytes(4).toString("hex")}${defaultCodec.encode(value)}`,
    decode: (text) => defaultCodec.decode(text.slice(8)),
  };
  const work = orchestration("work", async (ctx, n: number) => {
    ctx.kv.set("n", n);
    ctx.setStatus({ n });
    return [ctx.kv.get("n"), await ctx.run("echo", n), actingGuards()];
  });
  const echo = activity("echo", (n: number) => n);
  const { provider, runtime } = await virtualWorld([work, echo], { codec: salted });
  const client = new Client(provider, { codec: salted });
  expect(await (await client.start(work, 7)).result()).toEqual([7, 7, GUARD_NAMES]);
  expect(runtime.stats().blocked).toBe(0);
});

test("loading a module inside an orchestration is not refused as I/O", async () => {
  const path = join(temporaryFolder(), "late.cjs");
  writeFileSync(path, `module.exports = require("./rate.json").rate;`);
  writeFileSync(path.replace("late.cjs", "rate.json"), `{ "rate": 3 }`);
  const require = createRequire(import.meta.url);
  const work = orchestration("work", async () => [require(path) as number, actingGuards()]);
  const { client } = await virtualWorld([work]);
  expect(await (await client.start(work)).result()).toEqual([3, GUARD_NAMES]);
});

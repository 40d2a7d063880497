// The client in the context of an activity uses the store of its call, also in a thread.

import { expect, test } from "vitest";
import {
  activity,
  Client,
  defaultCodec,
  event,
  orchestration,
  Perdure,
  Runtime,
  threads,
} from "../../../src/index.ts";
import {
  memoryStore,
  startRuntime,
  virtualStore,
  virtualWorld,
} from "../../faults/trouble/support.ts";
import { child, delegates } from "./threads/activities.ts";

const child2 = orchestration("child2", async (_ctx, n: number) => n * 2);

test("an activity can start instances, wait for them and list instances", async () => {
  const work = activity("work", async (n: number, { client, info, idempotencyKey }) => {
    const handle = await client.start(child2, n, { id: `c-${n}`, requestId: idempotencyKey });
    const value = await handle.result();
    const { items } = await client.list({ name: "main" });
    return { value, parents: items.map(({ id }) => id), self: client.get(info.instanceId).id };
  });
  const main = orchestration("main", (ctx) => ctx.run(work, 21));
  const { client, environment } = await virtualWorld([main, child2, work]);
  const handle = await client.start(main, undefined, { id: "i" });
  await environment.settle();
  expect(await handle.result({ timeout: 0 })).toEqual({ value: 42, parents: ["i"], self: "i" });
});

test("an activity can raise an event to its instance", async () => {
  const ready = event<{ at: Date }>("ready");
  const work = activity("work", async (_: undefined, { client, info: { instanceId } }) => {
    await client.get(instanceId).raise(ready, { at: new Date(5) });
  });
  const main = orchestration("main", async (ctx) => {
    await ctx.run(work);
    return (await ctx.waitFor(ready)).at.getTime();
  });
  const { client, environment } = await virtualWorld([main, work]);
  const handle = await client.start(main);
  await environment.settle();
  expect(await handle.result({ timeout: 0 })).toBe(5);
});

test("the client of an activity uses the codec of the runtime", async () => {
  const codec = {
    encode: (value: unknown) => `!${defaultCodec.encode(value)}`,
    decode: (text: string) => defaultCodec.decode(text.slice(1)),
  };
  const seen: unknown[] = [];
  const work = activity("work", async (id: string, { client }) => {
    seen.push(client instanceof Client);
    await client.start(child2, 3, { id });
  });
  const main = orchestration("main", (ctx, id: string) => ctx.run(work, id));
  const register = [main, work, child2];

  const { provider, environment } = await virtualStore();
  const client = new Client(provider, { codec });
  const runtime = new Runtime(provider, { register, codec, log: () => undefined });
  await runtime.start();
  await client.start(main, "of-runtime");
  await environment.settle();
  await runtime.shutdown({ graceMs: 0 });

  const perdure = await Perdure.open(provider, { register, runtime: { codec } });
  await perdure.client.start(main, "of-perdure");
  await environment.settle();
  await perdure.close({ graceMs: 0 });

  expect(seen).toEqual([true, true]);
  for (const id of ["of-runtime", "of-perdure"]) {
    expect(await client.get(child2, id).result({ timeout: 0 })).toBe(6);
    expect((await provider.readInstance(id))?.output).toBe("!6");
  }
});

test("the client works in a thread, including errors and waits", async () => {
  const { provider, client } = await memoryStore();
  const executor = threads({
    module: new URL("./threads/activities.ts", import.meta.url),
    size: 1,
  });
  const main = orchestration("main", (ctx) => ctx.run(delegates, 4));
  const runtime = await startRuntime(provider, [main, child, delegates], { executor });
  const handle = await client.start(main);
  expect(await handle.result({ timeout: "30s" })).toEqual({
    value: 8,
    status: "completed",
    refusal: "INSTANCE_EXISTS",
    isMainThread: false,
  });
  expect(runtime.stats().orchestrationsStarted).toBe(2);
});

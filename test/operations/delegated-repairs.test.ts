// Repairs from a process without the code: a worker that has it carries them out, and the client gets its verdict.

import { expect, onTestFinished, test } from "vitest";
import {
  activity,
  Client,
  job,
  orchestration,
  Perdure,
  type Provider,
  type Registrable,
} from "../../src/index.ts";
import { digits } from "../support/schemas.ts";
import { newPlace } from "../support/test-store.ts";

/** Two connections to one store, as of two processes. */
async function twoProcesses(): Promise<readonly [Provider, Provider]> {
  const place = newPlace("file");
  onTestFinished(() => place.remove());
  const open = async (): Promise<Provider> => {
    const provider = await place.open();
    onTestFinished(() => provider.close());
    return provider;
  };
  return [await open(), await open()];
}

async function worker(store: Provider, register: readonly Registrable[]): Promise<Perdure> {
  const perdure = await Perdure.open(store, { register, runtime: { log: () => undefined } });
  onTestFinished(() => perdure.close({ graceMs: 0 }));
  return perdure;
}

function shop() {
  const seen = { failing: true, keys: [] as string[] };
  const charge = activity("charge", async () => "paid");
  const ship = job("ship", async (_: unknown, { idempotencyKey }) => {
    seen.keys.push(idempotencyKey);
    if (seen.failing) throw new Error("no carrier");
    return "shipped";
  });
  const order = orchestration("order", async (ctx, input: string) => [
    input,
    await ctx.run(charge, undefined),
    await ctx.run(ship, 0),
  ]);
  return { seen, order, ship, register: [charge, ship, order] };
}

test("a client without the code rewinds through a worker, with its verdict", async () => {
  const [store, elsewhere] = await twoProcesses();
  const { seen, order, ship, register } = shop();
  const { client } = await worker(store, register);
  const started = await client.start(order, "a", { id: "o" });
  await expect(started.result()).rejects.toThrow("no carrier");
  const enqueued = await client.enqueue(ship, undefined, { id: "j" });
  await expect(enqueued.result()).rejects.toThrow("no carrier");
  seen.failing = false;
  const outside = new Client(elsewhere);
  const handle = outside.get("o");
  const preview = await handle.rewind({ to: "failure", dryRun: true });
  expect(preview).toMatchObject({ dryRun: true, check: { kind: "ok" }, execution: 2 });
  const report = await handle.rewind({ to: "failure", by: "ada", requestId: "once" });
  expect(report).toMatchObject({ dryRun: false, redone: [{ name: "ship" }] });
  expect(await handle.result()).toEqual(["a", "paid", "shipped"]);
  const again = await handle.rewind({ to: "failure", requestId: "once" });
  expect(again).toMatchObject({
    execution: 2,
    redone: [{ name: "ship" }],
    kept: [{ name: "charge" }],
  });
  expect((await handle.describe()).repairs).toMatchObject([{ kind: "rewind", by: "ada" }]);
  const refused = handle.rewind({ before: { activity: "charge", nth: 2 } });
  await expect(refused).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  await outside.get("j").rewind({ to: "failure" }); // a job
  expect(await outside.get("j").result()).toBe("shipped");
  expect(new Set(seen.keys).size).toBe(2);
  expect(seen.keys).toHaveLength(4);
  const { items } = await outside.list();
  expect(items.map(({ id }) => id).sort()).toEqual(["j", "o"]); // the calls themselves are gone
});

test("a client without the code forks through a worker", async () => {
  const [store, elsewhere] = await twoProcesses();
  const { seen, order, register } = shop();
  const { client } = await worker(store, register);
  const started = await client.start(order, "a", { id: "o" });
  await expect(started.result()).rejects.toThrow("no carrier");
  seen.failing = false;
  const outside = new Client(elsewhere);
  const charged = (await started.history()).find(({ kind }) => kind === "ActivityScheduled");
  const fork = await outside.fork("o", {
    before: { activity: "ship" },
    id: "f",
    input: "b",
    replace: [{ sequence: charged?.sequence ?? 0, output: "paid in cash" }],
    reason: "another address",
    by: "ada",
  });
  expect(await fork.result()).toEqual(["b", "paid in cash", "shipped"]);
  expect(new Set(seen.keys).size).toBe(2); // a fork has its own keys
  expect((await fork.describe()).repairs).toMatchObject([
    { kind: "fork", source: "o", by: "ada", replaced: [charged?.sequence] },
  ]);
  expect(await started.describe()).toMatchObject({ status: "failed", execution: 1 });
});

test("without a worker that has the code, a repair is refused and nothing changes", async () => {
  const [store, elsewhere] = await twoProcesses();
  const { order, register } = shop();
  const perdure = await worker(store, register);
  await expect((await perdure.client.start(order, "a", { id: "o" })).result()).rejects.toThrow();
  await perdure.runtime.shutdown({ graceMs: 0 });
  const outside = new Client(elsewhere);
  const rewind = outside.get("o").rewind({ to: "failure" });
  await expect(rewind).rejects.toMatchObject({ code: "NOT_REGISTERED" });
  const fork = outside.fork("o", { beforeSequence: 2 });
  await expect(fork).rejects.toMatchObject({ code: "NOT_REGISTERED" });
  expect(await outside.get("o").describe()).toMatchObject({ status: "failed", execution: 1 });
});

test("a restart takes another input and another version, and says why", async () => {
  const [store] = await twoProcesses();
  const code = (version: string) =>
    orchestration("greet", async (_ctx, name: string) => `${version} ${name}`, { version });
  const { client } = await worker(store, [code("1.0.0"), code("2.0.0")]);
  const handle = await client.start("greet", "ada", { id: "g", version: "1.0.0" });
  expect(await handle.result()).toBe("1.0.0 ada");
  await handle.restart({ input: "eve", version: "2.0.0", reason: "wrong name", by: "bob" });
  expect(await handle.result()).toBe("2.0.0 eve");
  expect(await handle.describe()).toMatchObject({
    ...{ version: "2.0.0", execution: 2 },
    repairs: [{ kind: "restart", reason: "wrong name", by: "bob", execution: 1 }],
  });
});

test("a restart with another version or input is checked before anything is written", async () => {
  const [store, elsewhere] = await twoProcesses();
  const first = orchestration("price", async (_ctx, cents: number) => `1: ${cents}`, {
    input: digits,
  });
  const second = orchestration("price", async (_ctx, cents: number) => `2: ${cents}`, {
    input: digits,
    version: "2.0.0",
  });
  const { client } = await worker(store, [first, second]);
  const handle = await client.start(first, "10", { id: "p" });
  await handle.result();
  const outside = new Client(elsewhere).get("p");
  for (const each of [handle, outside]) {
    await expect(each.restart({ version: "3.0.0" })).rejects.toMatchObject({
      code: "NOT_REGISTERED",
    });
  }
  await expect(handle.restart({ input: "ten" })).rejects.toMatchObject({
    code: "INVALID_ARGUMENT",
  });
  expect(await handle.describe()).toMatchObject({ status: "completed", execution: 1 });
  await outside.restart({ version: "2.0.0", input: "20", reason: "new prices" });
  expect(await handle.result()).toBe("2: 20");
  await outside.restart({ input: "ten" }); // the worker checks it
  await expect(handle.result()).rejects.toThrow("must be digits");
});

// Repairs from a process without the code: a worker that has it carries them out, and the client gets its verdict.

import { expect, onTestFinished, test } from "vitest";
import {
  activity,
  Client,
  job,
  orchestration,
  Perdure,
  Runtime,
  type Provider,
  type Registrable,
} from "../../src/index.ts";
import { digits } from "../support/schemas.ts";
import { StoreEnvironment } from "../support/store-environment.ts";
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

/** The store as one process sees it. After a crash, no call of the process reaches the store or returns. */
function crashable(store: Provider) {
  let crashed = false;
  let crashesAt: string | null = null;
  const provider = new Proxy(store, {
    get(target, name) {
      if (name === "startLivenessThread") return undefined; // heartbeats follow the virtual clock
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== "function") return member;
      return (...parameters: readonly unknown[]): unknown => {
        if (name === "commit" && crashesAt !== null) {
          const items = parameters[0] as Parameters<Provider["commit"]>[0];
          crashed ||= items.some(({ kind }) => kind === crashesAt);
        }
        const isSilent = crashed && name !== "now";
        return isSilent ? new Promise(() => undefined) : Reflect.apply(member, target, parameters);
      };
    },
  });
  return {
    provider,
    crash: () => void (crashed = true),
    crashAt: (kind: string) => void (crashesAt = kind),
  };
}

/** A failed order on virtual time. Its worker can crash, and so can a client without its code. */
async function crashableProcesses() {
  const environment = new StoreEnvironment();
  const place = newPlace("file");
  onTestFinished(() => place.remove());
  const store = await place.open(environment);
  onTestFinished(() => store.close());
  const { seen, order, register } = shop();
  const logs: string[] = [];
  const open = async (provider: Provider): Promise<Runtime> => {
    const runtime = new Runtime(provider, {
      ...{ register, beatMs: 2_000, pollIntervalMs: 2_000, staleMs: 20_000 },
      unregistered: { failAfter: 1 },
      log: (_, message) => void logs.push(message),
    });
    await runtime.start();
    return runtime;
  };
  const first = crashable(store);
  const { id } = await open(first.provider);
  const handle = await new Client(store).start(order, "a", { id: "o" });
  await environment.advance(5_000);
  expect((await handle.describe()).status).toBe("failed");
  seen.failing = false;
  const calls = async () => {
    const filter = { name: `perdure.repair.${id}` };
    return (await store.listInstances({ filter, order: "oldest", limit: 10, cursor: null })).items;
  };
  const outside = crashable(store);
  const rewind = () => new Client(outside.provider).get("o").rewind({ to: "failure" });
  return { environment, store, handle, logs, open, first, outside, calls, rewind };
}

test.each(["before", "while"] as const)(
  "a repair call is deleted if its client and its worker crash %s the worker carries it out",
  async (moment) => {
    const its = await crashableProcesses();
    const { environment, first, calls } = its;
    if (moment === "before") first.crash();
    else first.crashAt("rewind");
    void its.rewind();
    await environment.advance(5_000);
    its.outside.crash();
    expect(await calls()).toMatchObject([{ status: moment === "before" ? "pending" : "running" }]);

    // As long as the worker is registered, the call is neither deleted nor failed, and nothing reports it.
    const second = await its.open(its.store);
    await environment.advance(12_000);
    expect(await calls()).toHaveLength(1);
    expect((await new Client(its.store).metrics()).unclaimed).toEqual([]);
    await environment.advance(60_000);
    expect(await calls()).toEqual([]);
    expect(its.logs.filter((line) => line.includes("perdure.repair"))).toEqual([]);
    expect(await its.handle.describe()).toMatchObject({ status: "failed", execution: 1 });
    await second.shutdown({ graceMs: 0 });
  },
);

test("a client whose repair call another process deletes goes to the next worker", async () => {
  const its = await crashableProcesses();
  const { environment, store } = its;
  its.first.crash();
  const rewound = its.rewind();
  await environment.advance(1_000);
  const second = await its.open(store);
  for (const { id } of await its.calls()) await store.deleteInstance({ id, force: true });
  await environment.advance(5_000);
  expect(await rewound).toMatchObject({ execution: 2, redone: [{ name: "ship" }] });
  expect((await its.handle.describe()).output).toEqual(["a", "paid", "shipped"]);
  await second.shutdown({ graceMs: 0 });
});

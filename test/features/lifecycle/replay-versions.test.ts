// Replay versions: a runtime leases only histories whose replay version it supports (semantics 22).

import { expect, test } from "vitest";
import {
  Client,
  orchestration,
  type CommitItem,
  type Provider,
  type Runtime,
} from "../../../src/index.ts";
import { startRuntime, virtualStore } from "../../faults/trouble/support.ts";
import { wrapProvider } from "../../faults/trouble/wrapped-provider.ts";

/** The store as a later version of this code would use it, with support for replay versions 1 and 2. */
function withReplayVersion2(provider: Provider): Provider {
  const second = (item: CommitItem): CommitItem =>
    item.kind === "turn" && item.version !== null ? { ...item, replayVersion: 2 } : item;
  return wrapProvider(provider, {
    commit: (items) => provider.commit(items.map(second)),
    leaseInstances: (request) => {
      const { targets, codes = [] } = request;
      const pinned = targets.flatMap((target, index) => (target.includes("@") ? [index] : []));
      return provider.leaseInstances({
        ...request,
        targets: [...targets, ...pinned.map((index) => `${targets[index] ?? ""}#2`)],
        codes: [...codes, ...pinned.map((index) => codes[index] ?? "")],
      });
    },
    registerRuntime: (registration) => {
      const work = JSON.parse(registration.registered) as object;
      const registered = JSON.stringify({ ...work, replayVersions: { min: 1, max: 2 } });
      return provider.registerRuntime({ ...registration, registered });
    },
  });
}

const child = orchestration("child", (ctx) => ctx.waitFor("go"));
const main = orchestration("main", async (ctx, round: number): Promise<unknown> => {
  const said = await ctx.waitFor("go");
  if (round > 1) return ctx.continueAsNew(round - 1);
  return said === "child" ? ctx.call(child, undefined, { id: "c" }) : said;
});

async function world() {
  const { provider, environment } = await virtualStore();
  const client = new Client(provider);
  const start = (store: Provider): Promise<Runtime> => startRuntime(store, [main, child], {});
  const rest = (): Promise<void> => environment.advance(15_000);
  return {
    client,
    rest,
    startOld: () => start(provider),
    startNew: () => start(withReplayVersion2(provider)),
  };
}

test("an older runtime does not lease a history with a newer replay version, and does not block it", async () => {
  const { client, rest, startOld, startNew } = await world();
  const newer = await startNew();
  const handle = await client.start(main, 1, { id: "i" });
  await rest();
  await newer.shutdown({ graceMs: 0 });
  await handle.raise("go", "there");
  const old = await startOld();
  for (let look = 0; look < 20; look++) await rest();
  const info = await handle.describe();
  expect([info.status, info.blocked]).toEqual(["running", undefined]);
  expect((await client.metrics()).unclaimed).toMatchObject([
    {
      name: "main",
      reason: 'no running worker supports replay version 2, which the history of "main" needs',
    },
  ]);
  expect(old.stats().turns).toBe(0);
  await startNew();
  expect(await handle.result()).toBe("there");
});

test("a newer runtime also leases histories with an older replay version and instances that have not begun", async () => {
  const { client, rest, startOld, startNew } = await world();
  const before = await client.start(main, 1, { id: "before" });
  const old = await startOld();
  await rest();
  await old.shutdown({ graceMs: 0 });
  const fresh = await client.start(main, 1, { id: "fresh" });
  await startNew();
  await before.raise("go", "old history");
  await fresh.raise("go", "no history");
  expect(await before.result()).toBe("old history");
  expect(await fresh.result()).toBe("no history");
});

test("an execution and a child have the replay version of the runtime that began them", async () => {
  const { client, rest, startOld, startNew } = await world();
  const old = await startOld();
  const handle = await client.start(main, 2, { id: "i" });
  await rest();
  await old.shutdown({ graceMs: 0 });
  const newer = await startNew();
  await handle.raise("go"); // execution 1 with replay version 1 continues as execution 2 with replay version 2
  await rest();
  await handle.raise("go", "child");
  await rest();
  await newer.shutdown({ graceMs: 0 });
  await startOld();
  await client.raise("c", "go", "from the child");
  await rest();
  expect((await handle.describe()).status).toBe("running");
  expect((await client.metrics()).unclaimed.map(({ name }) => name)).toEqual(["child"]);
  await startNew();
  expect(await handle.result()).toBe("from the child");
});

test("two runtimes with overlapping ranges share the common versions, and each also runs its other versions", async () => {
  const { client, rest, startOld, startNew } = await world();
  const newer = await startNew();
  const second = await client.start(main, 1, { id: "second" });
  await rest();
  await newer.shutdown({ graceMs: 0 });
  const old = await startOld();
  const first = await client.start(main, 1, { id: "first" });
  await rest();
  const successor = await startNew();
  await second.raise("go", 2);
  await first.raise("go", 1);
  expect([await first.result(), await second.result()]).toEqual([1, 2]);
  expect(old.stats().orchestrationsCompleted + successor.stats().orchestrationsCompleted).toBe(2);
  expect(successor.stats().orchestrationsCompleted).toBeGreaterThanOrEqual(1);
});

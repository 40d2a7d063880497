// Replay versions: histories are taken by runtimes whose rules wrote them, or include those rules (semantics 22).

import { expect, test } from "vitest";
import {
  Client,
  orchestration,
  type CommitItem,
  type Provider,
  type Runtime,
} from "../../src/index.ts";
import { startRuntime, virtualStore } from "../trouble/support.ts";
import { wrapProvider } from "../trouble/wrapped-provider.ts";

/** The store as a later version of this code would use it, which replays the first rules and the second ones. */
function ofSecondRules(provider: Provider): Provider {
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

const child = orchestration("child", (ctx) => ctx.event("go"));
const main = orchestration("main", async (ctx, round: number): Promise<unknown> => {
  const said = await ctx.event("go");
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
    startNew: () => start(ofSecondRules(provider)),
  };
}

test("a history of later rules is left alone by older runtimes, and nothing is held against it", async () => {
  const { client, rest, startOld, startNew } = await world();
  const young = await startNew();
  const handle = await client.start(main, 1, { id: "i" });
  await rest();
  await young.shutdown({ graceMs: 0 });
  await handle.raise("go", "there");
  const old = await startOld();
  for (let look = 0; look < 20; look++) await rest();
  const info = await handle.describe();
  expect([info.status, info.blocked]).toEqual(["running", undefined]);
  expect((await client.metrics()).unclaimed).toMatchObject([
    { name: "main", reason: 'no live runtime replays histories of version 2, which "main" has' },
  ]);
  expect(old.stats().turns).toBe(0);
  await startNew();
  expect(await handle.result()).toBe("there");
});

test("a history of earlier rules is taken by newer runtimes too, and what nobody has begun by anybody", async () => {
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

test("an execution and a child have the rules of whoever began them", async () => {
  const { client, rest, startOld, startNew } = await world();
  const old = await startOld();
  const handle = await client.start(main, 2, { id: "i" });
  await rest();
  await old.shutdown({ graceMs: 0 });
  const young = await startNew();
  await handle.raise("go"); // execution 1, of the first rules, continues as execution 2, of the second ones
  await rest();
  await handle.raise("go", "child");
  await rest();
  await young.shutdown({ graceMs: 0 });
  await startOld();
  await client.raise("c", "go", "from the child");
  await rest();
  expect((await handle.describe()).status).toBe("running");
  expect((await client.metrics()).unclaimed.map(({ name }) => name)).toEqual(["child"]);
  await startNew();
  expect(await handle.result()).toBe("from the child");
});

test("two runtimes with ranges that overlap share what both know, and each has what it alone knows", async () => {
  const { client, rest, startOld, startNew } = await world();
  const young = await startNew();
  const second = await client.start(main, 1, { id: "second" });
  await rest();
  await young.shutdown({ graceMs: 0 });
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

// A clock that is set back: due work stays due, leases keep their remaining time, delays keep their due time.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import type { Provider } from "../../../src/core/provider/provider.ts";
import {
  ALPHA,
  BETA,
  CHARGE,
  fresh,
  newTask,
  registration,
  sendItem,
  startedText,
  startItem,
  TARGETS,
  turnItem,
  VERSION,
} from "../../../src/testing/conformance/fixture.ts";
import { VirtualEnvironment } from "../../../src/testing/virtual-environment.ts";
import { SqliteProvider } from "../../../src/sqlite/index.ts";

const HOUR_MS = 3_600_000;

async function setup() {
  const folder = mkdtempSync(join(tmpdir(), "perdure-clock-"));
  const path = join(folder, "store.db");
  const environment = new VirtualEnvironment();
  const opened: SqliteProvider[] = [];
  onTestFinished(async () => {
    for (const provider of opened) await provider.close();
    rmSync(folder, { recursive: true });
  });
  const open = async (): Promise<SqliteProvider> => {
    const provider = await SqliteProvider.open(path, { environment });
    opened.push(provider);
    return provider;
  };
  return { path, environment, open };
}

function leaseOne(provider: Provider, owner = ALPHA, leaseMs?: number) {
  return provider.leaseInstances({
    ...{ owner, token: fresh(), limit: 10, targets: TARGETS },
    ...{ allowSuspect: true, messagesMax: 10 },
    ...(leaseMs === undefined ? {} : { leaseMs }),
  });
}

function leaseTasks(provider: Provider, owner = ALPHA) {
  return provider.leaseTasks({
    ...{ owner, token: fresh(), limit: 10, names: [CHARGE], tags: "any", sessions: null },
    allowSuspect: true,
  });
}

for (const reader of ["the same process", "another process", "a later process"] as const) {
  test(`an instance and its events are due for ${reader} after the clock was set back by an hour`, async () => {
    const { environment, open } = await setup();
    const writer = await open();
    const other = await open();
    await writer.registerRuntime(registration({ id: ALPHA }));
    await writer.commit([startItem({ id: "a" })]);
    await writer.commit([sendItem({ id: "a", data: "1" }), sendItem({ id: "a", data: "2" })]);
    if (reader === "a later process") await writer.close();
    environment.jumpWallClock(-HOUR_MS);
    const provider =
      reader === "the same process" ? writer : reader === "another process" ? other : await open();
    const [leased] = (await leaseOne(provider)).instances;
    expect(leased?.messages.map(({ kind, data, damaged }) => ({ kind, data, damaged }))).toEqual([
      { kind: "start", data: expect.any(String) as string, damaged: undefined },
      { kind: "event", data: "1", damaged: undefined },
      { kind: "event", data: "2", damaged: undefined },
    ]);
  });
}

test("a waiting task can be leased, and is counted, after the clock was set back by an hour", async () => {
  const { environment, open } = await setup();
  const provider = await open();
  await provider.registerRuntime(registration({ id: ALPHA }));
  await provider.commit([startItem({ id: "a" })]);
  const [held] = (await leaseOne(provider)).instances;
  if (held === undefined) throw new Error("nothing was leased");
  await provider.commit([turnItem(held, { tasks: [newTask({ sequence: 2, lease: null })] })]);
  environment.jumpWallClock(-HOUR_MS);
  expect((await provider.readMetrics()).waitingTasks).toBe(1);
  expect((await leaseTasks(provider)).tasks).toHaveLength(1);
});

test("events that wait behind another event, or were put back, are received after the clock was set back", async () => {
  const { environment, open } = await setup();
  const provider = await open();
  await provider.registerRuntime(registration({ id: ALPHA }));
  await provider.commit([startItem({ id: "a" })]);
  const [held] = (await leaseOne(provider)).instances;
  if (held === undefined) throw new Error("nothing was leased");
  for (const data of ["2", "3"]) await provider.commit([sendItem({ id: "a", data })]);
  const unread = [{ name: "go", data: "1", key: null }];
  const change = { kind: "continued", started: startedText(), version: VERSION, unread } as const;
  const consumed = held.messages.map(({ id }) => id);
  await provider.commit([turnItem(held, { consumed, change, release: true })]);
  environment.jumpWallClock(-HOUR_MS);
  const [next] = (await leaseOne(provider)).instances;
  expect(next?.messages).toMatchObject([
    { kind: "start" },
    { kind: "event", data: "1" },
    { kind: "event", data: "2" },
    { kind: "event", data: "3" },
  ]);
});

test("a timer keeps its due time when the clock is set back", async () => {
  const { environment, open } = await setup();
  const provider = await open();
  await provider.registerRuntime(registration({ id: ALPHA }));
  await provider.commit([startItem({ id: "a" })]);
  const [held] = (await leaseOne(provider)).instances;
  if (held === undefined) throw new Error("nothing was leased");
  const dueAt = provider.now() + 10_000;
  await provider.commit([
    turnItem(held, {
      consumed: held.messages.map(({ id }) => id),
      timers: [{ kind: "timer", sequence: 2, dueAt }],
      release: true,
    }),
  ]);
  environment.jumpWallClock(-HOUR_MS);
  const early = await leaseOne(provider);
  expect(early).toMatchObject({ instances: [], nextAt: dueAt });
  environment.jumpWallClock(HOUR_MS + 10_000);
  expect((await leaseOne(provider)).instances[0]?.messages).toMatchObject([
    { kind: "timer", visibleAt: dueAt },
  ]);
});

test("a delayed start keeps its due time when the clock is set back", async () => {
  const { environment, open } = await setup();
  const provider = await open();
  await provider.registerRuntime(registration({ id: ALPHA }));
  const dueAt = provider.now() + 10_000;
  await provider.commit([startItem({ id: "a", dueAt })]);
  environment.jumpWallClock(-HOUR_MS);
  expect(await leaseOne(provider)).toMatchObject({ instances: [], nextAt: dueAt });
});

test("a lease keeps its remaining time when the clock is set back", async () => {
  const { environment, open } = await setup();
  const provider = await open();
  for (const id of [ALPHA, BETA]) await provider.registerRuntime(registration({ id }));
  await provider.commit([startItem({ id: "a" })]);
  await leaseOne(provider, ALPHA, 60_000);
  environment.jumpWallClock(-HOUR_MS);
  expect((await leaseOne(provider, BETA)).instances).toEqual([]);
  environment.jumpWallClock(59_000);
  expect((await leaseOne(provider, BETA)).instances).toEqual([]);
  environment.jumpWallClock(2_000);
  expect((await leaseOne(provider, BETA)).instances).toMatchObject([{ id: "a", fresh: true }]);
});

test("a dead runtime is stale after its stale time, not an hour later, when the clock is set back", async () => {
  const { environment, open } = await setup();
  const provider = await open();
  for (const id of [ALPHA, BETA]) await provider.registerRuntime(registration({ id }));
  environment.jumpWallClock(-HOUR_MS);
  await provider.beat(BETA);
  expect(await provider.expireRuntime({ id: ALPHA, staleMs: 5_000 })).toMatchObject({
    expired: false,
  });
  environment.jumpWallClock(5_001);
  expect(await provider.expireRuntime({ id: ALPHA, staleMs: 5_000 })).toMatchObject({
    expired: true,
  });
});

test("the next peek reports once by how much the clock was set back", async () => {
  const { environment, open } = await setup();
  const provider = await open();
  await provider.registerRuntime(registration({ id: ALPHA }));
  expect(await provider.peek({ owner: ALPHA })).not.toHaveProperty("clockSetBackMs");
  environment.jumpWallClock(-HOUR_MS);
  const { clockSetBackMs } = await provider.peek({ owner: ALPHA });
  expect(clockSetBackMs).toBe(HOUR_MS);
  expect(await provider.peek({ owner: ALPHA })).not.toHaveProperty("clockSetBackMs");
});

test("setting the clock back by less than a second changes no stored time", async () => {
  const { path, environment, open } = await setup();
  const provider = await open();
  await provider.commit([startItem({ id: "a" })]);
  const at = provider.now();
  environment.jumpWallClock(-900);
  await provider.commit([startItem({ id: "b" })]);
  using database = new DatabaseSync(path, { readOnly: true });
  const rows = database.prepare("SELECT visible_at FROM inbox ORDER BY id").all();
  expect(rows).toMatchObject([{ visible_at: at }, { visible_at: at - 900 }]);
});

test("a damaged message stays damaged when the clock is set back", async () => {
  const { path, environment, open } = await setup();
  const provider = await open();
  await provider.registerRuntime(registration({ id: ALPHA }));
  await provider.commit([startItem({ id: "a" }), startItem({ id: "b" })]);
  using database = new DatabaseSync(path);
  database.exec("UPDATE inbox SET data = data || ' ' WHERE id = 1");
  environment.jumpWallClock(-HOUR_MS);
  const { instances } = await leaseOne(provider);
  expect(instances.map(({ id, messages }) => [id, messages[0]?.damaged])).toEqual([
    ["a", true],
    ["b", undefined],
  ]);
});

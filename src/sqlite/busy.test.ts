import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as pause } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { startItem } from "../testing/conformance/fixture.ts";
import { SqliteProvider } from "./index.ts";

let path: string;
let provider: SqliteProvider;
let other: DatabaseSync;
beforeEach(async () => {
  path = join(mkdtempSync(join(tmpdir(), "perdure-busy-")), "store.db");
  provider = await SqliteProvider.open(path, { busyMs: 2_000 });
  other = new DatabaseSync(path);
});
afterEach(async () => {
  other.close();
  await provider.close();
  rmSync(join(path, ".."), { recursive: true });
});

test("a commit waits for another connection's write without holding up the process", async () => {
  other.exec("BEGIN IMMEDIATE");
  let settled = false;
  const commit = provider.commit([startItem({ id: "a" })]).finally(() => (settled = true));
  let turns = 0;
  for (const until = Date.now() + 60; Date.now() < until; turns += 1) await pause(1);
  expect(settled).toBe(false);
  expect(turns).toBeGreaterThan(10);
  other.exec("COMMIT");
  expect(await commit).toMatchObject([{ kind: "started" }]);
});

test("reading and asking for work that is not there wait for nobody", async () => {
  await provider.registerRuntime({
    id: "r",
    nodeId: "n",
    process: null,
    hostname: "h",
    registered: "{}",
  });
  await provider.commit([startItem({ id: "a" })]);
  other.exec("BEGIN IMMEDIATE");
  expect(await provider.readInstance("a")).toMatchObject({ id: "a" });
  const nothing = { owner: "r", token: 1, limit: 1, allowSuspect: true };
  const lease = { ...nothing, targets: ["unknown"], messagesMax: 1 };
  expect((await provider.leaseInstances(lease)).instances).toEqual([]);
  const tasks = { ...nothing, names: ["unknown"], tags: "any", sessions: null } as const;
  expect((await provider.leaseTasks(tasks)).tasks).toEqual([]);
  other.exec("ROLLBACK");
});

test("after its time a waiting call fails as unavailable, and the next one works", async () => {
  const impatient = await SqliteProvider.open(path, { busyMs: 30 });
  other.exec("BEGIN IMMEDIATE");
  const item = startItem({ id: "a" });
  await expect(impatient.commit([item])).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
  expect(await impatient.settle(item)).toBeNull();
  other.exec("ROLLBACK");
  expect(await impatient.commit([item])).toMatchObject([{ kind: "started" }]);
  await impatient.close();
});

test("a provider that is closed while a call waits lets the call fail", async () => {
  const second = await SqliteProvider.open(path);
  other.exec("BEGIN IMMEDIATE");
  const commit = second.commit([startItem({ id: "a" })]);
  await pause(10);
  await second.close();
  await expect(commit).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
  other.exec("ROLLBACK");
});

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as pause } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { startItem } from "../../../src/testing/conformance/fixture.ts";
import { SqliteProvider } from "../../../src/sqlite/index.ts";

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

test("a commit waits for the write of another connection without blocking the event loop", async () => {
  other.exec("BEGIN IMMEDIATE");
  let settled = false;
  const commit = provider.commit([startItem({ id: "a" })]).finally(() => (settled = true));
  // A commit that blocked the loop would have failed after busyMs, before the loop turns again.
  for (let turns = 0; turns < 20; turns += 1) await pause(1);
  expect(settled).toBe(false);
  other.exec("COMMIT");
  expect(await commit).toMatchObject([{ kind: "started" }]);
});

test("reads and requests for work that find none do not wait for a writer", async () => {
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

test("a call that waits longer than busyMs fails with STORE_UNAVAILABLE, and the next call works", async () => {
  const impatient = await SqliteProvider.open(path, { busyMs: 30 });
  other.exec("BEGIN IMMEDIATE");
  const item = startItem({ id: "a" });
  await expect(impatient.commit([item])).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
  expect(await impatient.settle(item)).toBeNull();
  other.exec("ROLLBACK");
  expect(await impatient.commit([item])).toMatchObject([{ kind: "started" }]);
  await impatient.close();
});

test("closing a provider fails a waiting call", async () => {
  const second = await SqliteProvider.open(path);
  other.exec("BEGIN IMMEDIATE");
  const commit = second.commit([startItem({ id: "a" })]);
  const refused = expect(commit).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
  await pause(10);
  await second.close();
  await refused;
  other.exec("ROLLBACK");
});

// Log sync: when a write is acknowledged, and what a failed sync does. The disk is replaced by one that answers on demand.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test, vi } from "vitest";
import { systemEnvironment } from "../../../src/core/time/system-environment.ts";
import { disk } from "../../../src/sqlite/connection/disk.ts";
import { LogSync } from "../../../src/sqlite/connection/log-sync.ts";
import { SqliteProvider } from "../../../src/sqlite/index.ts";
import { registration, startItem, TARGETS } from "../../../src/testing/conformance/fixture.ts";

/** So slow that the average stays above a fast disk after several answers of the held disk, which are quick. */
const SLOW_MS = 10;
const LOST = { code: "STORE_UNAVAILABLE" };

/** A path of a store whose folder is removed after the test. */
function temporaryPath(): string {
  const folder = mkdtempSync(join(tmpdir(), "perdure-log-sync-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return join(folder, "store.db");
}

function openLog(): LogSync {
  const path = temporaryPath();
  const database = new DatabaseSync(path);
  database.exec("PRAGMA journal_mode = wal; CREATE TABLE t (n)");
  const log = new LogSync(path, systemEnvironment);
  onTestFinished(() => {
    log.close();
    database.close();
  });
  return log;
}

async function openStore(path = temporaryPath()): Promise<SqliteProvider> {
  const provider = await SqliteProvider.open(path);
  onTestFinished(() => provider.close());
  return provider;
}

/**
 * Syncs off the event loop wait in `started` for their answer. Syncs on the event loop are slow. The store waits
 * for an answer forever, unless it is impatient.
 */
function heldDisk({ isImpatient = false } = {}) {
  const setTimer = vi.spyOn(systemEnvironment, "setTimer");
  if (!isImpatient) setTimer.mockReturnValue({ cancel: () => {} });
  const started: ((error: Error | null) => void)[] = [];
  const startSync = vi
    .spyOn(disk, "startSync")
    .mockImplementation((_, done) => void started.push(done));
  const sync = vi.spyOn(disk, "sync").mockImplementation(() => {
    const until = performance.now() + SLOW_MS;
    while (performance.now() < until);
  });
  onTestFinished(() => {
    for (const done of started.splice(0)) done(null);
    for (const spy of [setTimer, startSync, sync]) spy.mockRestore();
  });
  return { started, sync, startSync, answer: () => started.shift()?.(null) };
}

/** Whether the promise has an outcome after the event loop has turned twice. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let settled = false;
  const note = (): void => void (settled = true);
  promise.then(note, note);
  for (let turn = 0; turn < 2; turn++) await new Promise((resolve) => setImmediate(resolve));
  return settled;
}

const starts = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, index) => startItem({ id: `${prefix}-${index}` }));

test("a commit during a sync waits for the next sync, and all such commits share it", async () => {
  const { started, answer } = heldDisk();
  const log = openLog();
  const first = log.commit(false);
  const second = log.commit(false);
  const third = log.commit(true);
  expect(started).toHaveLength(1);
  answer();
  await first;
  expect(await isSettled(Promise.race([second, third]))).toBe(false);
  expect(started).toHaveLength(1);
  answer();
  await Promise.all([second, third]);
  expect(started).toHaveLength(0);
  expect(log.pending()).toBeNull();
});

test("a small commit is synced on the event loop while the disk is fast, and off it after one slow sync", async () => {
  const { started, sync, answer } = heldDisk();
  const log = openLog();
  expect(log.commit(true)).toBeNull();
  expect(sync).toHaveBeenCalledTimes(1);
  const second = log.commit(true);
  expect(sync).toHaveBeenCalledTimes(1);
  expect(started).toHaveLength(1);
  answer();
  await second;
});

test("if the thread pool does not answer, the event loop syncs, until the pool has answered", async () => {
  const { started, sync, answer } = heldDisk({ isImpatient: true });
  const log = openLog();
  const first = log.commit(false);
  const second = log.commit(false);
  await Promise.all([first, second]);
  expect(sync).toHaveBeenCalledTimes(1);
  expect(log.commit(false)).toBeNull();
  expect(sync).toHaveBeenCalledTimes(2);
  answer();
  expect(log.commit(false)).not.toBeNull();
  expect(started).toHaveLength(1);
});

test("after a failed sync every waiting and every later commit fails, and no second sync is tried", async () => {
  const { started, startSync } = heldDisk();
  const log = openLog();
  const first = log.commit(false);
  const second = log.commit(false);
  started.shift()?.(new Error("EIO: i/o error, fdatasync"));
  await expect(first).rejects.toMatchObject(LOST);
  await expect(second).rejects.toThrow(
    /could not be synced to disk \(EIO: i\/o error, fdatasync\)/,
  );
  expect(() => log.commit(true)).toThrow("could not be synced");
  expect(() => log.pending()).toThrow("could not be synced");
  expect(startSync).toHaveBeenCalledTimes(1);
});

test("a group is acknowledged and published after its sync, and the next group is written before that", async () => {
  const { started, answer } = heldDisk();
  const provider = await openStore();
  const due: string[] = [];
  provider.subscribe((news) => void due.push(...news.due));
  let isWritten = false;
  const first = provider.commit(starts("a", 2), () => void (isWritten = true));
  expect(await isSettled(first)).toBe(false);
  expect(isWritten).toBe(true);
  const second = provider.commit(starts("b", 2));
  expect(await isSettled(second)).toBe(false);
  expect(started).toHaveLength(1);
  expect(due).toEqual([]);
  answer();
  expect(await first).toMatchObject([{ kind: "started" }, { kind: "started" }]);
  expect(due).toEqual(["a-0", "a-1"]);
  expect(await isSettled(second)).toBe(false);
  answer();
  expect(await second).toMatchObject([{ kind: "started" }, { kind: "started" }]);
  expect(due).toEqual(["a-0", "a-1", "b-0", "b-1"]);
});

test("every kind of write waits for a sync off the event loop", async () => {
  const { started, answer } = heldDisk();
  const provider = await openStore();
  const lease = { owner: "r", token: 1, limit: 1, targets: TARGETS, allowSuspect: false };
  const writes = [
    () => provider.commit([startItem({ id: "a" })]),
    () => provider.registerRuntime(registration({ id: "r" })),
    () => provider.leaseInstances({ ...lease, messagesMax: 1 }),
    () => provider.renewInstances([{ key: 1, token: 1 }], 1_000),
    () => provider.transact(() => null),
    () => provider.commit([startItem({ id: "b" })]),
    () => provider.removeRuntime("r"),
  ];
  for (const [index, write] of writes.entries()) {
    const written = write();
    const isRolledBack = index === 4;
    expect(await isSettled(written), `write ${index}`).toBe(isRolledBack);
    expect(started, `write ${index}`).toHaveLength(isRolledBack ? 0 : 1);
    answer();
    await written;
  }
});

test("a read waits until what it has read is on disk; a look for due work does not wait", async () => {
  const { answer } = heldDisk();
  const provider = await openStore();
  const written = provider.commit(starts("a", 2));
  const read = provider.readInstance("a-0");
  const settled = provider.settle(startItem({ id: "a-0" }));
  expect(await isSettled(Promise.race([read, settled]))).toBe(false);
  expect(await provider.peek({ owner: "x" })).toMatchObject({ instances: true });
  while (!(await isSettled(Promise.all([written, read, settled])))) answer();
  expect(await read).toMatchObject({ id: "a-0" });
});

test("a read syncs what another connection has committed before it returns it", async () => {
  const { started, startSync } = heldDisk();
  const path = temporaryPath();
  const writer = await openStore(path);
  const reader = await openStore(path);
  const written = writer.commit(starts("a", 2));
  const read = reader.readInstance("a-0");
  expect(await isSettled(read)).toBe(false);
  expect(started).toHaveLength(2);
  started.pop()?.(null); // the reader's sync
  expect(await read).toMatchObject({ id: "a-0" });
  expect(await isSettled(written)).toBe(false);
  expect(await reader.readInstance("a-0")).toMatchObject({ id: "a-0" });
  expect(startSync).toHaveBeenCalledTimes(2); // nothing was committed in between
  started.pop()?.(null);
  await written;
});

test("after a failed sync the store refuses reads, writes and steps until the process is restarted", async () => {
  const path = temporaryPath();
  const provider = await openStore(path);
  await provider.commit([startItem({ id: "before" })]);
  const { started } = heldDisk();
  const written = provider.commit(starts("a", 2));
  started.shift()?.(new Error("EIO: i/o error, fdatasync"));
  await expect(written).rejects.toMatchObject(LOST);
  await expect(provider.commit([startItem({ id: "b" })])).rejects.toMatchObject(LOST);
  await expect(provider.readInstance("before")).rejects.toThrow("could not be synced");
  await expect(provider.settle(startItem({ id: "a-0" }))).rejects.toMatchObject(LOST);
  await expect(provider.peek({ owner: "x" })).rejects.toMatchObject(LOST);
  await expect(provider.transact(() => null)).rejects.toMatchObject(LOST);
  await provider.close();
  vi.restoreAllMocks();
  const restarted = await openStore(path);
  expect(await restarted.readInstance("before")).toMatchObject({ id: "before" });
  expect(await restarted.commit([startItem({ id: "after" })])).toMatchObject([{ kind: "started" }]);
});

test("with durability normal no commit is synced", async () => {
  const { sync, startSync } = heldDisk();
  const provider = await SqliteProvider.open(temporaryPath(), { durability: "normal" });
  onTestFinished(() => provider.close());
  await provider.commit(starts("a", 2));
  await provider.readInstance("a-0");
  expect(sync.mock.calls.length + startSync.mock.calls.length).toBe(0);
});

test("closing the store during a sync lets the sync end and then closes the log", async () => {
  const { started, answer } = heldDisk();
  const provider = await SqliteProvider.open(temporaryPath());
  const written = provider.commit(starts("a", 2));
  expect(started).toHaveLength(1);
  await provider.close();
  expect(await isSettled(written)).toBe(false);
  answer();
  expect(await written).toMatchObject([{ kind: "started" }, { kind: "started" }]);
});

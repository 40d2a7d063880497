// The write-ahead log stays bounded under load, and shrinks after a long read transaction made it grow.

import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as pause } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { sendItem, startItem } from "../../../src/testing/conformance/fixture.ts";
import { readLogLength } from "../../../src/sqlite/connection/log-length.ts";
import { SqliteProvider } from "../../../src/sqlite/index.ts";

const LIMIT = 64 * 1024 * 1024;

/** A commit that finds so many pages in the log copies them on the event loop. */
const PAGES_MAX = 15_000;

const data = "x".repeat(4 * 1024 * 1024);

async function open(): Promise<{ readonly provider: SqliteProvider; readonly path: string }> {
  const folder = mkdtempSync(join(tmpdir(), "perdure-log-"));
  const path = join(folder, "store.db");
  const provider = await SqliteProvider.open(path, { durability: "normal" });
  onTestFinished(async () => {
    await provider.close();
    rmSync(folder, { recursive: true });
  });
  await provider.commit([startItem({ id: "a" })]);
  return { provider, path };
}

test.each([
  { threads: "with a liveness thread", hasThread: true },
  { threads: "without a liveness thread", hasThread: false },
])("the log stays bounded under load $threads", async ({ hasThread }) => {
  const { provider, path } = await open();
  if (hasThread) provider.startLivenessThread?.({ runtimeId: "r", beatMs: 1_000, stallMs: 60_000 });
  let largest = 0;
  for (let i = 0; i < 60; i += 1) {
    await provider.commit([sendItem({ id: "a", data })]);
    largest = Math.max(largest, statSync(`${path}-wal`).size);
  }
  expect(largest).toBeGreaterThan(data.length);
  // While the thread checkpoints, the main thread goes on writing. Its next commit restarts the log.
  expect(largest).toBeLessThanOrEqual(2 * LIMIT);
});

test("the liveness thread restarts the log while small commits continue, before a commit has to", async () => {
  const { provider, path } = await open();
  provider.startLivenessThread?.({ runtimeId: "r", beatMs: 1_000, stallMs: 60_000 });
  const log = () => readLogLength(`${path}-wal`) ?? { salt: "", frames: 0 };
  const { salt } = log();
  let largest = 0;
  while (log().salt === salt) {
    largest = Math.max(largest, log().frames);
    expect(largest).toBeLessThan(PAGES_MAX);
    await provider.commit([sendItem({ id: "a", data: "x".repeat(10_000) })]);
    await pause(1); // as a program that does not only write
  }
});

test("a log that grew during a long read transaction is truncated when it restarts", async () => {
  const { provider, path } = await open();
  const reader = new DatabaseSync(path);
  onTestFinished(() => reader.close());
  reader.exec("BEGIN; SELECT count(*) FROM instances");
  for (let i = 0; i < 17; i += 1) await provider.commit([sendItem({ id: "a", data })]);
  expect(statSync(`${path}-wal`).size).toBeGreaterThan(LIMIT);
  reader.exec("COMMIT");
  reader.exec("PRAGMA wal_checkpoint(PASSIVE)");
  await provider.commit([sendItem({ id: "a", data: "small" })]);
  expect(statSync(`${path}-wal`).size).toBeLessThanOrEqual(LIMIT);
});

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

/** The log as it is now. */
function readLog(path: string): { readonly salt: string; readonly frames: number } {
  return readLogLength(`${path}-wal`) ?? { salt: "", frames: 0 };
}

test("the log stays bounded under load without a liveness thread", async () => {
  const { provider, path } = await open();
  let largest = 0;
  for (let i = 0; i < 60; i += 1) {
    await provider.commit([sendItem({ id: "a", data })]);
    largest = Math.max(largest, statSync(`${path}-wal`).size);
  }
  expect(largest).toBeGreaterThan(data.length);
  expect(largest).toBeLessThanOrEqual(LIMIT + 2 * data.length);
});

test("the log restarts again and again under load with a liveness thread", async () => {
  const { provider, path } = await open();
  provider.startLivenessThread?.({ runtimeId: "r", beatMs: 1_000, stallMs: 60_000 });
  // How much is written meanwhile depends on the disk: the main thread goes on while the thread checkpoints.
  for (let restart = 1; restart <= 3; restart += 1) {
    const { salt } = readLog(path);
    while (readLog(path).salt === salt) await provider.commit([sendItem({ id: "a", data })]);
  }
});

test("the liveness thread restarts the log while small commits continue, before a commit has to", async () => {
  const { provider, path } = await open();
  provider.startLivenessThread?.({ runtimeId: "r", beatMs: 1_000, stallMs: 60_000 });
  const { salt } = readLog(path);
  let largest = 0;
  while (readLog(path).salt === salt) {
    largest = Math.max(largest, readLog(path).frames);
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

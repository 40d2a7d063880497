// The write-ahead log shrinks after a long reader made it grow.

import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { sendItem, startItem } from "../testing/conformance/fixture.ts";
import { SqliteProvider } from "./index.ts";

const LIMIT = 64 * 1024 * 1024;

test("a log that grew under a long reader is cut when it begins again", async () => {
  const folder = mkdtempSync(join(tmpdir(), "perdure-log-"));
  const path = join(folder, "store.db");
  const provider = await SqliteProvider.open(path, { durability: "normal" });
  const reader = new DatabaseSync(path);
  onTestFinished(async () => {
    reader.close();
    await provider.close();
    rmSync(folder, { recursive: true });
  });
  await provider.commit([startItem({ id: "a" })]);
  reader.exec("BEGIN; SELECT count(*) FROM instances");
  const data = "x".repeat(4 * 1024 * 1024);
  for (let i = 0; i < 17; i += 1) await provider.commit([sendItem({ id: "a", data })]);
  expect(statSync(`${path}-wal`).size).toBeGreaterThan(LIMIT);
  reader.exec("COMMIT");
  reader.exec("PRAGMA wal_checkpoint(PASSIVE)");
  await provider.commit([sendItem({ id: "a", data: "small" })]);
  expect(statSync(`${path}-wal`).size).toBeLessThanOrEqual(LIMIT);
});

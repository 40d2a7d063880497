// Query plans: no statement that the store prepares at open scans a table that grows with the number of instances.
// The tasks table is an exception: it holds only waiting and running tasks, and the statements of one owner scan it.
// Metrics count unread events through their index, so their cost grows with the number of unread events.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test, vi } from "vitest";
import { SqliteProvider } from "../../../src/sqlite/index.ts";

test("prepared statements use an index and scan no table", async () => {
  const folder = mkdtempSync(join(tmpdir(), "perdure-plans-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, "store.db");
  await (await SqliteProvider.open(path)).close(); // creates the tables
  const prepare = vi.spyOn(DatabaseSync.prototype, "prepare");
  const store = await SqliteProvider.open(path);
  const statements = new Set(prepare.mock.calls.map(([sql]) => sql));
  prepare.mockRestore();
  expect(statements.size).toBeGreaterThan(60);
  using database = new DatabaseSync(path);
  const scans: string[] = [];
  for (const sql of statements) {
    if (/^\s*(PRAGMA|BEGIN|COMMIT|ROLLBACK)/.test(sql)) continue;
    for (const { detail } of database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all()) {
      const step = String(detail);
      if (step === "SCAN inbox USING INDEX inbox_events") continue;
      if (sql === "SELECT 1 FROM kept LIMIT 1") continue; // reads one row
      if (/^SCAN (instances|history|inbox|kv|requests|kept)\b/.test(step)) {
        scans.push(`${step}: ${sql}`);
      }
    }
  }
  expect(scans).toEqual([]);
  await store.close();
});

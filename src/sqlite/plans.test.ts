// Plans: no statement that the store prepares when it opens walks a table that grows with the number of instances.
// The queue of tasks is left out: it holds what waits and what runs, and the statements of one owner walk it. Metrics
// count unread events through their index, so that figure costs as much as there are unread events.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test, vi } from "vitest";
import { SqliteProvider } from "./index.ts";

test("prepared statements look rows up and walk no table", async () => {
  const folder = mkdtempSync(join(tmpdir(), "perdure-plans-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, "store.db");
  const prepare = vi.spyOn(DatabaseSync.prototype, "prepare");
  const store = await SqliteProvider.open(path);
  const statements = new Set(prepare.mock.calls.map(([sql]) => sql));
  prepare.mockRestore();
  expect(statements.size).toBeGreaterThan(60);
  using database = new DatabaseSync(path);
  const walks: string[] = [];
  for (const sql of statements) {
    if (/^\s*(PRAGMA|BEGIN|COMMIT|ROLLBACK)/.test(sql)) continue;
    for (const { detail } of database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all()) {
      const step = String(detail);
      if (step === "SCAN inbox USING INDEX inbox_events") continue;
      if (/^SCAN (instances|history|inbox|kv|requests|kept)\b/.test(step)) {
        walks.push(`${step}: ${sql}`);
      }
    }
  }
  expect(walks).toEqual([]);
  await store.close();
});

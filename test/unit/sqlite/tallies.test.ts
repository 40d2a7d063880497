// Tallies on SQLite: triggers maintain the counts for metrics; the migration counts existing instances.

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { startItem } from "../../../src/testing/conformance/fixture.ts";
import { SqliteProvider } from "../../../src/sqlite/index.ts";
import { inspectFile } from "../../../src/sqlite/read/inspection.ts";

async function opened(): Promise<{ store: SqliteProvider; path: string; database: DatabaseSync }> {
  const folder = mkdtempSync(join(tmpdir(), "perdure-tallies-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, "store.db");
  const store = await SqliteProvider.open(path);
  onTestFinished(() => store.close());
  await store.commit([startItem({ id: "a" }), startItem({ id: "b" })]);
  const database = new DatabaseSync(path);
  onTestFinished(() => database.close());
  return { store, path, database };
}

test("metrics read the tallies instead of the instances; a thorough inspection compares both", async () => {
  const { store, path, database } = await opened();
  expect(inspectFile(path, { thorough: true }).miscounts).toEqual([]);
  database.exec("DROP TRIGGER tallies_delete; DELETE FROM instances WHERE id = 'a'");
  expect(await store.readMetrics()).toMatchObject({ instances: { pending: 2 }, executions: 2 });
  expect(inspectFile(path, { thorough: true }).miscounts).toEqual([
    "status pending, instances: metrics report 1 too many",
    "status pending, executions: metrics report 1 too many",
  ]);
  expect(inspectFile(path, { thorough: false }).miscounts).toBeUndefined();
});

test("the migration counts existing instances", async () => {
  const { store, database } = await opened();
  for (const trigger of ["insert", "delete", "update", "status"]) {
    database.exec(`DROP TRIGGER tallies_${trigger}`);
  }
  database.exec(`DROP TABLE tallies;
    UPDATE instances SET status = 'running', last_event = 4 WHERE id = 'a'`);
  const file = new URL("../../../src/sqlite/migrations/0008-tallies.sql", import.meta.url);
  database.exec(readFileSync(file, "utf8"));
  expect(await store.readMetrics()).toMatchObject({
    instances: { pending: 1, running: 1 },
    executions: 2,
    events: 4,
  });
});

// A backup is a consistent snapshot and ends, even with concurrent writes.

import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { backUpFile } from "../../../src/sqlite/admin/backup.ts";

const PAGE_BYTES = 4_096;
/** Several steps of a backup. */
const ROWS = 6_000;

function source(): { file: string; target: string; database: DatabaseSync } {
  const folder = mkdtempSync(join(tmpdir(), "perdure-backup-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "source.db");
  const database = new DatabaseSync(file);
  onTestFinished(() => database.close());
  database.exec("PRAGMA journal_mode = wal; PRAGMA synchronous = off");
  database.exec("CREATE TABLE rows (id INTEGER PRIMARY KEY, data BLOB)");
  database.exec("BEGIN");
  const insert = database.prepare("INSERT INTO rows (data) VALUES (zeroblob(3000))");
  for (let row = 0; row < ROWS; row += 1) insert.run();
  database.exec("COMMIT");
  const target = join(folder, "target.db");
  writeFileSync(target, "");
  return { file, target, database };
}

function rowsOf(file: string): unknown {
  using database = new DatabaseSync(file);
  return database.prepare("SELECT count(*) AS rows, max(id) AS last FROM rows").get();
}

test("commits between the steps of a backup do not restart it", async () => {
  const { file, target, database } = source();
  const insert = database.prepare("INSERT INTO rows (data) VALUES (zeroblob(10))");
  const shares: number[] = [];
  const stop = new AbortController();
  await backUpFile(file, target, {
    signal: stop.signal,
    onProgress: (share) => {
      insert.run();
      shares.push(share);
      if (shares.length > 100) stop.abort(new Error("the backup does not end"));
    },
  });
  expect(shares.length).toBeGreaterThan(3);
  expect(shares).toEqual(shares.toSorted((a, b) => a - b));
  expect(rowsOf(target)).toEqual({ rows: ROWS, last: ROWS });
  expect(rowsOf(file)).toEqual({ rows: ROWS + shares.length, last: ROWS + shares.length });
  expect(statSync(target).size).toBeGreaterThan(ROWS * PAGE_BYTES * 0.9);
});

test("a signal stops a backup between two steps, and the source can be written and closed", async () => {
  const { file, target, database } = source();
  const stop = new AbortController();
  let steps = 0;
  const copying = backUpFile(file, target, {
    signal: stop.signal,
    onProgress: () => {
      steps += 1;
      stop.abort(new Error("enough"));
    },
  });
  await expect(copying).rejects.toThrow("enough");
  expect(steps).toBe(1);
  database.exec("DELETE FROM rows; PRAGMA wal_checkpoint(truncate)");
  expect(statSync(`${file}-wal`).size).toBe(0); // no remaining reader keeps the log
});

test("an unwritable target raises an error with a code that names both files", async () => {
  const { file, target } = source();
  const folder = join(target, "..");
  const options = { signal: new AbortController().signal, onProgress: () => undefined };
  await expect(backUpFile(file, folder, options)).rejects.toMatchObject({
    code: "STORE_UNAVAILABLE",
    message: expect.stringContaining(`${file} could not be copied to ${folder}: `) as string,
  });
});

// How much of a log is in use, compared with what SQLite itself reports.

import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { readLogLength } from "../../../src/sqlite/connection/log-length.ts";

function open() {
  const folder = mkdtempSync(join(tmpdir(), "perdure-log-length-"));
  const database = new DatabaseSync(join(folder, "store.db"));
  onTestFinished(() => {
    database.close();
    rmSync(folder, { recursive: true });
  });
  database.exec("PRAGMA journal_mode = wal; PRAGMA wal_autocheckpoint = 0; CREATE TABLE t (n)");
  const insert = database.prepare("INSERT INTO t VALUES (?)");
  const log = join(folder, "store.db-wal");
  return {
    log,
    write: (count: number) => {
      for (let row = 0; row < count; row++) insert.run("x".repeat(3_000));
    },
    checkpoint: () => database.prepare("PRAGMA wal_checkpoint(PASSIVE)").get(),
  };
}

test("the length of the log is the number of frames that SQLite would checkpoint", () => {
  const { log, write, checkpoint } = open();
  for (const count of [1, 2, 10, 97]) {
    write(count);
    const length = readLogLength(log);
    expect(checkpoint()).toEqual({ busy: 0, log: length?.frames, checkpointed: length?.frames });
  }
});

test("after a restart the log is short and has another salt, although its file is as large as before", () => {
  const { log, write, checkpoint } = open();
  write(50);
  const before = readLogLength(log);
  const { size } = statSync(log);
  checkpoint();
  write(1);
  const after = readLogLength(log);
  expect(statSync(log).size).toBe(size);
  expect(after?.salt).not.toBe(before?.salt);
  expect(after?.frames).toBeLessThan(10);
  expect(checkpoint()).toMatchObject({ log: after?.frames });
});

test("an empty log has no length", () => {
  const { log } = open();
  const empty = `${log}.empty`;
  writeFileSync(empty, "");
  expect(readLogLength(empty)).toBeNull();
});

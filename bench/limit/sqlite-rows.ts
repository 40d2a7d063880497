// The limit's rows on SQLite: the provider's own schema and settings, and the bare statements.

import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { applySettings } from "../../src/sqlite/connection/settings.ts";
import { migrate } from "../../src/sqlite/migrations.ts";
import type { Setting } from "../subject.ts";
import { pairOf } from "./event-pair.ts";
import { prepareInsert } from "./insert.ts";
import type { Rows, RowWrite, TurnRows } from "./rows.ts";

export function openSqliteRows({ directory }: Setting): Rows {
  const path = join(directory, "limit.db");
  const database = new DatabaseSync(path);
  applySettings(database, { path, inMemory: false, durability: "full" });
  migrate(database, path, Date.now());
  const insertInstance = prepareInsert(database, "instances", {
    ...{ key: "?1", id: "?2", run_id: "?3", name: "'limit'", version: "'1.0.0'" },
    ...{ created_at: "?4", updated_at: "?4", status: "'running'", execution: "1", priority: "3" },
    ...{
      lease_owner: "'limit'",
      lease_token: "1",
      on_parent_close: "'cancel'",
      attributes: "'{}'",
    },
  });
  const advance = database.prepare(`
    UPDATE instances SET last_event = ?, updated_at = ? WHERE key = ? AND lease_token = 1`);
  const end = database.prepare(`
    UPDATE instances SET last_event = ?1, updated_at = ?2, completed_at = ?2, status = 'completed',
      output = '1', lease_owner = NULL, lease_token = NULL
    WHERE key = ?3 AND lease_token = 1`);
  const insertHistory = prepareInsert(database, "history", {
    ...{ instance: "?1", execution: "1", first: "?2", last: "?3", data: "?4" },
  });
  const insertTask = prepareInsert(database, "tasks", {
    ...{ instance: "?1", execution: "1", sequence: "?2", available_at: "?3", priority: "3" },
    ...{ lease_owner: "'limit'", lease_token: "1", name: "'increment'", input: "'1'" },
  });
  const deleteTask = database.prepare(
    "DELETE FROM tasks WHERE instance = ? AND execution = 1 AND sequence = ? AND lease_token = 1",
  );
  const insertMessage = prepareInsert(database, "inbox", {
    ...{ id: "?1", instance: "?2", visible_at: "?3", kind: "?4", priority: "3", target: "'limit'" },
    ...{ execution: "1", sequence: "2", data: "'1'" },
  });
  const deleteMessage = database.prepare("DELETE FROM inbox WHERE id = ?");
  const selectHistory = database.prepare(
    "SELECT data FROM history WHERE instance = ? AND execution = 1 ORDER BY first",
  );
  const countEnded = database.prepare(
    "SELECT count(*) AS ended FROM instances WHERE status = 'completed'",
  );
  const [begin, commit] = [database.prepare("BEGIN IMMEDIATE"), database.prepare("COMMIT")];

  const finish = (key: number, sequence: number): void => {
    const { changes } = deleteTask.run(key, sequence);
    if (changes !== 1) throw new Error(`Instance ${key} has no task ${sequence} to end.`);
  };
  const turn = (write: TurnRows, now: number): void => {
    const { key, first, timer } = write;
    const last = first + 1;
    const { changes } = (write.ended === true ? end : advance).run(last, now, key);
    if (changes !== 1) throw new Error(`Instance ${key} has no row to advance.`);
    insertHistory.run(key, first, last, pairOf(now, first, write.payload));
    if (write.consumed !== undefined) deleteMessage.run(write.consumed);
    for (const sequence of write.finished ?? []) finish(key, sequence);
    for (const sequence of write.begun ?? []) insertTask.run(key, sequence, now);
    if (timer !== undefined) insertMessage.run(timer.message, key, timer.dueAt, "timer");
  };
  const write = (one: RowWrite, now: number): void => {
    if (one.kind === "turn") turn(one, now);
    else if (one.kind === "send") insertMessage.run(one.message, one.key, now, "event");
    else insertInstance.run(one.key, randomBytes(16).toString("hex"), `run-${one.key}`, now);
  };
  return {
    commit: async (group) => {
      begin.run();
      const now = Date.now();
      for (const one of group) write(one, now);
      commit.run();
    },
    history: async (key) => selectHistory.all(key).map((row) => String(row["data"])),
    ended: async () => Number(countEnded.get()?.["ended"]),
    close: async () => database.close(),
  };
}

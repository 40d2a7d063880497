import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, test } from "vitest";
import { SqliteProvider } from "../../../src/sqlite/index.ts";

let path: string;
beforeEach(() => {
  path = join(mkdtempSync(join(tmpdir(), "perdure-migrations-")), "store.db");
});
afterEach(() => rmSync(join(path, ".."), { recursive: true }));

const registered = (id: string) =>
  ({ id, nodeId: id, process: null, hostname: "host", registered: "{}" }) as const;

/** Undoes the migration "kept-messages". */
const UNDO_KEPT_MESSAGES = `
  DROP INDEX kept_due;
  DROP INDEX kept_expired;
  ALTER TABLE kept DROP COLUMN expires_at;
  ALTER TABLE kept DROP COLUMN expired_at;
  CREATE INDEX kept_age ON kept (created_at);`;

/** Undoes the migrations "callbacks" and "streams". */
const UNDO_CALLBACKS_AND_STREAMS = `
  DROP TABLE store;
  ALTER TABLE tasks DROP COLUMN deferred_until;
  DROP TABLE streams;
  DROP TABLE stream_calls;
  DROP TABLE stream_chunks;`;

/** Undoes the migration "queues". */
const UNDO_QUEUES = `
  DROP INDEX tasks_slots;
  DROP INDEX tasks_deferred;
  DROP INDEX tasks_keys;
  ALTER TABLE tasks DROP COLUMN queue_key;
  ALTER TABLE tasks DROP COLUMN weight;
  ALTER TABLE tasks DROP COLUMN holds_slot;
  DROP TABLE queues;
  DROP TABLE admissions;
  DROP TABLE queue_clocks;
  DROP TABLE queue_lanes;
  DROP TABLE queue_outcomes;`;

/** Undoes the migration "search", except for the tallies, which it creates again. */
const UNDO_SEARCH = `
  DROP TRIGGER attributes_insert;
  DROP TRIGGER attributes_update;
  DROP TRIGGER attributes_delete;
  DROP TABLE attributes;
  DROP INDEX instances_name;
  DROP INDEX instances_live;
  DROP INDEX instances_failed;
  DROP INDEX instances_paused;
  DROP INDEX instances_blocked;
  DROP INDEX instances_ended_others;
  DROP INDEX instances_created;
  CREATE INDEX instances_created ON instances (created_at, key, status, paused, blocked, name, id);`;

/** Undoes the migrations "jobs" and "enqueue-keys". */
const UNDO_JOBS = `
  DROP TABLE enqueue_keys;
  DROP INDEX instances_expiring;
  DROP INDEX instances_ended;
  ALTER TABLE instances DROP COLUMN delete_after;
  CREATE INDEX instances_ended ON instances (status, completed_at, key)
    WHERE completed_at IS NOT NULL AND parent_id IS NULL;`;

test("concurrent opens in one process create the tables once", async () => {
  const providers = await Promise.all(Array.from({ length: 8 }, () => SqliteProvider.open(path)));
  await Promise.all(providers.map((provider, i) => provider.registerRuntime(registered(`r${i}`))));
  expect(await providers[0]?.listRuntimes()).toHaveLength(8);
  await Promise.all(providers.map((provider) => provider.close()));
});

test("concurrent opens of a new file by many processes all succeed", async () => {
  const program = `
    import { SqliteProvider } from ${JSON.stringify(new URL("../../../src/sqlite/index.ts", import.meta.url).href)};
    const provider = await SqliteProvider.open(process.argv[1]);
    await provider.registerRuntime({
      id: String(process.pid), nodeId: "n", process: null, hostname: "h", registered: "{}",
    });
    await provider.close();`;
  const argv = ["--input-type=module", "--no-warnings", "-e", program, path];
  const processes = Array.from({ length: 6 }, () => promisify(execFile)(process.execPath, argv));
  for (const { stderr } of await Promise.all(processes)) expect(stderr).toBe("");
  using database = new DatabaseSync(path);
  expect(database.prepare("SELECT count(*) AS n FROM runtimes").get()).toEqual({ n: 6 });
  expect(database.prepare("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
});

test("a new store is the same whether its process has created one before or not, except for its id and its time", async () => {
  const url = new URL("../../../src/sqlite/index.ts", import.meta.url).href;
  const code = `const { SqliteProvider } = await import(${JSON.stringify(url)});
    for (const name of ["first", "second"]) {
      const provider = await SqliteProvider.open(${JSON.stringify(path)} + name);
      await provider.close();
    }`;
  const argv = ["--input-type=module", "-e", code];
  expect((await promisify(execFile)(process.execPath, argv)).stderr).toBe("");
  const [first, second] = ["first", "second"].map((name) => contentsOf(path + name));
  expect(second).toEqual({ ...first, id: expect.stringMatching(/^[0-9a-f]{32}$/) as string });
  expect(second!["id"]).not.toBe(first!["id"]);
});

/** The schema and all rows, the id of the store apart. */
function contentsOf(file: string): Record<string, unknown> {
  using database = new DatabaseSync(file);
  const schema = database
    .prepare("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name")
    .all();
  const tables = schema.filter(({ type, name }) => type === "table" && name !== "store");
  const rows = tables.map(({ name }) => {
    const where = name === "meta" ? "WHERE name <> 'created_at'" : "";
    return [name, database.prepare(`SELECT * FROM ${String(name)} ${where}`).all()];
  });
  const pragmas = ["application_id", "user_version", "journal_mode"].map((name) =>
    database.prepare(`PRAGMA ${name}`).get(),
  );
  const id = database.prepare("SELECT id FROM store").get()?.["id"];
  return { schema, rows, pragmas, id };
}

test("an open that cannot get the write lock fails and leaves no partial store", async () => {
  using other = new DatabaseSync(path);
  other.exec("PRAGMA journal_mode = wal");
  other.exec("BEGIN IMMEDIATE");
  await expect(SqliteProvider.open(path, { busyMs: 20 })).rejects.toMatchObject({
    code: "STORE_UNAVAILABLE",
  });
  other.exec("COMMIT");
  expect(other.prepare("SELECT count(*) AS n FROM sqlite_schema").get()).toEqual({ n: 0 });
  await (await SqliteProvider.open(path)).close();
});

test("the history of a file from before row ids keeps its rows, order and checksums", async () => {
  await (await SqliteProvider.open(path)).close();
  const rowsOf = (database: DatabaseSync): unknown =>
    database.prepare("SELECT * FROM history ORDER BY instance, execution, first").all();
  using database = new DatabaseSync(path);
  database.exec(`
    DROP INDEX requests_askers;
    ALTER TABLE requests DROP COLUMN answer;
    ALTER TABLE requests DROP COLUMN answer_checksum;
    ALTER TABLE requests DROP COLUMN asker;
    DROP TABLE history;
    CREATE TABLE history (
      instance INTEGER NOT NULL, execution INTEGER NOT NULL, first INTEGER NOT NULL,
      last INTEGER NOT NULL, data TEXT NOT NULL, checksum INTEGER,
      PRIMARY KEY (instance, execution, first)
    ) STRICT, WITHOUT ROWID;
    INSERT INTO history VALUES
      (2, 1, 1, 2, '${"x".repeat(20_000)}', 7), (1, 2, 1, 1, 'b', 8), (1, 1, 3, 4, 'a', -9);
    ${UNDO_SEARCH}
    ${UNDO_JOBS}
    ${UNDO_QUEUES}
    ${UNDO_KEPT_MESSAGES}
    ${UNDO_CALLBACKS_AND_STREAMS}
    UPDATE meta SET value = 10 WHERE name = 'schema_version'`);
  const before = rowsOf(database);
  await (await SqliteProvider.open(path)).close();
  expect(rowsOf(database)).toEqual(before);
  expect(database.prepare("SELECT count(rowid) AS n FROM history").get()).toEqual({ n: 3 });
  expect(() => database.exec("INSERT INTO history VALUES (1, 1, 3, 3, 'c', 0)")).toThrow("UNIQUE");
  expect(database.prepare("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
});

// Files that are not a store, or not a store of this version: refused with their path and the reason, and left
// unchanged.

import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, onTestFinished, test } from "vitest";
import { orchestration, Perdure } from "../../../src/index.ts";
import { SqliteProvider } from "../../../src/sqlite/index.ts";
import { runUnprivileged } from "./child.ts";
import {
  collectLogs,
  fileStore,
  refusalOf,
  startRuntime,
  temporaryFolder,
  until,
} from "./support.ts";

const quick = orchestration("quick", async (_, n: number) => n);

describe("a path that cannot be a store", () => {
  test.each([
    ["an empty path", () => "", "the path is empty"],
    ["a NUL character", () => "a\0b", "NUL character"],
    ["a directory", (folder: string) => folder, "it is a directory"],
    [
      "below a file",
      (folder: string) => join(made(folder, "file", "x"), "s.db"),
      "is not a directory",
    ],
    [
      "in a directory that does not exist",
      (folder: string) => join(folder, "no", "s.db"),
      "does not exist",
    ],
    ["a device", () => "/dev/null", "it is not a regular file"],
    ["a name longer than the host allows", (folder: string) => join(folder, "x".repeat(300)), "x"],
  ])("%s is refused by name, and nothing is created", async (_, pathIn, why) => {
    const folder = temporaryFolder();
    const path = pathIn(folder);
    const before = readdirSync(folder);
    for (const open of [() => SqliteProvider.open(path), () => Perdure.open(`sqlite:${path}`)]) {
      const error = await refusalOf(open);
      expect(error.code).toBe("STORE_INVALID");
      expect(error.message).toContain(path);
      expect(error.message).toContain(why);
    }
    expect(readdirSync(folder)).toEqual(before);
  });

  test("a text file is refused and left unchanged", async () => {
    const path = made(temporaryFolder(), "notes.txt", "Dear diary, ".repeat(500));
    await refusedUntouched(path, /not a database/);
  });

  test("a file that begins like a database but is not one is refused and left unchanged", async () => {
    const path = made(temporaryFolder(), "half.db", `SQLite format 3\0${"x".repeat(4_000)}`);
    await refusedUntouched(path, /./);
  });

  test("a truncated database is refused and left unchanged", async () => {
    const { path, provider } = await fileStore();
    await provider.close();
    const whole = readFileSync(path);
    writeFileSync(path, whole.subarray(0, 5_000));
    await refusedUntouched(path, /./);
  });

  test("a broken symbolic link is refused", async () => {
    const path = join(temporaryFolder(), "link.db");
    symlinkSync("/nowhere/at/all.db", path);
    expect((await refusalOf(SqliteProvider.open(path))).code).toBe("STORE_INVALID");
  });
});

describe("a database of another program", () => {
  test.each([
    ["with tables", "CREATE TABLE users (id INTEGER PRIMARY KEY); INSERT INTO users VALUES (1)"],
    [
      "with a table named like one of Perdure's",
      "CREATE TABLE instances (key INTEGER PRIMARY KEY)",
    ],
    [
      "with a meta table like Perdure's",
      "CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER)",
    ],
    ["that is empty, but marked by its application id", "PRAGMA application_id = 252006674"],
  ])("%s is refused, and not a byte of it changes", async (_, sql) => {
    const path = foreignDatabase(sql);
    await refusedUntouched(path, /database of another program.*a separate file/);
  });

  test("is refused while its owner writes, without disturbing the owner", async () => {
    const path = foreignDatabase("PRAGMA journal_mode = wal; CREATE TABLE users (id INTEGER)");
    const owner = new DatabaseSync(path);
    owner.exec("BEGIN IMMEDIATE; INSERT INTO users VALUES (1)");
    expect((await refusalOf(SqliteProvider.open(path))).code).toBe("STORE_INVALID");
    owner.exec("COMMIT");
    expect(owner.prepare("SELECT count(*) AS n FROM users").get()).toEqual({ n: 1 });
    owner.close();
  });

  test("that is empty becomes a store", async () => {
    const path = made(temporaryFolder(), "empty.db", "");
    const provider = await SqliteProvider.open(path);
    expect(await provider.listRuntimes()).toEqual([]);
    await provider.close();
  });
});

describe("a store", () => {
  test("of a newer Perdure is refused with both versions, and left unchanged", async () => {
    const { path, provider } = await fileStore();
    await provider.close();
    const database = new DatabaseSync(path);
    database.exec("UPDATE meta SET value = 999 WHERE name = 'schema_version'");
    database.close();
    const before = readFileSync(path);
    const error = await refusalOf(SqliteProvider.open(path));
    expect(error.code).toBe("SCHEMA_NEWER");
    expect(error.message).toContain(path);
    expect(error.message).toMatch(
      /schema version 999; this version of Perdure supports up to \d+\. Update Perdure\./,
    );
    expect(readFileSync(path).equals(before)).toBe(true);
  });

  test("whose meta table was removed is refused, not created again", async () => {
    const { path, client, provider } = await fileStore();
    await client.start(quick, 1, { id: "kept" });
    await provider.close();
    const database = new DatabaseSync(path);
    database.exec("DELETE FROM meta WHERE name = 'schema_version'");
    database.close();
    expect((await refusalOf(SqliteProvider.open(path))).code).toBe("STORE_INVALID");
    const after = new DatabaseSync(path);
    expect(after.prepare("SELECT count(*) AS n FROM instances").get()).toEqual({ n: 1 });
    after.close();
  });

  test("that is not writable, or whose folder is not, is refused with that reason", async () => {
    const { path, provider } = await fileStore();
    await provider.close();
    chmodSync(path, 0o444);
    chmodSync(dirname(path), 0o555);
    const missing = join(dirname(path), "new.db");
    const program = runUnprivileged("open-stores", path, missing);
    expect(await program.ended).toBe(0);
    expect(program.said).toEqual([
      {
        what: "STORE_INVALID",
        message: `"${path}" cannot be opened as a store: it is not writable.`,
      },
      {
        what: "STORE_INVALID",
        message: `"${missing}" cannot be opened as a store: the directory ${dirname(path)} is not writable.`,
      },
    ]);
    chmodSync(dirname(path), 0o755);
  });

  test("that cannot be switched to WAL is refused, because it would not be durable", async () => {
    const { path, provider } = await fileStore();
    await provider.close();
    const reader = new DatabaseSync(path);
    reader.exec("PRAGMA journal_mode = delete; BEGIN; SELECT * FROM meta");
    onTestFinished(() => reader.close());
    const error = await refusalOf(SqliteProvider.open(path, { busyMs: 50 }));
    expect(["STORE_UNAVAILABLE", "STORE_INVALID"]).toContain(error.code);
    reader.exec("ROLLBACK");
    const again = await SqliteProvider.open(path);
    expect(again.durability).toContain("full: WAL");
    await again.close();
  });

  test("opened ten times at once is created once", async () => {
    const path = join(temporaryFolder(), "store.db");
    const providers = await Promise.all(
      Array.from({ length: 10 }, () => SqliteProvider.open(path)),
    );
    onTestFinished(async () => void (await Promise.all(providers.map((one) => one.close()))));
    const [first] = await Promise.all(providers.map((one) => one.listRuntimes()));
    expect(first).toEqual([]);
  });

  test("that was closed answers calls with a code, and its runtime logs at most two lines", async () => {
    const { client, provider } = await fileStore();
    const logs = collectLogs();
    const runtime = await startRuntime(provider, [quick], { log: logs.sink, pollIntervalMs: 20 });
    await provider.close();
    await until("the runtime noticed", () => runtime.stats().providerErrors > 0);
    const error = await refusalOf(provider.listRuntimes());
    expect([error.code, error.message]).toEqual(["STORE_UNAVAILABLE", "The provider is closed."]);
    expect(logs.about("The provider is closed").length).toBeLessThanOrEqual(2);
    void client;
  });

  test("whose file was deleted under a runtime is logged once, as an error", async () => {
    const { path, provider } = await fileStore();
    const logs = collectLogs();
    const runtime = await startRuntime(provider, [quick], { log: logs.sink, pollIntervalMs: 20 });
    rmSync(path);
    const errors = (): number => runtime.stats().providerErrors;
    await until("several calls failed", () => errors() >= 3 && logs.about(path).length > 0);
    const message = `the store is lost: ${path} was deleted while this process had it open`;
    expect(logs.about(path)).toEqual([
      { level: "error", message: expect.stringContaining(message) as string, fields: {} },
    ]);
    expect(logs.about("retrying")).toEqual([]);
  });

  test("has no log file after it was closed, and is complete when opened again", async () => {
    const { path, client, provider } = await fileStore();
    await client.start(quick, 1, { id: "kept" });
    await provider.close();
    expect(existsSync(`${path}-wal`)).toBe(false);
    const again = await fileStore(path);
    expect(await again.client.get("kept").exists()).toBe(true);
  });
});

describe("data in the store that cannot be read", () => {
  test("blocks only its instance, reports the reason, and is kept", async () => {
    const waits = orchestration("waits", async (ctx, n: number) => [n, await ctx.waitFor("go")]);
    const { path, client, provider } = await fileStore();
    const first = await startRuntime(provider, [waits]);
    const bad = await client.start(waits, 1, { id: "bad" });
    const good = await client.start(waits, 2, { id: "good" });
    await until("both wait", async () => {
      const infos = await Promise.all([bad.describe(), good.describe()]);
      return infos.every(({ waitingFor }) => waitingFor.length === 1);
    });
    await first.shutdown();
    const database = new DatabaseSync(path);
    database.exec(
      "UPDATE history SET data = 'torn' WHERE instance = (SELECT key FROM instances WHERE id = 'bad')",
    );
    database.close();
    await bad.raise("go", "x");
    await good.raise("go", "y");
    await startRuntime(provider, [waits]);
    expect(await good.result()).toEqual([2, "y"]);
    await until(
      "the torn one is blocked",
      async () => (await bad.describe()).blocked !== undefined,
    );
    expect(await bad.describe()).toMatchObject({
      status: "running",
      blocked: { code: "HISTORY_CORRUPT" },
      waitingFor: [],
    });
    expect((await refusalOf(bad.history())).code).toBe("HISTORY_CORRUPT");
    await bad.terminate("torn");
    await expect(bad.result()).rejects.toMatchObject({ code: "TERMINATED" });
  });

  test.each([
    ["ends before it begins", "UPDATE history SET last = -123 WHERE first = 1"],
    ["is not there", "DELETE FROM history WHERE first = 1"],
    ["belongs to another execution", "UPDATE history SET execution = 3 WHERE first = 1"],
  ])(
    "is a history whose first row %s: only a page without that row is read, and it is not forked",
    async (_, sql) => {
      const waits = orchestration("waits", async (ctx, n: number) => [
        await ctx.step("one", () => n),
        await ctx.waitFor("go"),
      ]);
      const { path, client, provider } = await fileStore();
      const first = await startRuntime(provider, [waits]);
      const handle = await client.start(waits, 1, { id: "a" });
      const isWaiting = async (): Promise<boolean> =>
        (await handle.describe()).waitingFor.some(({ kind }) => kind === "event");
      await until("it waits", isWaiting);
      await first.shutdown();
      const { length } = await handle.history();
      const database = new DatabaseSync(path);
      database.exec(sql);
      database.close();
      for (const read of [
        () => handle.history(),
        () => handle.history({ limit: 1 }),
        () => handle.unread(),
        () => client.fork("a", { beforeSequence: length }),
      ]) {
        expect((await refusalOf(read)).code).toBe("HISTORY_CORRUPT");
      }
      expect(await handle.history({ after: length - 1 })).toHaveLength(1);
      expect((await handle.describe()).unreadable).toBeDefined();
    },
  );
});

/** Opening the path fails with STORE_INVALID and names the path; neither the file nor the folder changes. */
async function refusedUntouched(path: string, why: RegExp): Promise<void> {
  const before = { bytes: readFileSync(path), changed: statSync(path).mtimeMs };
  const error = await refusalOf(SqliteProvider.open(path));
  expect(error.code).toBe("STORE_INVALID");
  expect(error.message).toContain(path);
  expect(error.message).toMatch(why);
  expect(readFileSync(path).equals(before.bytes)).toBe(true);
  expect(statSync(path).mtimeMs).toBe(before.changed);
  expect(existsSync(`${path}-wal`)).toBe(false);
}

function foreignDatabase(sql: string): string {
  const path = join(temporaryFolder(), "foreign.db");
  const database = new DatabaseSync(path);
  database.exec(sql);
  database.close();
  return path;
}

function made(folder: string, name: string, text: string): string {
  mkdirSync(folder, { recursive: true });
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

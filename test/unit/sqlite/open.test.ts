import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { SqliteProvider } from "../../../src/sqlite/index.ts";
import { SCHEMA_VERSION } from "../../../src/sqlite/migrations.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "perdure-open-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const refuses = (path: string, code: string, message: RegExp | string) =>
  expect(SqliteProvider.open(path)).rejects.toMatchObject({
    code,
    message: expect.stringMatching(message),
  });

describe("open", () => {
  test("a new file becomes a store, and the provider describes its durability", async () => {
    const path = join(folder, "store.db");
    const provider = await SqliteProvider.open(path);
    expect(provider.name).toBe("sqlite");
    expect(provider.durability).toMatch(/^full: WAL, every commit is synced/);
    await provider.close();
    using database = new DatabaseSync(path);
    expect(database.prepare("PRAGMA journal_mode").get()).toEqual({ journal_mode: "wal" });
    const version = database.prepare("SELECT value FROM meta WHERE name = 'schema_version'").get();
    expect(version).toEqual({ value: SCHEMA_VERSION });
  });

  test("a weaker durability can be selected and is described", async () => {
    const provider = await SqliteProvider.open(join(folder, "store.db"), { durability: "normal" });
    expect(provider.durability).toMatch(/^normal: .*power failure/);
    await provider.close();
  });

  test("a store in memory describes its durability as none and offers no liveness thread", async () => {
    const provider = await SqliteProvider.open(":memory:");
    expect(provider.durability).toMatch(/^none/);
    expect(provider.startLivenessThread).toBeUndefined();
    await provider.close();
  });

  test.each([0o000, 0o022, 0o077])(
    "S33: only the owner can access a new file and its companions, with umask %o; an existing file keeps its mode",
    async (umask) => {
      const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8);
      const [made, given] = [join(folder, "made.db"), join(folder, "given.db")];
      writeFileSync(given, "");
      chmodSync(given, 0o640);
      const before = process.umask(umask);
      try {
        const [one, two] = [await SqliteProvider.open(made), await SqliteProvider.open(given)];
        const files = ["", "-wal", "-shm"];
        expect(files.map((end) => modeOf(made + end))).toEqual(["600", "600", "600"]);
        expect(files.map((end) => modeOf(given + end))).toEqual(["640", "640", "640"]);
        await one.close();
        await two.close();
      } finally {
        process.umask(before);
      }
    },
  );

  test("a path that looks like a URI is used as a file name", async () => {
    mkdirSync(join(folder, "file:"));
    const path = join(folder, "file:", "store.db?mode=memory");
    const provider = await SqliteProvider.open(path);
    await provider.close();
    expect(readFileSync(path).subarray(0, 15).toString()).toBe("SQLite format 3");
  });

  test("an empty file is treated like a new file", async () => {
    const path = join(folder, "empty.db");
    writeFileSync(path, "");
    await (await SqliteProvider.open(path)).close();
  });
});

describe("open refuses, before anything is written,", () => {
  test("a directory", () => refuses(folder, "STORE_INVALID", "it is a directory"));

  test("a path whose directory is missing, and names the directory", async () => {
    const path = join(folder, "missing", "store.db");
    await refuses(path, "STORE_INVALID", join(folder, "missing"));
  });

  test("a path below a file", async () => {
    const file = join(folder, "file");
    writeFileSync(file, "text");
    await refuses(join(file, "store.db"), "STORE_INVALID", "is not a directory");
    await refuses(join(file, "deeper", "store.db"), "STORE_INVALID", "ENOTDIR|does not exist");
  });

  test("an empty path and a path with a NUL character", async () => {
    await refuses("", "STORE_INVALID", "empty");
    await refuses(join(folder, "a\0b"), "STORE_INVALID", "NUL character");
  });

  test("a file that is not a database, and leaves it unchanged", async () => {
    const path = join(folder, "notes.txt");
    for (const text of ["short", "long text\n".repeat(2_000)]) {
      writeFileSync(path, text);
      await refuses(path, "STORE_INVALID", "not a database");
      expect(readFileSync(path, "utf8")).toBe(text);
    }
  });

  test("a database of another program, and leaves it unchanged", async () => {
    const path = join(folder, "theirs.db");
    {
      using database = new DatabaseSync(path);
      database.exec("CREATE TABLE customers (name TEXT)");
    }
    const before = readFileSync(path);
    await refuses(path, "STORE_INVALID", "another program");
    expect(readFileSync(path)).toEqual(before);
  });

  test("an empty database with the application id of another program", async () => {
    const path = join(folder, "marked.db");
    {
      using database = new DatabaseSync(path);
      database.exec("PRAGMA application_id = 42");
    }
    await refuses(path, "STORE_INVALID", "another program");
  });

  test("a store of a newer version", async () => {
    const path = join(folder, "newer.db");
    await (await SqliteProvider.open(path)).close();
    {
      using database = new DatabaseSync(path);
      database.exec(`UPDATE meta SET value = ${SCHEMA_VERSION + 1} WHERE name = 'schema_version'`);
    }
    await refuses(path, "SCHEMA_NEWER", `version ${SCHEMA_VERSION + 1}`);
  });
});

describe('with migrate: "verify"', () => {
  const verify = (path: string) => SqliteProvider.open(path, { migrate: "verify" });

  test("a store that is up to date is opened", async () => {
    const path = join(folder, "store.db");
    await (await SqliteProvider.open(path)).close();
    await (await verify(path)).close();
  });

  test("an empty file is refused with the names of the missing migrations and stays empty (matching.1)", async () => {
    const path = join(folder, "empty.db");
    writeFileSync(path, "");
    const message = expect.stringContaining("Missing: 0001-initial.sql");
    await expect(verify(path)).rejects.toMatchObject({ code: "STORE_INVALID", message });
    expect(readFileSync(path, "utf8")).toBe("");
  });

  test("a store of an older version is refused and stays unchanged (matching.1)", async () => {
    const path = join(folder, "older.db");
    await (await SqliteProvider.open(path)).close();
    {
      using database = new DatabaseSync(path);
      database.exec(`UPDATE meta SET value = ${SCHEMA_VERSION - 1} WHERE name = 'schema_version'`);
    }
    const before = readFileSync(path);
    await expect(verify(path)).rejects.toMatchObject({ code: "STORE_INVALID" });
    expect(readFileSync(path)).toEqual(before);
  });
});

describe("after close", () => {
  test("a second close does nothing, and every call fails because the store is closed", async () => {
    const provider = await SqliteProvider.open(join(folder, "store.db"));
    await provider.close();
    await provider.close();
    const closed = { code: "STORE_UNAVAILABLE", message: expect.stringContaining("closed") };
    await expect(provider.readInstance("a")).rejects.toMatchObject(closed);
    await expect(provider.beat("a")).rejects.toMatchObject(closed);
    const item = { kind: "releaseInstance", key: 1, token: 1 } as const;
    await expect(provider.commit([item])).rejects.toMatchObject(closed);
    expect(() => provider.subscribe(() => {})).toThrow("closed");
  });
});

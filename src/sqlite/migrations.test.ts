import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, test } from "vitest";
import { SqliteProvider } from "./index.ts";

let path: string;
beforeEach(() => {
  path = join(mkdtempSync(join(tmpdir(), "perdure-migrations-")), "store.db");
});
afterEach(() => rmSync(join(path, ".."), { recursive: true }));

const registered = (id: string) =>
  ({ id, nodeId: id, process: null, hostname: "host", registered: "{}" }) as const;

test("many openers at once in one process make the tables once", async () => {
  const providers = await Promise.all(Array.from({ length: 8 }, () => SqliteProvider.open(path)));
  await Promise.all(providers.map((provider, i) => provider.registerRuntime(registered(`r${i}`))));
  expect(await providers[0]?.listRuntimes()).toHaveLength(8);
  await Promise.all(providers.map((provider) => provider.close()));
});

test("many processes that start at once on a new file all find a store", async () => {
  const program = `
    import { SqliteProvider } from ${JSON.stringify(new URL("./index.ts", import.meta.url).href)};
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

test("an opener that cannot get its turn gives up and leaves no half of a store", async () => {
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

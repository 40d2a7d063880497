// The bank in small: transfers in ctx.tx, their process killed again and again. Each commits exactly once.

import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { Client } from "../../src/index.ts";
import { SqliteProvider } from "../../src/sqlite/index.ts";
import { temporaryFolder } from "../trouble/support.ts";

const INSTANCES = 60;
const KILLS = 6;

test("600 transfers under 6 kills are each made once, and no cent is lost (TX2)", async () => {
  const path = join(temporaryFolder(), "bank.db");
  const provider = await SqliteProvider.open(path);
  using database = new DatabaseSync(path);
  database.exec(`
    CREATE TABLE accounts (id TEXT PRIMARY KEY, balance INTEGER NOT NULL) STRICT;
    INSERT INTO accounts VALUES ('from', 10000), ('to', 0);
    CREATE TABLE moves (id TEXT NOT NULL, n INTEGER NOT NULL) STRICT`);
  const client = new Client(provider);
  const ids = Array.from({ length: INSTANCES }, (_, n) => `t${n}`);
  const handles = await Promise.all(ids.map((id) => client.start("transfers", id, { id })));
  const moves = (): number =>
    Number(database.prepare("SELECT count(*) AS n FROM moves").get()?.["n"]);
  let landed = 0;
  let worker: ChildProcess | null = null;
  for (let kill = 1; kill <= KILLS; kill++) {
    worker = fork(join(import.meta.dirname, "worker.ts"), [path], { stdio: "inherit" });
    await once(worker, "message");
    const goal = (kill * INSTANCES * 10) / (KILLS + 1);
    while (moves() < goal) await new Promise((resolve) => setImmediate(resolve));
    if (worker.kill("SIGKILL")) landed++;
    await once(worker, "exit");
  }
  worker = fork(join(import.meta.dirname, "worker.ts"), [path], { stdio: "inherit" });
  const results = await Promise.all(handles.map((handle) => handle.result({ timeout: "40s" })));
  worker.kill("SIGKILL");
  await once(worker, "exit");
  await provider.close();
  expect(landed).toBe(KILLS);
  expect(results).toEqual(ids);
  const twice = "SELECT id, n, count(*) AS times FROM moves GROUP BY id, n HAVING times > 1";
  expect(database.prepare(twice).all()).toEqual([]);
  expect(moves()).toBe(INSTANCES * 10);
  expect(database.prepare("SELECT * FROM accounts ORDER BY id").all()).toEqual([
    { id: "from", balance: 10_000 - INSTANCES * 10 },
    { id: "to", balance: INSTANCES * 10 },
  ]);
});

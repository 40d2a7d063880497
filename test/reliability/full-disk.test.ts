// A real file system that takes no more: the host's limit on the size of a file stands in for a full disk. A process
// under it says so, loses nothing and ends nobody; one with room goes on where it stood (P6).

import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { Client } from "../../src/index.ts";
import { SqliteProvider } from "../../src/sqlite/index.ts";
import { auditStore } from "../kill/store-audit.ts";
import { sqliteStore } from "../kill/stores.ts";
import { temporaryFolder, until } from "../trouble/support.ts";

const program = fileURLToPath(new URL("./filler.ts", import.meta.url));
const INSTANCES = 20;
/** In blocks of 1,024 bytes: room for the tables, and for a part of the work. */
const ROOM = 2_048;

test("work stands still where a file can grow no more, is told of, and ends where there is room", async () => {
  const path = join(temporaryFolder(), "store.db");
  const provider = await SqliteProvider.open(path);
  const client = new Client(provider);
  const ids = Array.from({ length: INSTANCES }, (_, n) => `fills-${n}`);
  await Promise.all(ids.map((id) => client.start("fills", undefined, { id })));
  await provider.close(); // its log is in the file now, and the worker begins with an empty one

  const limited = worker(path, ROOM);
  await until(
    "it says that the disk is full",
    () => limited.said().includes("the store is in trouble"),
    50_000,
  );
  expect(limited.said()).toMatch(/disk I\/O error|database or disk is full/);
  expect(limited.isAlive()).toBe(true); // it tries on
  const during = await SqliteProvider.open(path);
  const looked = await new Client(during).list({});
  await during.close();
  const endings = looked.items.filter(
    ({ status }) => !["pending", "running", "completed"].includes(status),
  );
  expect(endings).toEqual([]);
  const doneBefore = looked.items.filter(({ status }) => status === "completed").length;
  expect(doneBefore).toBeLessThan(INSTANCES);
  await limited.end();

  const free = worker(path, null);
  const again = await SqliteProvider.open(path);
  const results = await Promise.all(
    ids.map((id) => new Client(again).get(id).result({ timeout: "50s" })),
  );
  expect(results).toEqual(ids.map(() => 8 * 20_000));
  await free.end();
  await again.close();
  const { faults } = await auditStore(sqliteStore(path));
  expect(faults).toEqual([]);
});

/** A process that works on the store, under that limit on files if there is one. */
function worker(path: string, blocks: number | null) {
  const limit = blocks === null ? "" : `trap "" XFSZ; ulimit -f ${blocks}; `;
  const child = spawn("bash", ["-c", `${limit}exec "$0" "$@"`, process.execPath, program, path], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (said += text));
  const ended = once(child, "exit");
  const end = async (): Promise<void> => {
    child.kill("SIGKILL");
    await ended;
  };
  onTestFinished(end);
  return { said: () => said, isAlive: () => child.exitCode === null, end };
}

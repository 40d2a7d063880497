// A real file system that refuses to grow a file: the host's limit on file sizes stands in for a full disk. The process
// under the limit logs the error, loses nothing and fails no instance. A process without the limit finishes the work
// (P6).

import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { Client } from "../../../src/index.ts";
import { SqliteProvider } from "../../../src/sqlite/index.ts";
import { auditStore } from "../kill/audit/store-audit.ts";
import { sqliteStore } from "../kill/stores.ts";
import { temporaryFolder, until } from "../trouble/support.ts";

const program = fileURLToPath(new URL("./filler.ts", import.meta.url));
const INSTANCES = 20;
/** In blocks of 1,024 bytes: enough for the tables and for a part of the work. */
const BLOCKS = 2_048;

test("work stops and logs it when the file cannot grow, and completes when it can", async () => {
  const path = join(temporaryFolder(), "store.db");
  const provider = await SqliteProvider.open(path);
  const client = new Client(provider);
  const ids = Array.from({ length: INSTANCES }, (_, n) => `fills-${n}`);
  await Promise.all(ids.map((id) => client.start("fills", undefined, { id })));
  await provider.close(); // closing moves the log into the file, so the worker begins with an empty log

  const limited = worker(path, BLOCKS);
  await until(
    "the worker logs that the disk is full",
    () => limited.stderr().includes("store unavailable"),
    50_000,
  );
  expect(limited.stderr()).toMatch(/disk I\/O error|database or disk is full/);
  expect(limited.isAlive()).toBe(true); // it keeps retrying
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

/** A process that works on the store, with that limit on file sizes if it is not null. */
function worker(path: string, blocks: number | null) {
  const limit = blocks === null ? "" : `trap "" XFSZ; ulimit -f ${blocks}; `;
  const child = spawn("bash", ["-c", `${limit}exec "$0" "$@"`, process.execPath, program, path], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  const ended = once(child, "exit");
  const end = async (): Promise<void> => {
    child.kill("SIGKILL");
    await ended;
  };
  onTestFinished(end);
  return { stderr: () => stderr, isAlive: () => child.exitCode === null, end };
}

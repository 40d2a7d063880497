// Durability as the host provides it, not as it was requested: the settings of every connection to a SQLite file, and
// the order of writes to the log, syncs and acknowledgements to the caller (P1).

import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { DatabaseSync } from "node:sqlite";
import { expect, test, vi } from "vitest";
import { Client, orchestration } from "../../../src/index.ts";
import { SqliteProvider } from "../../../src/sqlite/index.ts";
import { startRuntime, temporaryFolder } from "../trouble/support.ts";

const CALLS = process.env["PERDURE_FULL"] === "1" ? 1_000 : 200;
const STRACE = ["/usr/bin/strace", "/bin/strace"].find((path) => existsSync(path));

test("every connection of this thread, including a step's transaction, uses WAL and leaves the sync of commits to Perdure", async () => {
  const spy = vi.spyOn(DatabaseSync.prototype, "exec");
  const path = join(temporaryFolder(), "store.db");
  const provider = await SqliteProvider.open(path);
  const rows = orchestration("rows", async (ctx) => {
    await ctx.tx("row", (tx: DatabaseSync) => tx.exec("CREATE TABLE mine (n INTEGER)"));
    return true;
  });
  await startRuntime(provider, [rows]);
  expect(await (await new Client(provider).start(rows, undefined)).result()).toBe(true);
  const databases = new Set(spy.mock.contexts.filter((one) => one instanceof DatabaseSync));
  spy.mockRestore();
  const settings = [...databases].map((database) =>
    ["journal_mode", "synchronous"].map((name) =>
      String(Object.values(database.prepare(`PRAGMA ${name}`).get() ?? {})[0]),
    ),
  );
  expect(settings).toEqual([
    ["wal", "1"],
    ["wal", "1"],
  ]);
  await provider.close();
});

test(
  STRACE === undefined
    ? "strace is not installed, so only the store's reported durability is checked"
    : `each of ${CALLS} calls is acknowledged after its last write to the log was synced`,
  { timeout: 120_000 },
  async () => {
    const path = join(temporaryFolder(), "store.db");
    if (STRACE === undefined) {
      const provider = await SqliteProvider.open(path);
      expect(provider.durability).toBe(
        "full: WAL, every commit is synced before it is acknowledged",
      );
      await provider.close();
      return;
    }
    const { acknowledged, unsynchronized } = traced(STRACE, path, "full", CALLS);
    expect(unsynchronized).toEqual([]);
    expect(acknowledged).toBe(CALLS);
    // The check works: with the weaker setting, calls are acknowledged before they are on disk.
    expect(traced(STRACE, `${path}-weaker`, "normal", 10).unsynchronized).not.toEqual([]);
  },
);

function traced(strace: string, path: string, durability: string, calls: number) {
  const trace = `${path}.trace`;
  const program = fileURLToPath(new URL("./acknowledger.ts", import.meta.url));
  const watched = "trace=openat,close,pwrite64,write,fsync,fdatasync";
  const command = [process.execPath, program, path, String(calls), durability];
  execFileSync(strace, ["-f", "-s", "64", "-e", watched, "-o", trace, ...command], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  return readTrace(readFileSync(trace, "utf8"), `${path}-wal`);
}

/**
 * Follows the log's file through a trace. Counts acknowledged calls, and lists those acknowledged over unsynced writes.
 */
function readTrace(trace: string, log: string) {
  const logs = new Set<string>();
  let isSynchronized = false;
  let acknowledged = 0;
  const unsynchronized: string[] = [];
  const unfinished = new Map<string, string>();
  for (const raw of trace.split("\n")) {
    const [, thread = "", rest = ""] = /^(\d+) +(.*)$/.exec(raw) ?? [];
    if (rest.endsWith("<unfinished ...>")) {
      unfinished.set(thread, rest.slice(0, -"<unfinished ...>".length));
      continue;
    }
    const resumed = /^<\.\.\. \w+ resumed>(.*)$/.exec(rest);
    const line = resumed === null ? rest : `${unfinished.get(thread)}${resumed[1]}`;
    const opened = /^openat\(.*"(.*)".* = (\d+)$/.exec(line);
    if (opened !== null) {
      if (opened[1] === log) logs.add(opened[2] ?? "");
      else logs.delete(opened[2] ?? ""); // the descriptor now belongs to another file
      continue;
    }
    const [, call, file = ""] = /^(\w+)\((\d+)/.exec(line) ?? [];
    if (call === "pwrite64" && logs.has(file)) isSynchronized = false;
    if ((call === "fdatasync" || call === "fsync") && logs.has(file)) isSynchronized = true;
    if (call === "write" && file === "1" && line.includes("acknowledged ")) {
      acknowledged++;
      if (!isSynchronized) unsynchronized.push(line);
    }
  }
  return { acknowledged, unsynchronized };
}

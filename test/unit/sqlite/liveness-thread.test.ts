import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { LivenessThread } from "../../../src/core/provider/runtimes.ts";
import { systemEnvironment } from "../../../src/core/time/system-environment.ts";
import { SqliteProvider } from "../../../src/sqlite/index.ts";

let path: string;
let provider: SqliteProvider;
beforeEach(async () => {
  path = join(mkdtempSync(join(tmpdir(), "perdure-thread-")), "store.db");
  provider = await SqliteProvider.open(path);
  await provider.registerRuntime({
    id: "r",
    nodeId: "n",
    process: null,
    hostname: "h",
    registered: "{}",
  });
});
afterEach(async () => {
  await provider.close();
  rmSync(join(path, ".."), { recursive: true });
});

function start(stallMs: number): LivenessThread {
  if (provider.startLivenessThread === undefined)
    throw new Error("a store in a file must offer a liveness thread");
  return provider.startLivenessThread({ runtimeId: "r", beatMs: 20, stallMs });
}
const row = async () => (await provider.listRuntimes())[0];
/** Keeps the event loop turning until the condition holds. */
async function turning(thread: LivenessThread, condition: () => Promise<void>): Promise<void> {
  const timer = setInterval(() => thread.turned(), 5);
  try {
    await vi.waitFor(condition, { timeout: 20_000, interval: 10 });
  } finally {
    clearInterval(timer);
  }
}

test("heartbeats arrive while the loop turns, and steadySince() is the time of the first one", async () => {
  const thread = start(60_000);
  const before = systemEnvironment.monotonic();
  const first = (await row())?.beatAt ?? 0;
  await turning(thread, async () => {
    expect((await row())?.beatAt).toBeGreaterThan(first + 50);
    expect(systemEnvironment.monotonic() - thread.steadySince()).toBeGreaterThan(50);
  });
  expect(thread.steadySince()).toBeGreaterThan(before);
  expect(thread.lost()).toBe(false);
  await thread.stop();
});

test("heartbeats continue while the loop is blocked for less than stallMs", async () => {
  const thread = start(60_000);
  using database = new DatabaseSync(path);
  const select = database.prepare("SELECT beat_at FROM runtimes");
  const beats = new Set();
  // The event loop does not turn from here on.
  for (const until = Date.now() + 20_000; beats.size < 3 && Date.now() < until;) {
    beats.add(select.get()?.["beat_at"]);
  }
  expect(beats.size).toBe(3);
  await thread.stop();
});

test("a stalled loop stops the heartbeats, and the note names the running code", async () => {
  const thread = start(60);
  thread.entering("activity charge of order-1");
  await vi.waitFor(async () => expect((await row())?.note).not.toBeNull(), { timeout: 20_000 });
  const note: unknown = JSON.parse((await row())?.note ?? "");
  expect(note).toMatchObject({ running: "activity charge of order-1", since: expect.any(Number) });
  const stopped = (await row())?.beatAt;
  await pause(80);
  expect((await row())?.beatAt).toBe(stopped);
  await turning(thread, async () => expect((await row())?.note).toBeNull());
  expect((await row())?.beatAt).toBeGreaterThan(stopped ?? Infinity);
  await thread.stop();
});

test("lost() is true after the runtime was declared dead", async () => {
  const thread = start(60_000);
  await provider.expireRuntime({ id: "r", staleMs: null });
  await turning(thread, async () => expect(thread.lost()).toBe(true));
  await thread.stop();
});

test("a liveness thread does not keep the process alive and writes no output when it ends", async () => {
  const program = `
    import { SqliteProvider } from ${JSON.stringify(new URL("../../../src/sqlite/index.ts", import.meta.url).href)};
    const provider = await SqliteProvider.open(process.argv[2]);
    provider.startLivenessThread({ runtimeId: "r", beatMs: 10, stallMs: 60_000 });
    setTimeout(() => console.log("over"), 200);`;
  const file = join(path, "../program.mjs");
  writeFileSync(file, program);
  const argv = ["--no-warnings", file, path];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, argv, { timeout: 20_000 });
  expect({ stdout, stderr }).toEqual({ stdout: "over\n", stderr: "" });
});

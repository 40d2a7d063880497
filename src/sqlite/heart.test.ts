import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Heart } from "../core/provider/runtimes.ts";
import { systemEnvironment } from "../core/system-environment.ts";
import { SqliteProvider } from "./index.ts";

let path: string;
let provider: SqliteProvider;
beforeEach(async () => {
  path = join(mkdtempSync(join(tmpdir(), "perdure-heart-")), "store.db");
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

function start(stallMs: number): Heart {
  if (provider.startHeart === undefined) throw new Error("a store in a file offers a heart");
  return provider.startHeart({ runtimeId: "r", beatMs: 20, stallMs });
}
const row = async () => (await provider.listRuntimes())[0];
/** The loop turns, until the condition holds. */
async function turning(heart: Heart, condition: () => Promise<void>): Promise<void> {
  const timer = setInterval(() => heart.turned(), 5);
  try {
    await vi.waitFor(condition, { timeout: 20_000, interval: 10 });
  } finally {
    clearInterval(timer);
  }
}

test("beats arrive while the loop turns, and vouch for the time since the first", async () => {
  const heart = start(60_000);
  const before = systemEnvironment.monotonic();
  const first = (await row())?.beatAt ?? 0;
  await turning(heart, async () => {
    expect((await row())?.beatAt).toBeGreaterThan(first + 50);
    expect(systemEnvironment.monotonic() - heart.steadySince()).toBeGreaterThan(50);
  });
  expect(heart.steadySince()).toBeGreaterThan(before);
  expect(heart.lost()).toBe(false);
  await heart.stop();
});

test("beats go on while the loop is busy for less than it may be", async () => {
  const heart = start(60_000);
  using database = new DatabaseSync(path);
  const select = database.prepare("SELECT beat_at FROM runtimes");
  const beats = new Set();
  // Not a turn of the loop from here on.
  for (const until = Date.now() + 20_000; beats.size < 3 && Date.now() < until;) {
    beats.add(select.get()?.["beat_at"]);
  }
  expect(beats.size).toBe(3);
  await heart.stop();
});

test("a loop that stands still stops the beats, and the note says in what", async () => {
  const heart = start(60);
  heart.entering("activity charge of order-1");
  await vi.waitFor(async () => expect((await row())?.note).not.toBeNull(), { timeout: 20_000 });
  const note: unknown = JSON.parse((await row())?.note ?? "");
  expect(note).toMatchObject({ running: "activity charge of order-1", since: expect.any(Number) });
  const stopped = (await row())?.beatAt;
  await pause(80);
  expect((await row())?.beatAt).toBe(stopped);
  await turning(heart, async () => expect((await row())?.note).toBeNull());
  expect((await row())?.beatAt).toBeGreaterThan(stopped ?? Infinity);
  await heart.stop();
});

test("a call that does not return stops the beats too; calls that follow each other do not", async () => {
  const heart = start(120);
  await turning(heart, async () => {
    heart.calling();
    expect((await row())?.beatAt).toBeGreaterThan(0);
    heart.called();
    expect(systemEnvironment.monotonic() - heart.steadySince()).toBeGreaterThan(300);
  });
  heart.calling();
  await turning(heart, async () => expect((await row())?.note).toContain("a call to the store"));
  heart.called();
  await turning(heart, async () => expect((await row())?.note).toBeNull());
  await heart.stop();
});

test("a runtime that was declared dead is told so", async () => {
  const heart = start(60_000);
  await provider.expireRuntime({ id: "r", staleMs: null });
  await turning(heart, async () => expect(heart.lost()).toBe(true));
  await heart.stop();
});

test("a heart keeps no process alive and says nothing when it ends", async () => {
  const program = `
    import { SqliteProvider } from ${JSON.stringify(new URL("./index.ts", import.meta.url).href)};
    const provider = await SqliteProvider.open(process.argv[1]);
    provider.startHeart({ runtimeId: "r", beatMs: 10, stallMs: 60_000 });
    setTimeout(() => console.log("over"), 200);`;
  const argv = ["--input-type=module", "--no-warnings", "-e", program, path];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, argv, { timeout: 20_000 });
  expect({ stdout, stderr }).toEqual({ stdout: "over\n", stderr: "" });
});

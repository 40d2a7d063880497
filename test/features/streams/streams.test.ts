// Streams of activities that run in threads, with encryption, and of damaged stores.

import { DatabaseSync } from "node:sqlite";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { encryptingCodec } from "../../../src/encryption/index.ts";
import { Client, orchestration, Perdure, threads } from "../../../src/index.ts";
import { SqliteProvider } from "../../../src/sqlite/index.ts";
import { writes } from "../routing/threads/activities.ts";

const executor = threads({
  module: new URL("../routing/threads/activities.ts", import.meta.url),
  size: 1,
});

const main = orchestration("main", async (ctx) => {
  await ctx.run(writes, 3, { attempts: 2 });
  ctx.stream("secret").write({ card: "4111" });
});

function storeFile(): string {
  const folder = mkdtempSync(join(tmpdir(), "perdure-streams-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, "store.db");
}

test("an activity in a thread writes to its stream, and a retry begins with a reset", async () => {
  await using perdure = await Perdure.open("sqlite::memory:", {
    register: [main, writes],
    runtime: { executor, log: () => undefined },
  });
  const handle = await perdure.client.start(main, undefined, { id: "i" });
  const entries = await Array.fromAsync(handle.stream("numbers"));
  const items = (attempt: number, offset: number) =>
    [0, 1, 2].map((number) => ({
      kind: "item",
      offset: offset + number,
      call: 2,
      value: { number, attempt, isMainThread: false },
    }));
  expect(entries).toEqual([
    ...items(1, 0),
    { kind: "reset", offset: 3, call: 2, from: 0 },
    ...items(2, 4),
    { kind: "end" },
  ]);
});

test("values are encrypted in the store; a reader without the key gets KEY_MISSING", async () => {
  const file = storeFile();
  const codec = encryptingCodec({ current: "k1", keys: { k1: Buffer.alloc(32, 1) } });
  await using perdure = await Perdure.open(`sqlite:${file}`, {
    register: [main, writes],
    runtime: { codec, log: () => undefined },
  });
  const handle = await perdure.client.start(main, undefined, { id: "i" });
  expect((await handle.stream("secret").next()).value).toMatchObject({ value: { card: "4111" } });
  await handle.result();
  const store = await SqliteProvider.open(file);
  onTestFinished(() => store.close());
  const page = await store.readStream({
    id: "i",
    name: "secret",
    from: 0,
    chunksMax: 10,
    bytesMax: 1_000_000,
    settled: false,
  });
  expect(JSON.stringify(page)).not.toContain("4111");
  const other = encryptingCodec({ current: "k2", keys: { k2: Buffer.alloc(32, 2) } });
  const stranger = new Client(store, { codec: other }).get("i");
  await expect(stranger.stream("secret").next()).rejects.toMatchObject({ code: "KEY_MISSING" });
});

test("a damaged entry raises HISTORY_CORRUPT where a reader reaches it, and a trim goes behind it", async () => {
  const file = storeFile();
  const lines = orchestration("lines", async (ctx) => {
    for (const line of ["a", "b", "c"]) {
      ctx.stream("lines").write(line);
      await ctx.sleep(1);
    }
  });
  await using perdure = await Perdure.open(`sqlite:${file}`, {
    register: [lines],
    runtime: { log: () => undefined },
  });
  const handle = await perdure.client.start(lines, undefined, { id: "i" });
  await handle.result();
  const database = new DatabaseSync(file);
  database.exec(`UPDATE stream_chunks SET data = '["\\"x\\""]' WHERE first = 1`);
  database.close();
  const reader = handle.stream("lines");
  expect((await reader.next()).value).toMatchObject({ offset: 0, value: "a" });
  await expect(reader.next()).rejects.toMatchObject({
    code: "HISTORY_CORRUPT",
    message: expect.stringContaining('entry 1 of stream "lines"') as string,
  });
  expect((await handle.stream("lines", { from: 2 }).next()).value).toMatchObject({ value: "c" });
  await handle.trim("lines", { before: 2 });
  expect(await Array.fromAsync(handle.stream("lines"))).toHaveLength(2);
});

// A full disk: the runtime logs it and waits, and recovers by itself when there is space; nothing is lost (P6).
// The test fills the disk with SQLite's page limit, on the connection that the store writes with.

import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test, vi } from "vitest";
import { activity, Client, orchestration } from "../../../src/index.ts";
import { SqliteProvider } from "../../../src/sqlite/index.ts";
import { VirtualEnvironment } from "../../../src/testing/virtual-environment.ts";
import { areOpen, collectLogs, startRuntime, temporaryFolder } from "./support.ts";

const ROOM = 1_000_000;

/** A store whose disk can be filled. */
async function storeOnDisk(path: string) {
  const environment = new VirtualEnvironment();
  const spy = vi.spyOn(DatabaseSync.prototype, "exec");
  const provider = await SqliteProvider.open(path, { environment });
  const [database] = spy.mock.contexts;
  spy.mockRestore();
  if (!(database instanceof DatabaseSync))
    throw new Error("no DatabaseSync connection was opened by the store");
  onTestFinished(() => provider.close());
  const limit = (pages: number): void => database.exec(`PRAGMA max_page_count = ${pages}`);
  return {
    environment,
    provider,
    client: new Client(provider),
    /** Limits the database to its current number of pages. */
    fill: () => limit(1),
    clear: () => limit(ROOM),
  };
}

test.each(["a file", "memory"])(
  "work in %s stops while the disk is full, and then completes as if the disk had never been full",
  async (where) => {
    const path = where === "memory" ? ":memory:" : join(temporaryFolder(), "store.db");
    const { environment, provider, client, fill, clear } = await storeOnDisk(path);
    const runs = new Map<string, number>();
    const store = activity("store", (text: string, { idempotencyKey }) => {
      runs.set(idempotencyKey, (runs.get(idempotencyKey) ?? 0) + 1);
      return text;
    });
    const work = orchestration("work", async (ctx, { n }: { n: number; padding: string }) => {
      let size = 0;
      for (let i = 0; i < 10; i++) {
        size += (await ctx.run(store, `${n}`.repeat(2_000))).length;
        await ctx.sleep("1s");
      }
      return [size, await ctx.waitFor("go")];
    });
    const logs = collectLogs();
    const runtime = await startRuntime(provider, [work, store], { log: logs.sink });

    const early = await Promise.all(
      Array.from({ length: 10 }, (_, n) =>
        client.start(work, { n, padding: "" }, { id: `early ${n}` }),
      ),
    );
    await environment.advance(3_500);
    fill();
    const padding = "x".repeat(50_000); // does not fit into the existing pages
    const late = Promise.all(
      Array.from({ length: 10 }, (_, n) => client.start(work, { n, padding }, { id: `late ${n}` })),
    );
    await environment.advance(1); // the events are small and would fit; the starts are committed before them
    const raised = Promise.all(early.map((handle, n) => handle.raise("go", n)));
    await environment.advance(60_000);

    // Nothing makes progress, and the log says why: often enough to be noticed, rarely enough to be readable.
    expect(await areOpen(late, raised)).toBe(true);
    const lines = logs.about("database or disk is full");
    expect(lines[0]).toMatchObject({
      level: "warn",
      message: expect.stringContaining("store unavailable, retrying"),
    });
    expect(lines.length).toBeLessThanOrEqual(13);
    const tries = runtime.stats().providerErrors;
    expect(tries).toBeGreaterThan(5);
    expect(tries).toBeLessThan(200);
    for (const handle of early) {
      expect(await handle.describe()).toMatchObject({ status: "running" });
    }

    clear();
    await environment.advance(10_000);
    const handles = [...early, ...(await late)];
    await raised;
    await Promise.all((await late).map((handle, n) => handle.raise("go", n)));
    await environment.advance(60_000);
    const results = await Promise.all(handles.map((handle) => handle.result()));
    expect(results).toEqual(handles.map((_, n) => [20_000, n % 10]));
    expect(runs.size).toBe(handles.length * 10);
    expect([...runs.values()].every((times) => times === 1)).toBe(true);
    expect(runtime.stats()).toMatchObject({ orchestrationsFailed: 0, blocked: 0 });
  },
);

test("a start on a full disk waits without writing a partial instance, and succeeds when there is space", async () => {
  const { environment, client, provider, fill, clear } = await storeOnDisk(":memory:");
  fill();
  const big = "x".repeat(100_000);
  const started = client.start("anything", big, { id: "a" });
  await environment.advance(10_000);
  expect(await areOpen(started)).toBe(true);
  expect(await provider.readInstance("a")).toBe(null);
  clear();
  await environment.advance(5_000);
  expect((await (await started).describe()).status).toBe("pending");
});

test("a runtime can be shut down while the disk is full, and its work continues on another runtime", async () => {
  const { environment, client, provider, fill, clear } = await storeOnDisk(":memory:");
  const big = activity("big", () => "x".repeat(100_000));
  const work = orchestration("work", async (ctx) => (await ctx.run(big)).length);
  const runtime = await startRuntime(provider, [work, big], { log: () => undefined });
  const handle = await client.start(work, undefined, { id: "a" });
  fill();
  await environment.advance(5_000);
  let isDown = false;
  void runtime.shutdown({ graceMs: 1_000 }).then(() => (isDown = true));
  await environment.advance(10_000);
  expect(isDown).toBe(true);
  clear();
  await startRuntime(provider, [work, big]);
  await environment.advance(60_000);
  expect(await handle.result()).toBe(100_000);
});

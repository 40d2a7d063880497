// Crash images: states of a SQLite store that a power cut may leave, built from a log of writes and syncs.
//   - crash-images-test.1: A program works on a store. No checkpoint happens, so only its log (-wal) is written, never
//        the database file. The test notes after each acknowledged call how much of the log is synced: the length
//        that the log had when the last sync that has ended began. Some calls run at once, so that they share
//        syncs and commits follow each other during a sync. durability.test.ts checks the syncs in a trace of
//        system calls.
//   - crash-images-test.2: An image keeps everything up to a synced length. Of the bytes from there to the next synced
//        length, any sectors may be present or missing, whole or torn, in any order: a disk guarantees nothing for
//        bytes that no sync covered.
//   - crash-images-test.3: Another kind of image is cut off within a checkpoint: the log is complete, and of the pages
//        that the checkpoint copies into the file any sectors may be present or missing.
//   - crash-images-test.4: Each image opens, SQLite finds no damage, every call acknowledged by then is present, no
//        call is present in part, and the store accepts new work.

import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { activity, Client, event, orchestration, type Provider } from "../../../src/index.ts";
import { SqliteProvider } from "../../../src/sqlite/index.ts";
import { chanceOf, seedFromEnvironment, type Chance } from "../kill/chance.ts";
import { followSyncs, type SyncedLog } from "../../support/synced-log.ts";
import { startRuntime, temporaryFolder } from "../trouble/support.ts";

const IS_FULL = process.env["PERDURE_FULL"] === "1";
const IMAGES = IS_FULL ? 500 : 40;
const CALLS = IS_FULL ? 120 : 40;
const SECTOR_BYTES = 512;
/** How many instances a burst starts. */
const AT_ONCE = 5;

const double = activity("double", (n: number) => n * 2);
const more = event<number>("more");
const adds = orchestration("adds", async (ctx, n: number) => {
  ctx.kv.set("doubled", await ctx.run(double, n));
  return (await ctx.waitFor(more)) + n;
});

/** An acknowledged call, and how much of the log was synced at that time. */
interface Acknowledged {
  readonly bytes: number;
  /** Rejects unless the effect of the call is in the store. */
  isThere(client: Client): Promise<unknown>;
}

test(
  `each of ${IMAGES} images of a power cut holds every acknowledged call, nothing in part, and accepts new work`,
  { timeout: 600_000 },
  async () => {
    const seed = seedFromEnvironment();
    console.log(`PERDURE_SEED=${seed}`);
    const chance = chanceOf(seed);
    const folder = temporaryFolder();
    const { base, log, full, acknowledged } = await record(join(folder, "store.db"), chance);
    const path = join(folder, "image.db");
    let reached = 0;
    for (let image = 0; image < IMAGES; image++) {
      const cut = chance.between(0, acknowledged.length - 1);
      const synchronized = acknowledged[cut]?.bytes ?? 0;
      const next = acknowledged.find(({ bytes }) => bytes > synchronized)?.bytes ?? log.length;
      rmSync(`${path}-shm`, { force: true });
      const isCheckpoint = chance.happens(0.25);
      writeFileSync(path, isCheckpoint ? checkpointImageOf(base, full, chance) : base);
      const rest = isCheckpoint ? log : imageOf(log, { synchronized, next, chance });
      writeFileSync(`${path}-wal`, rest);
      const due = acknowledged.filter(({ bytes }) => isCheckpoint || bytes <= synchronized);
      const what = isCheckpoint ? "within a checkpoint" : `at ${synchronized} of ${log.length}`;
      await inspect(path, due, `image ${image}, cut ${what}`);
      reached += due.length;
    }
    // The cuts are spread over the log, so most images have acknowledged calls that could be lost.
    expect(reached).toBeGreaterThan(IMAGES);
  },
);

test("an image without the last synced bytes lacks the calls acknowledged by them", async () => {
  const folder = temporaryFolder();
  const { base, log, acknowledged } = await record(join(folder, "store.db"), chanceOf(1));
  const path = join(folder, "image.db");
  writeFileSync(path, base);
  const last = acknowledged.at(-1);
  const before = acknowledged.findLast(({ bytes }) => bytes < (last?.bytes ?? 0))?.bytes ?? 0;
  writeFileSync(`${path}-wal`, log.subarray(0, before));
  await expect(inspect(path, acknowledged, "cut")).rejects.toThrow();
});

/**
 * Runs work on a store. Returns its file before the work, its log, its file after the work, and the acknowledged calls.
 */
async function record(path: string, chance: Chance) {
  await (await SqliteProvider.open(path)).close(); // the tables are in the file, the log is empty
  const base = readFileSync(path);
  const provider = await SqliteProvider.open(path);
  onTestFinished(() => provider.close());
  // An open read transaction keeps all later writes in the log.
  using reader = new DatabaseSync(path);
  reader.exec("BEGIN; SELECT count(*) FROM meta");
  const acknowledged = await work(provider, followSyncs(path), chance);
  const log = readFileSync(`${path}-wal`);
  expect(readFileSync(path).equals(base)).toBe(true); // crash-images-test.1
  const copy = `${path}.full`;
  writeFileSync(copy, base);
  writeFileSync(`${copy}-wal`, log);
  using checkpointed = new DatabaseSync(copy);
  checkpointed.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  return { base, log, full: readFileSync(copy), acknowledged };
}

async function work(
  provider: Provider,
  log: () => SyncedLog,
  chance: Chance,
): Promise<Acknowledged[]> {
  const client = new Client(provider);
  const runtime = await startRuntime(provider, [adds, double]);
  const acknowledged: Acknowledged[] = [];
  const note = (isThere: Acknowledged["isThere"]): void => {
    acknowledged.push({ bytes: log().syncedBytes, isThere });
  };
  const started: number[] = [];
  for (let call = 0; call < CALLS; call++) {
    const n = started.length;
    const oldest = started[0];
    if (oldest === undefined || chance.happens(0.5)) {
      const count = chance.pick([1, 1, AT_ONCE]);
      const together = Array.from({ length: count }, async (_, index) => {
        const id = `adds-${n + index}`;
        started.push(n + index);
        await client.start(adds, n + index, { id });
        note((reader) => reader.get(id).describe());
      });
      await Promise.all(together);
      continue;
    }
    const id = `adds-${chance.between(0, n - 1)}`;
    const { status } = await client.get(id).describe();
    if (status === "completed") continue;
    const isTaken = await client
      .get(id)
      .raise(more, call)
      .then(
        () => true,
        () => false, // the instance ended meanwhile
      );
    if (!isTaken) continue;
    const result = await client.get(id).result();
    note(async (reader) => expect(await reader.get(id).result()).toBe(result));
  }
  await runtime.shutdown();
  return acknowledged;
}

/** crash-images-test.2 */
function imageOf(
  log: Buffer,
  cut: { readonly synchronized: number; readonly next: number; readonly chance: Chance },
): Buffer {
  const { synchronized, next, chance } = cut;
  const end = chance.between(synchronized, next); // where the file ends
  const image = Buffer.from(log.subarray(0, end));
  const keeps = chance.pick([0, 0.5, 1]); // keep none of the sectors, half, or all
  for (let at = synchronized; at < end; at += SECTOR_BYTES) {
    if (!chance.happens(keeps)) image.fill(0, at, Math.min(at + SECTOR_BYTES, end));
  }
  return image;
}

/** crash-images-test.3 */
function checkpointImageOf(before: Buffer, after: Buffer, chance: Chance): Buffer {
  const end = chance.between(before.length, Math.max(before.length, after.length));
  const image = Buffer.alloc(end);
  before.copy(image);
  const keeps = chance.pick([0.1, 0.5, 0.9]);
  for (let at = 0; at < end; at += SECTOR_BYTES) {
    if (chance.happens(keeps)) after.copy(image, at, at, Math.min(at + SECTOR_BYTES, end));
  }
  return image;
}

/** crash-images-test.4 */
async function inspect(path: string, due: readonly Acknowledged[], what: string): Promise<void> {
  const provider = await SqliteProvider.open(path);
  try {
    using database = new DatabaseSync(path);
    expect(database.prepare("PRAGMA integrity_check").get(), what).toEqual({
      integrity_check: "ok",
    });
    const torn = database.prepare(TORN).all();
    expect(torn, what).toEqual([]);
    const client = new Client(provider);
    for (const { isThere } of due) await isThere(client);
    await client.start(adds, 1, { id: "goes-on" });
    expect((await client.get("goes-on").describe()).status).toBe("pending");
  } finally {
    await provider.close();
  }
}

/** Instances whose last event is not the last in their history, and tasks or messages without an instance. */
const TORN = `
  SELECT id FROM instances AS i
  WHERE last_event <> (
    SELECT coalesce(max(last), 0) FROM history WHERE instance = i.key AND execution = i.execution)
  UNION ALL SELECT instance FROM tasks WHERE instance NOT IN (SELECT key FROM instances)
  UNION ALL SELECT instance FROM inbox WHERE instance NOT IN (SELECT key FROM instances)`;

// Crash images: what a power cut may leave of a SQLite store, made from a log of what was written and synchronized.
//   CI1. A program writes to a store whose database file is never written to, only its log (-wal): no checkpoint comes.
//        After each acknowledged call the log's length is noted. What was acknowledged at a length was synchronized
//        there: its order is looked at by the trace of system calls (durability.test.ts).
//   CI2. An image keeps everything up to a synchronized length. Of what came behind it, up to the next one, any sectors
//        may be there and any not, whole or torn, in any order: a disk owes nothing to what nobody waited for.
//   CI3. Another kind of image is cut off within a checkpoint: the log is whole, and of the pages that go from it into
//        the file any sectors may be there and any not.
//   CI4. Each image opens, SQLite finds nothing wrong, every call acknowledged by then is there, none is there by half,
//        and the store goes on.

import { readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { activity, Client, event, orchestration, type Provider } from "../../src/index.ts";
import { SqliteProvider } from "../../src/sqlite/index.ts";
import { chanceOf, seedFromEnvironment, type Chance } from "../kill/chance.ts";
import { startRuntime, temporaryFolder } from "../trouble/support.ts";

const IS_FULL = process.env["PERDURE_FULL"] === "1";
const IMAGES = IS_FULL ? 500 : 40;
const CALLS = IS_FULL ? 120 : 40;
const SECTOR_BYTES = 512;

const double = activity("double", (n: number) => n * 2);
const more = event<number>("more");
const adds = orchestration("adds", async (ctx, n: number) => {
  ctx.kv.set("doubled", await ctx.run(double, n));
  return (await ctx.event(more)) + n;
});

/** A call that was acknowledged, and how long the log was then. */
interface Acknowledged {
  readonly bytes: number;
  /** Throws, or rejects, unless its effect is there. */
  isThere(client: Client): Promise<unknown>;
}

test(
  `of ${IMAGES} images of a power cut each holds what was acknowledged, nothing by half, and goes on`,
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
    // The cuts were spread over the log, so that there was something to lose.
    expect(reached).toBeGreaterThan(IMAGES);
  },
);

test("an image without the last synchronized bytes lacks what was acknowledged by them", async () => {
  const folder = temporaryFolder();
  const { base, log, acknowledged } = await record(join(folder, "store.db"), chanceOf(1));
  const path = join(folder, "image.db");
  writeFileSync(path, base);
  const last = acknowledged.at(-1);
  const before = acknowledged.findLast(({ bytes }) => bytes < (last?.bytes ?? 0))?.bytes ?? 0;
  writeFileSync(`${path}-wal`, log.subarray(0, before));
  await expect(inspect(path, acknowledged, "cut")).rejects.toThrow();
});

/** Does acknowledged work on a store: its file as it was before, its log, the file with all of it, what was acknowledged. */
async function record(path: string, chance: Chance) {
  await (await SqliteProvider.open(path)).close(); // its tables are in the file, its log is empty
  const base = readFileSync(path);
  const provider = await SqliteProvider.open(path);
  onTestFinished(() => provider.close());
  // Whoever reads at a moment keeps all that came behind it in the log.
  using reader = new DatabaseSync(path);
  reader.exec("BEGIN; SELECT count(*) FROM meta");
  const acknowledged = await work(provider, `${path}-wal`, chance);
  const log = readFileSync(`${path}-wal`);
  expect(readFileSync(path).equals(base)).toBe(true); // CI1
  const copy = `${path}.full`;
  writeFileSync(copy, base);
  writeFileSync(`${copy}-wal`, log);
  using checkpointed = new DatabaseSync(copy);
  checkpointed.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  return { base, log, full: readFileSync(copy), acknowledged };
}

async function work(provider: Provider, log: string, chance: Chance): Promise<Acknowledged[]> {
  const client = new Client(provider);
  const runtime = await startRuntime(provider, [adds, double]);
  const acknowledged: Acknowledged[] = [];
  const note = (isThere: Acknowledged["isThere"]): void => {
    acknowledged.push({ bytes: statSync(log).size, isThere });
  };
  const started: number[] = [];
  for (let call = 0; call < CALLS; call++) {
    const n = started.length;
    const oldest = started[0];
    if (oldest === undefined || chance.happens(0.5)) {
      await client.start(adds, n, { id: `adds-${n}` });
      started.push(n);
      note((reader) => reader.get(`adds-${n}`).describe());
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
        () => false, // it ended meanwhile
      );
    if (!isTaken) continue;
    const result = await client.get(id).result();
    note(async (reader) => expect(await reader.get(id).result()).toBe(result));
  }
  await runtime.shutdown();
  return acknowledged;
}

/** CI2 */
function imageOf(
  log: Buffer,
  cut: { readonly synchronized: number; readonly next: number; readonly chance: Chance },
): Buffer {
  const { synchronized, next, chance } = cut;
  const end = chance.between(synchronized, next); // where the file ends
  const image = Buffer.from(log.subarray(0, end));
  const keeps = chance.pick([0, 0.5, 1]); // none of the sectors, some, all
  for (let at = synchronized; at < end; at += SECTOR_BYTES) {
    if (!chance.happens(keeps)) image.fill(0, at, Math.min(at + SECTOR_BYTES, end));
  }
  return image;
}

/** CI3 */
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

/** CI4 */
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

/** Instances whose last event is not the last of their history, or whose task or message has no instance. */
const TORN = `
  SELECT id FROM instances AS i
  WHERE last_event <> (
    SELECT coalesce(max(last), 0) FROM history WHERE instance = i.key AND execution = i.execution)
  UNION ALL SELECT instance FROM tasks WHERE instance NOT IN (SELECT key FROM instances)
  UNION ALL SELECT instance FROM inbox WHERE instance NOT IN (SELECT key FROM instances)`;

// Bytes that changed behind the store's back. A row that can no longer be read is an error of its instance alone; a
// damaged page is an error with a code, whatever it hits.
//   What no check here can see: a row that still reads well and says something else. Neither the store nor SQLite keeps
//   checksums of rows (docs/reliability-tests.md).

import { copyFileSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import {
  activity,
  Client,
  isPerdureError,
  orchestration,
  type ErrorCode,
} from "../../src/index.ts";
import { SqliteProvider } from "../../src/sqlite/index.ts";
import { chanceOf, seedFromEnvironment, type Chance } from "../kill/chance.ts";
import { openAddress } from "../kill/store-address.ts";
import { STORE_KINDS, storeUnderTest } from "../kill/stores.ts";
import { startRuntime, temporaryFolder, until } from "../trouble/support.ts";

const IS_FULL = process.env["PERDURE_FULL"] === "1";
const INSTANCES = IS_FULL ? 600 : 60;
const FLIPS = IS_FULL ? 1_000 : 60;
const SQLITE_HEADER_BYTES = 100;

const double = activity("double", (n: number) => n * 2);
const waits = orchestration("waits", async (ctx, n: number) => {
  const doubled = await ctx.run(double, n);
  return [n, doubled, await ctx.event("go")];
});

test.each(STORE_KINDS)(
  `of ${INSTANCES} instances on %s every third has a row torn or garbled: each of these is blocked, all others end`,
  { timeout: 120_000 },
  async (kind) => {
    const seed = seedFromEnvironment();
    console.log(`PERDURE_SEED=${seed}`);
    const chance = chanceOf(seed);
    const store = await storeUnderTest(kind, temporaryFolder());
    const provider = await openAddress(store.address);
    onTestFinished(async () => {
      await provider.close();
      await store[Symbol.asyncDispose]();
    });
    const client = new Client(provider);
    const ids = await allWaiting(provider);
    for (const [n, id] of ids.entries()) {
      if (n % 3 !== 0) continue;
      const where = `instance = (SELECT key FROM @instances WHERE id = '${id}')`;
      const [data = ""] = await store.column(
        `SELECT data FROM @history WHERE ${where} ORDER BY first`,
      );
      const text = chance.happens(0.5) ? torn(data, chance) : garbled(data, chance);
      const [first] = await store.column(`SELECT min(first) FROM @history WHERE ${where}`);
      await store.column(
        `UPDATE @history SET data = '${text.replaceAll("'", "''")}' WHERE ${where} AND first = ${first} RETURNING 1`,
      );
    }
    for (const id of ids) await client.get(id).raise("go", "went");
    await startRuntime(provider, [waits, double]);
    for (const [n, id] of ids.entries()) {
      const handle = client.get(id);
      if (n % 3 !== 0) {
        expect(await handle.result({ timeout: "60s" })).toEqual([n, n * 2, "went"]);
        continue;
      }
      const isTold = async (): Promise<boolean> => (await handle.describe()).blocked !== undefined;
      await until(`${id} is blocked`, isTold);
      const { status, blocked } = await handle.describe();
      expect({ id, status, code: blocked?.code }).toEqual({
        id,
        status: "running",
        code: "HISTORY_CORRUPT",
      });
    }
  },
);

test(`of ${FLIPS} files with one bit flipped none throws anything but an error with a code at its reader`, async () => {
  const seed = seedFromEnvironment();
  const chance = chanceOf(seed);
  const folder = temporaryFolder();
  const path = join(folder, "store.db");
  const provider = await SqliteProvider.open(path);
  const ids = await allWaiting(provider);
  await provider.close();
  const { text: whole } = await readEverything(path, ids);
  const codes = new Map<ErrorCode, number>();
  let changed = 0;
  for (let flip = 0; flip < FLIPS; flip++) {
    const copy = join(folder, `flip-${flip}.db`);
    copyFileSync(path, copy);
    const bytes = readFileSync(copy);
    const at = chance.between(SQLITE_HEADER_BYTES, bytes.length - 1);
    bytes[at] = (bytes[at] ?? 0) ^ (1 << chance.between(0, 7));
    writeFileSync(copy, bytes);
    const { code, text } = await readEverything(copy, ids);
    if (code !== null) codes.set(code, (codes.get(code) ?? 0) + 1);
    else if (text !== whole) changed++;
    rmSync(copy);
  }
  const told = [...codes].map(([code, times]) => `${code} ${times}`).join(", ");
  console.log(
    `PERDURE_SEED=${seed}: of ${FLIPS} flips were refused: ${told || "none"}; read as something else: ${changed}`,
  );
});

/** The code of the first refusal, or null, and all that could be read. Any other error fails the test. */
async function readEverything(
  path: string,
  ids: readonly string[],
): Promise<{ readonly code: ErrorCode | null; readonly text: string }> {
  let code: ErrorCode | null = null;
  const refused = (error: unknown): void => {
    if (!isPerdureError(error)) throw error;
    code ??= error.code;
  };
  const provider = await SqliteProvider.open(path).catch(refused);
  if (provider === undefined) return { code, text: "" };
  const client = new Client(provider);
  const read: unknown[] = [];
  for (const id of ids) {
    read.push(await client.get(id).describe().catch(refused));
    read.push(await client.get(id).history().catch(refused));
  }
  await provider.close();
  return { code, text: JSON.stringify(read) };
}

/** Instances that have done something and wait, with nobody to run them. */
async function allWaiting(
  provider: Parameters<typeof startRuntime>[0],
): Promise<readonly string[]> {
  const client = new Client(provider);
  const runtime = await startRuntime(provider, [waits, double]);
  const ids = Array.from({ length: INSTANCES }, (_, n) => `waits-${n}`);
  await Promise.all(ids.map((id, n) => client.start(waits, n, { id })));
  for (const id of ids) {
    const isWaiting = async (): Promise<boolean> => {
      const { waitingFor } = await client.get(id).describe();
      return waitingFor.some((one) => one.kind === "event");
    };
    await until(`${id} waits`, isWaiting);
  }
  await runtime.shutdown();
  return ids;
}

/** A write that was cut off. */
function torn(text: string, chance: Chance): string {
  return text.slice(0, chance.between(0, text.length - 1));
}

/** One bit of one character that gives the text its form. */
function garbled(text: string, chance: Chance): string {
  const places = [...text.matchAll(/[{}[\]":]/g)].map(({ index }) => index);
  const at = places[chance.between(0, places.length - 1)] ?? 0;
  const other = String.fromCharCode(text.charCodeAt(at) ^ 1);
  return `${text.slice(0, at)}${other}${text.slice(at + 1)}`;
}

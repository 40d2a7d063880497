// Bytes that changed behind the store's back. An unreadable row is an error of its instance alone. A damaged page is an
// error with a code, whatever it hits.
//   Rows have checksums (docs/decisions/0015): a readable text or history that differs from the written one is found.
//   Some damage passes every check: ids, times and counts, and rows that an index no longer reaches. These tests print
//   the number of such cases (docs/contributing/reliability-tests.md).

import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { activity, Client, orchestration } from "../../../src/index.ts";
import { SqliteProvider } from "../../../src/sqlite/index.ts";
import { chanceOf, seedFromEnvironment, type Chance } from "../kill/chance.ts";
import { openAddress } from "../kill/store-address.ts";
import { STORE_KINDS, storeUnderTest } from "../kill/stores.ts";
import { startRuntime, temporaryFolder, until } from "../trouble/support.ts";
import { fillStore, readings, type Readings } from "./filled-store.ts";

const IS_FULL = process.env["PERDURE_FULL"] === "1";
const INSTANCES = IS_FULL ? 600 : 60;
const FLIPS = IS_FULL ? 2_000 : 60;
const FILLED = 24;
const ROW_FLIPS = IS_FULL ? 200 : 12;
type Place = readonly [table: string, column: string];
/** The columns that hold users' texts. */
const TEXTS: readonly [Place, ...Place[]] = [
  ["history", "data"],
  ["inbox", "data"],
  ["inbox", "name"],
  ["kv", "value"],
  ["tasks", "input"],
  ["instances", "output"],
  ["instances", "error"],
  ["instances", "custom_status"],
  ["instances", "attributes"],
];
const SQLITE_HEADER_BYTES = 100;

const double = activity("double", (n: number) => n * 2);
const waits = orchestration("waits", async (ctx, n: number) => {
  const doubled = await ctx.run(double, n);
  return [n, doubled, await ctx.waitFor("go")];
});

test.each(STORE_KINDS)(
  `of ${INSTANCES} instances on %s every third gets a torn or garbled row: each of these is blocked, all others complete`,
  { timeout: 600_000 },
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
      const isBlocked = async (): Promise<boolean> =>
        (await handle.describe()).blocked !== undefined;
      await until(`${id} is blocked`, isBlocked);
      const { status, blocked } = await handle.describe();
      expect({ id, status, code: blocked?.code }).toEqual({
        id,
        status: "running",
        code: "HISTORY_CORRUPT",
      });
    }
  },
);

test(
  `of ${FLIPS} files with one flipped bit none yields a text or a history that was never written`,
  { timeout: 600_000 },
  async () => {
    const seed = seedFromEnvironment();
    console.log(`PERDURE_SEED=${seed}`);
    const chance = chanceOf(seed);
    const folder = temporaryFolder();
    const path = join(folder, "store.db");
    const provider = await SqliteProvider.open(path);
    const ids = await fillStore(provider, FILLED);
    await provider.close();
    const whole = readFileSync(path);
    const copy = join(folder, "flipped.db");
    const read = (bytes: Uint8Array): Promise<Readings> => {
      for (const end of ["-wal", "-shm"]) rmSync(`${copy}${end}`, { force: true });
      writeFileSync(copy, bytes);
      return readings(() => SqliteProvider.open(copy), ids);
    };
    const truth = await read(whole);
    expect([...truth.values()].filter(({ code }) => code !== null)).toEqual([]);
    const tally = new Tally();
    for (let flip = 0; flip < FLIPS; flip++) {
      const at = chance.between(SQLITE_HEADER_BYTES, whole.length - 1);
      const bytes = Buffer.from(whole);
      bytes[at] = (bytes[at] ?? 0) ^ (1 << chance.between(0, 7));
      tally.add(truth, await read(bytes), `byte ${at}`);
    }
    console.log(`PERDURE_SEED=${seed}: of ${FLIPS} flips ${tally.summary()}`);
    expect(tally.silent).toEqual([]);
    expect(tally.refused).toBeGreaterThan(0);
  },
);

test(
  `of ${ROW_FLIPS} PostgreSQL rows with one flipped bit in a text each is detected, and all others read as before`,
  { timeout: 600_000 },
  async () => {
    const seed = seedFromEnvironment();
    console.log(`PERDURE_SEED=${seed}`);
    const chance = chanceOf(seed);
    const store = await storeUnderTest("postgres", temporaryFolder());
    onTestFinished(() => store[Symbol.asyncDispose]());
    const provider = await openAddress(store.address);
    const ids = await fillStore(provider, FILLED);
    await provider.close();
    const open = () => openAddress(store.address);
    const truth = await readings(open, ids);
    // A damaged page does not run triggers.
    await store.column("ALTER TABLE @instances DISABLE TRIGGER attributes_update");
    for (let flip = 0; flip < ROW_FLIPS; flip++) {
      const [table, column] = chance.pick(TEXTS);
      const rows = await store.column(`SELECT ctid FROM @${table} WHERE length(${column}) > 0`);
      const row = rows[chance.between(0, rows.length - 1)] ?? "";
      const [text = ""] = await store.column(
        `SELECT ${column} FROM @${table} WHERE ctid = '${row}'`,
      );
      const changed = flipped(text, chance).replaceAll("'", "''");
      const where = `WHERE ctid = '${row}' RETURNING ctid`;
      const [moved] = await store.column(`UPDATE @${table} SET ${column} = '${changed}' ${where}`);
      const tally = new Tally();
      tally.add(truth, await readings(open, ids), `${table}.${column}`);
      expect({ table, column, refused: tally.refused, silent: tally.silent }).toEqual({
        table,
        column,
        refused: 1,
        silent: [],
      });
      const healed = text.replaceAll("'", "''");
      await store.column(
        `UPDATE @${table} SET ${column} = '${healed}' WHERE ctid = '${moved}' RETURNING 1`,
      );
    }
  },
);

/** Instances that have done some work and wait for an event; their runtime has shut down. */
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

/** The text of a torn write. */
function torn(text: string, chance: Chance): string {
  return text.slice(0, chance.between(0, text.length - 1));
}

/** Flips one bit of a character of the JSON syntax. */
function garbled(text: string, chance: Chance): string {
  const places = [...text.matchAll(/[{}[\]":]/g)].map(({ index }) => index);
  const at = places[chance.between(0, places.length - 1)] ?? 0;
  const other = String.fromCharCode(text.charCodeAt(at) ^ 1);
  return `${text.slice(0, at)}${other}${text.slice(at + 1)}`;
}

/** Flips one bit of one character; the result is still a character that can be stored. */
function flipped(text: string, chance: Chance): string {
  const at = chance.between(0, text.length - 1);
  const other = String.fromCharCode(text.charCodeAt(at) ^ (1 << chance.between(0, 3)));
  const isPlain = /^[\x20-\x7e]$/.test(other);
  return isPlain ? `${text.slice(0, at)}${other}${text.slice(at + 1)}` : flipped(text, chance);
}

/**
 * Whether a value, message or task is missing because its key was changed: no read reaches such a row, so its checksum
 * is never checked. The length of a history is known, so nothing of a history may be missing.
 */
function isAbsent(name: string, found: string | null, truth: string | null | undefined): boolean {
  if (name.endsWith(" note")) return found === "undefined";
  if (!name.endsWith(" unread") && name !== "tasks") return false;
  const [left, all] = [found ?? "[]", truth ?? "[]"].map((list) =>
    (JSON.parse(list) as readonly unknown[]).map((member) => JSON.stringify(member)),
  );
  return left?.every((member) => all?.includes(member) === true) ?? false;
}

/**
 * Whether the value belongs to another instance: an index leads to an intact row, but to the wrong one.
 * `perdure doctor --thorough` finds it; a read does not.
 */
function isOfAnotherInstance(name: string, found: string | null, truth: Readings): boolean {
  const what = name.slice(name.indexOf(" "));
  return [...truth].some(
    ([other, { value }]) => other !== name && other.endsWith(what) && value === found,
  );
}

/** Counts the results of changes: refused with a code, harmless, or read as a different value. */
class Tally {
  refused = 0;
  /** Users' texts and histories that read as a different value; there must be none. */
  readonly silent: string[] = [];
  #harmless = 0;
  readonly #codes = new Map<string, number>();
  /** Ids, times and counts that read as a different value, and rows that an index or a key no longer reaches. */
  readonly #rest: string[] = [];

  add(truth: Readings, found: Readings, what: string): void {
    const codes = new Set([...found.values()].flatMap(({ code }) => code ?? []));
    for (const code of codes) this.#codes.set(code, (this.#codes.get(code) ?? 0) + 1);
    const others = [...found].filter(
      ([name, { code, value }]) => code === null && value !== truth.get(name)?.value,
    );
    const users = others.filter(
      ([name, { users, value }]) =>
        users &&
        !isAbsent(name, value, truth.get(name)?.value) &&
        !(name.includes(" ") && isOfAnotherInstance(name, value, truth)),
    );
    for (const [name, { value }] of users) this.silent.push(`${what}: ${name} reads ${value}`);
    if (codes.size > 0) this.refused++;
    else if (others.length === 0) this.#harmless++;
    else this.#rest.push(others.map(([name]) => name).join(" and "));
  }

  summary(): string {
    const codes = [...this.#codes].map(([code, times]) => `${code} ${times}`).join(", ");
    const rest = this.#rest.length === 0 ? "" : ` (${this.#rest.join("; ")})`;
    return `${this.refused} were refused (${codes || "none"}), ${this.#harmless} harmless, ${this.silent.length} texts read as a different value; ids, times, counts and missing rows: ${this.#rest.length}${rest}`;
  }
}

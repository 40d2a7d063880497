// Stores that several processes create at once, and stores whose creating process is killed. Afterwards there is one
// set of tables or none, and the next process to open the store finishes the work.

import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { expect, onTestFinished, test } from "vitest";
import { chanceOf, seedFromEnvironment } from "../kill/chance.ts";
import { openAddress } from "../kill/store-address.ts";
import { STORE_KINDS, storeUnderTest, type StoreKind } from "../kill/stores.ts";
import { temporaryFolder } from "../trouble/support.ts";

const IS_FULL = process.env["PERDURE_FULL"] === "1";
const PROCESSES = 8;
const ROUNDS = IS_FULL ? 20 : 1;
const KILLS = IS_FULL ? 200 : 10;
/** After a process that finished before its kill, kills come sooner. */
const SOONER = 0.8;
const program = new URL("./opener.ts", import.meta.url);

test.each(STORE_KINDS)(
  `${PROCESSES} processes that open an empty %s store at the same moment all succeed, on one set of tables`,
  { timeout: 60_000 + ROUNDS * 20_000 },
  async (kind) => {
    for (let round = 0; round < ROUNDS; round++) {
      await using store = await newStore(kind);
      const openers = await Promise.all(
        Array.from({ length: PROCESSES }, () => loadedOpener(store.address)),
      );
      const ends = openers.map((opener) => once(opener, "exit"));
      for (const opener of openers) opener.send("go");
      expect((await Promise.all(ends)).map(([code]) => code as unknown)).toEqual(
        Array(PROCESSES).fill(0),
      );
      const ids = openers.map(({ pid }) => `by-${pid}`).toSorted();
      expect((await store.column("SELECT id FROM @instances")).toSorted()).toEqual(ids);
      expect(
        await store.column("SELECT value FROM @meta WHERE name = 'schema_version'"),
      ).toHaveLength(1);
      expect(await store.damage()).toEqual([]);
    }
  },
);

test.each(STORE_KINDS)(
  `${KILLS} kills of a process that creates a %s store leave a complete store or none, and the next opener finishes it`,
  { timeout: 60_000 + KILLS * 5_000 },
  async (kind) => {
    const seed = seedFromEnvironment();
    const chance = chanceOf(seed);
    let openingMs = await undisturbedMs(kind);
    let cutOff = 0;
    let round = 0;
    for (; round < KILLS || cutOff <= KILLS / 4; round++) {
      await using store = await newStore(kind);
      const opener = await loadedOpener(store.address);
      const end = once(opener, "exit");
      opener.send("go");
      await new Promise((resolve) => setTimeout(resolve, chance.next() * openingMs));
      opener.kill("SIGKILL");
      const [code] = (await end) as [number | null];
      if (code === null) cutOff++;
      else openingMs *= SOONER; // the machine is faster now than during the measurement
      const provider = await openAddress(store.address);
      // The process may have been killed before or after its commit, so zero and one instance are both right.
      expect([0, 1]).toContain(await provider.countInstances({}));
      await provider.close();
      expect(await store.damage()).toEqual([]);
    }
    console.log(`PERDURE_SEED=${seed}: ${cutOff} of ${round} were killed before they had finished`);
  },
);

/** How long creating a store takes on this machine now: kills fall at random moments within this time. */
async function undisturbedMs(kind: StoreKind): Promise<number> {
  await using store = await newStore(kind);
  const opener = await loadedOpener(store.address);
  const end = once(opener, "exit");
  const began = performance.now();
  opener.send("go");
  await end;
  return performance.now() - began;
}

async function newStore(kind: StoreKind) {
  return storeUnderTest(kind, temporaryFolder());
}

/** An opener that has loaded its modules and waits for "go". */
async function loadedOpener(address: string): Promise<ChildProcess> {
  const opener = fork(program, [address], { execArgv: [], stdio: "inherit" });
  onTestFinished(() => void opener.kill("SIGKILL"));
  await once(opener, "message");
  return opener;
}

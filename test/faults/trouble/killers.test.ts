// Instances that end their process in a turn or in a step: the workers restart, innocent instances complete, and the
// killers are quarantined until they are unblocked or their code changes (semantics 5, 9a, 13).

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { Client, type Handle } from "../../../src/index.ts";
import { openAddress } from "../kill/store-address.ts";
import { storeUnderTest } from "../kill/stores.ts";
import { TEST_STORE } from "../../support/test-store.ts";
import { runProgram, type Program } from "./child.ts";
import { until } from "./support.ts";

const TIMEOUT_MS = 240_000; // dozens of processes in a row, on a machine that may be busy
const IS_FULL = process.env["PERDURE_FULL"] === "1";
/** One killer of each kind, or five of each. */
const KILLERS = IS_FULL ? 15 : 3;
const INNOCENTS = IS_FULL ? 10 : 5;
const LONG_KILLERS = IS_FULL ? 3 : 1;

async function store() {
  const folder = mkdtempSync(join(tmpdir(), "perdure-killers-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const place = await storeUnderTest(TEST_STORE, folder);
  onTestFinished(() => place[Symbol.asyncDispose]());
  const provider = await openAddress(place.address);
  onTestFinished(() => provider.close());
  return { address: place.address, client: new Client(provider) };
}

/**
 * Runs one worker process at a time and replaces it when it ends, until the condition holds. Returns the instances that
 * ended a process.
 */
async function supervise(
  address: string,
  condition: () => Promise<boolean>,
  { code = "", deathsMax = 100 } = {},
): Promise<readonly unknown[]> {
  const died: unknown[] = [];
  for (;;) {
    const worker = runProgram("killers", address, code);
    const end = await Promise.race([worker.ended, holds(condition, worker)]);
    died.push(
      ...worker.said.filter(({ what }) => what === "dying").map((line) => line["instance"]),
    );
    if (end === "holds") {
      worker.kill("SIGKILL");
      await worker.ended;
      return died;
    }
    expect(end).toBe(7);
    if (died.length > deathsMax)
      throw new Error(`The killers are not quarantined: ${died.join(", ")}`);
  }
}

async function holds(condition: () => Promise<boolean>, worker: Program): Promise<"holds"> {
  let isOver = false;
  void worker.ended.then(() => (isOver = true));
  await until("the condition holds", async () => isOver || (await condition()), TIMEOUT_MS);
  return isOver ? new Promise(() => undefined) : "holds";
}

async function areBlocked(handles: readonly Handle<unknown>[]): Promise<boolean> {
  const infos = await Promise.all(handles.map((handle) => handle.describe()));
  return infos.every(({ blocked }) => blocked?.code === "QUARANTINE");
}
async function areOver(handles: readonly Handle<unknown>[]): Promise<boolean> {
  const infos = await Promise.all(handles.map((handle) => handle.describe()));
  return infos.every(({ status }) => status !== "pending" && status !== "running");
}

test(
  "killers are quarantined one after the other, and innocent instances complete",
  { timeout: TIMEOUT_MS },
  async () => {
    const { address, client } = await store();
    const names = ["kills in its turn", "kills in its step", "kills after its step"];
    const killers = await Promise.all(
      Array.from({ length: KILLERS }, (_, n) =>
        client.start(names[n % names.length] ?? "", undefined, { id: `killer ${n}` }),
      ),
    );
    const innocents = await Promise.all(
      Array.from({ length: INNOCENTS }, (_, n) =>
        client.start("innocent", 10, { id: `innocent ${n}` }),
      ),
    );
    const died = await supervise(
      address,
      async () => (await areBlocked(killers)) && (await areOver(innocents)),
    );
    // Each killer runs a few times, and never again after its quarantine. A death does not count while other suspects
    // ran in the same process, so the number of runs varies; the simulation has the same bound.
    for (const { id } of killers) {
      const deaths = died.filter((instance) => instance === id).length;
      expect([id, deaths <= 12]).toEqual([id, true]);
    }
    const results = await Promise.all(innocents.map((handle) => handle.result()));
    for (const attempt of results) expect(attempt).toBeLessThan(10); // ten deaths would make it poison

    // Every further process survives, because it does not run the killers.
    const later = await client.start("innocent", 10, { id: "later" });
    expect(await supervise(address, () => areOver([later]))).toEqual([]);
    expect(await areBlocked(killers)).toBe(true);
  },
);

test(
  "a quarantined instance runs again after unblock or with changed code, but not just because a new process starts",
  { timeout: TIMEOUT_MS },
  async () => {
    const { address, client } = await store();
    const killer = await client.start("kills in its step", undefined, { id: "killer" });
    const first = await supervise(address, () => areBlocked([killer]), { deathsMax: 6 });
    expect(first.length).toBeGreaterThanOrEqual(5);

    await killer.unblock();
    expect(await supervise(address, () => areBlocked([killer]))).toEqual(["killer"]);

    const later = await client.start("innocent", 10, { id: "later" });
    expect(await supervise(address, () => areOver([later]))).toEqual([]);

    expect(await supervise(address, () => areOver([killer]), { code: "fixed" })).toEqual([]);
    expect(await killer.result()).toBe("fixed");
  },
);

test(
  "long activities alongside a step that kills its process do not fail because of its deaths",
  { timeout: TIMEOUT_MS },
  async () => {
    const { address, client } = await store();
    const innocents = await Promise.all(
      Array.from({ length: 5 }, (_, n) => client.start("innocent", 700, { id: `innocent ${n}` })),
    );
    const killers = await Promise.all(
      Array.from({ length: LONG_KILLERS }, (_, n) =>
        client.start("kills in its step", undefined, { id: `killer ${n}` }),
      ),
    );
    await supervise(
      address,
      async () => (await areBlocked(killers)) && (await areOver(innocents)),
      { deathsMax: 20 },
    );
    const results = await Promise.all(innocents.map((handle) => handle.result()));
    for (const attempt of results) expect([1, 2]).toContain(attempt);
  },
);

// Limits and fair order at size. With PERDURE_FULL: 100,000 jobs of one tenant beside ten of another, and a rate of 100 per
// second for a minute in two processes. The small sizes check orders and windows only. test/features/jobs/limits.test.ts
// measures the use of a rate on a virtual clock; here it is printed, because a busy machine loses a part of it.

import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { Client, job, Perdure } from "../../../src/index.ts";
import { WorkerProcess } from "../kill/fleet.ts";
import { openAddress } from "../kill/store-address.ts";
import { STORE_KINDS, storeUnderTest } from "../kill/stores.ts";
import { limitedJobs, steadyUse } from "./visits.ts";

const IS_FULL = process.env["PERDURE_FULL"] === "1";
const BACKLOG = IS_FULL ? 100_000 : 1_800;
const FEW = 10;
/** Over so many starts a share may differ by 5 percentage points. */
const WINDOW = 1_000;
const WEIGHTS: Readonly<Record<string, number>> = { many: 3, some: 1, few: 1 };

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "perdure-limits-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

test.each(STORE_KINDS)(
  `on %s, ten jobs of a tenant do not wait for ${BACKLOG} of another, and shares follow weights`,
  async (kind) => {
    await using store = await storeUnderTest(kind, temporaryFolder());
    const started: string[] = [];
    let firstOfFew: { readonly at: number; readonly place: number } | null = null;
    const work = job(
      "work",
      async (tenant: string) => {
        if (tenant === "few") firstOfFew ??= { at: performance.now(), place: started.length };
        started.push(tenant);
      },
      { fair: { weight: (tenant) => WEIGHTS[tenant] ?? 1 } },
    );
    const { client, ...perdure } = await loaded(store.address, work);
    const before = started.length;
    const enqueuedAt = performance.now();
    await client.enqueueMany(work, jobsOf("few", FEW));
    await expect.poll(() => started.filter((tenant) => tenant === "few").length).toBe(FEW);
    await expect.poll(() => started.length).toBeGreaterThan(Math.min(1.2 * BACKLOG, 20_000));
    await perdure.close();

    expect(firstOfFew).not.toBeNull();
    const { at, place } = firstOfFew ?? { at: 0, place: 0 };
    console.log(
      `${kind}: first start after ${Math.round(at - enqueuedAt)} ms, ${place - before} starts`,
    );
    if (IS_FULL) expect(at - enqueuedAt).toBeLessThan(1_000);
    expect(place - before).toBeLessThan(1_500); // the attempts that were leased or in flight
    expect(worstShare(started)).toBeLessThan(0.05);

    async function loaded(address: string, definition: typeof work) {
      const filling = new Client(await openAddress(address));
      await filling.enqueueMany(definition, jobsOf("many", BACKLOG));
      await filling.enqueueMany(definition, jobsOf("some", BACKLOG / 3));
      const opened = await Perdure.open(await openAddress(address), {
        register: [definition],
        runtime: { activityConcurrency: 50 },
      });
      let isOpen = true;
      const close = async (): Promise<void> => {
        if (isOpen) await opened.close({ graceMs: 0 });
        isOpen = false;
        await filling.provider.close();
      };
      onTestFinished(close);
      await expect.poll(() => started.length).toBeGreaterThan(WINDOW / 10);
      return { client: opened.client, close };
    }
  },
);

function jobsOf(tenant: string, count: number) {
  return Array.from({ length: count }, () => ({ input: tenant, key: tenant }));
}

/** The largest difference between a share and its weight, over any window in which both tenants have jobs. */
function worstShare(started: readonly string[]): number {
  const both = started.slice(0, started.lastIndexOf("some")).filter((tenant) => tenant !== "few");
  expect(both.length).toBeGreaterThan(WINDOW);
  let many = 0;
  let worst = 0;
  for (const [index, tenant] of both.entries()) {
    if (tenant === "many") many++;
    if (index >= WINDOW && both[index - WINDOW] === "many") many--;
    if (index >= WINDOW - 1) worst = Math.max(worst, Math.abs(many / WINDOW - 0.75));
  }
  return worst;
}

if (IS_FULL) {
  test.each(STORE_KINDS)("on %s, two processes do not exceed a rate for a minute", async (kind) => {
    const folder = temporaryFolder();
    const visits = join(folder, "visits");
    mkdirSync(visits);
    await using store = await storeUnderTest(kind, folder);
    const provider = await openAddress(store.address);
    onTestFinished(() => provider.close());
    const client = new Client(provider);
    const [, , steady] = limitedJobs(visits, () => undefined);
    const count = 6_100;
    await client.enqueueMany(steady, jobsOf("a", count));
    const program = new URL("./worker.ts", import.meta.url);
    const shared = { program, store: store.address, log: join(folder, "worker"), extra: [visits] };
    const workers = [1, 2].map(() => new WorkerProcess({ ...shared, isSpare: true }));
    for (const worker of workers) worker.go();
    await expect
      .poll(() => client.count({ status: ["completed"] }), { timeout: 180_000, interval: 500 })
      .toBe(count);
    await Promise.all(workers.map((worker) => worker.kill()));
    const { runs, used, faults } = steadyUse(visits);
    console.log(`${kind}: ${runs} runs used ${(100 * used).toFixed(1)} % of the rate`);
    expect(runs).toBe(count);
    expect(faults).toEqual([]);
  });
}

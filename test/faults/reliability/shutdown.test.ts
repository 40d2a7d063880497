// Closing in the middle of work: nothing is lost, nothing runs twice, no attempt is counted.
//   A close that used up its grace period would hand work back, and that work would run twice.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { expect, test } from "vitest";
import { activity, orchestration, Perdure } from "../../../src/index.ts";
import { Project } from "../../interfaces/cli/support.ts";
import { chanceOf, seedFromEnvironment } from "../kill/chance.ts";
import { openAddress } from "../kill/store-address.ts";
import { STORE_KINDS, storeUnderTest } from "../kill/stores.ts";
import { temporaryFolder } from "../trouble/support.ts";

const IS_FULL = process.env["PERDURE_FULL"] === "1";
const ROUNDS = IS_FULL ? 100 : 8;
const TERMINATIONS = IS_FULL ? 30 : 3;
const INSTANCES = 40;
const GRACE_MS = 20_000;

test.each(STORE_KINDS)(
  `closing ${ROUNDS} times in the middle of work on %s runs every activity once, as its first attempt`,
  { timeout: 60_000 + ROUNDS * 5_000 },
  async (kind) => {
    const seed = seedFromEnvironment();
    const chance = chanceOf(seed);
    await using store = await storeUnderTest(kind, temporaryFolder());
    const runs = new Map<string, number[]>();
    let begun = 0;
    let running = 0;
    const work = activity("work", async (ms: number, { idempotencyKey, attempt }) => {
      runs.set(idempotencyKey, [...(runs.get(idempotencyKey) ?? []), attempt]);
      begun++;
      running++;
      await pause(ms);
      running--;
      return ms;
    });
    const chain = orchestration("chain", async (ctx, steps: number) => {
      let sum = 0;
      for (let step = 0; step < steps; step++) sum += await ctx.run(work, 1 + (step % 5));
      const pair = await ctx.all([ctx.run(work, 4), ctx.run(work, 2), ctx.sleep(3)]);
      return sum + pair[0] + pair[1];
    });
    const open = async (): Promise<Perdure> =>
      Perdure.open(await openAddress(store.address), {
        register: [chain, work],
        runtime: { log: () => undefined },
      });

    let perdure = await open();
    const steps = ROUNDS * 4;
    const ids = Array.from({ length: INSTANCES }, (_, n) => `chain-${n}`);
    await Promise.all(ids.map((id) => perdure.client.start(chain, steps, { id })));
    let inFlight = 0;
    for (let round = 0; round < ROUNDS; round++) {
      const goal = begun + chance.between(1, INSTANCES * 2);
      while (begun < goal) await pause(1);
      if (running > 0) inFlight++;
      await perdure.close({ graceMs: GRACE_MS });
      await perdure.provider.close();
      expect(running).toBe(0);
      perdure = await open();
    }
    const results = await Promise.all(ids.map((id) => perdure.client.get(id).result()));
    const expected = Array.from({ length: steps }, (_, step) => 1 + (step % 5)).reduce(
      (a, b) => a + b,
      6,
    );
    expect(results).toEqual(ids.map(() => expected));
    expect([...runs.values()].filter((attempts) => attempts.join() !== "1")).toEqual([]);
    expect(runs.size).toBe(INSTANCES * (steps + 2));
    await perdure.close();
    await perdure.provider.close();
    console.log(`PERDURE_SEED=${seed}: ${inFlight} of ${ROUNDS} closings had activities in flight`);
    expect(inFlight).toBeGreaterThan(ROUNDS / 2);
  },
);

/** Appends a line per run: idempotency key and attempt. */
const CONFIG = `
import { appendFileSync } from "node:fs";
import { activity, defineConfig, orchestration } from "perdure";
const work = activity("work", async (n: number, { idempotencyKey, attempt }) => {
  appendFileSync(process.env.RUNS, idempotencyKey + " " + attempt + "\\n");
  await new Promise((resolve) => setTimeout(resolve, 10 + (n % 4) * 10));
  return n;
});
const chain = orchestration("chain", async (ctx, steps: number) => {
  let sum = 0;
  for (let step = 0; step < steps; step++) sum += await ctx.run(work, step);
  return sum;
});
export default defineConfig({ register: [chain, work] });
`;

test(
  `${TERMINATIONS} SIGTERMs of perdure worker under load: exit code 0, nothing runs twice, nothing is lost`,
  { timeout: 60_000 + TERMINATIONS * 15_000 },
  async () => {
    const project = new Project({ "perdure.config.ts": CONFIG });
    const runsFile = join(project.folder, "runs.txt");
    writeFileSync(runsFile, "");
    const lines = (): string[] => readFileSync(runsFile, "utf8").split("\n").slice(0, -1);
    const client = await project.client();
    const steps = 10 + TERMINATIONS * 10;
    const handles = await Promise.all(
      Array.from({ length: 10 }, (_, n) => client.start("chain", steps, { id: `chain-${n}` })),
    );
    for (let round = 0; round <= TERMINATIONS; round++) {
      const worker = project.start("worker --grace 20s", { env: { RUNS: runsFile } });
      await worker.says(/worker ready/);
      const before = lines().length;
      if (round === TERMINATIONS) {
        await Promise.all(handles.map((handle) => handle.result({ timeout: "60s" })));
      } else {
        while (lines().length < before + 30) await pause(2);
      }
      worker.kill("SIGTERM");
      expect(await worker.ended).toBe(0);
      expect((await client.metrics()).runningTasks).toBe(0);
      expect(await client.runtimes()).toEqual([]);
    }
    const sum = (steps * (steps - 1)) / 2;
    for (const handle of handles) expect(await handle.result()).toBe(sum);
    const runs = lines();
    expect(new Set(runs).size).toBe(runs.length);
    expect(runs).toHaveLength(handles.length * steps);
    expect(runs.filter((line) => !line.endsWith(" 1"))).toEqual([]);
  },
);

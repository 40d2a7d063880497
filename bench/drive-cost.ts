// What a drive costs: one that finds nothing, and one that runs 1,000 due instances with one activity each.
//   `npm run bench:drive -- postgres://…` uses that database; without an address, a SQLite file in a temporary folder.
//   Goals: at most 15 ms, and at most 3 s. The store should be empty: the sleeping instances stay in it.

import { strict as assert } from "node:assert";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { activity, orchestration, Perdure } from "../src/index.ts";
import { timeMs } from "./measure.ts";
import { quantile } from "./statistics.ts";

const INSTANCES = 1_000;
const SAMPLES = 300;
const WARM_UP = 50;

const noop = activity("noop", async (n: number) => n);
const sleeper = orchestration("sleeper", (ctx) => ctx.sleep("30d"));
const oneStep = orchestration("one-step", (ctx, n: number) => ctx.run(noop, n));

const folder = mkdtempSync(join(tmpdir(), "perdure-drive-"));
const address = process.argv[2] ?? `sqlite:${join(folder, "drive.db")}`;
const perdure = await Perdure.open(address, {
  register: [noop, sleeper, oneStep],
  autoStart: false,
});
const numbers = Array.from({ length: INSTANCES }, (_, index) => index);
await Promise.all(numbers.map(() => perdure.client.start(sleeper)));
await perdure.drive();

const times: number[] = [];
for (let sample = 0; sample < WARM_UP + SAMPLES; sample++) {
  const ms = await timeMs(async () => {
    const { turns, idle } = await perdure.drive();
    assert.deepEqual({ turns, idle }, { turns: 0, idle: true });
  });
  if (sample >= WARM_UP) times.push(ms);
}
const [p50, p99] = [quantile(times, 0.5), quantile(times, 0.99)];
console.log(`a drive that finds nothing: ${p50.toFixed(1)} ms (p50), ${p99.toFixed(1)} ms (p99)`);

await Promise.all(numbers.map((n) => perdure.client.start(oneStep, n)));
const totalMs = await timeMs(async () => {
  const { attempts, idle } = await perdure.drive({ maxMs: 60_000 });
  assert.deepEqual({ attempts, idle }, { attempts: INSTANCES, idle: true });
});
console.log(`${INSTANCES} due instances with one activity each: ${totalMs.toFixed(0)} ms`);
await perdure.close();
rmSync(folder, { recursive: true });

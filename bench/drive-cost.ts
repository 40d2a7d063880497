// What a drive costs: one that finds nothing, and one that runs 1,000 due instances with one activity each.
//   `npm run bench:drive` measures both stores; the PostgreSQL server is the one of `npm run bench` (postgres.ts).
//   --store sqlite   sqlite, postgres or all (default: all)
//   --json FILE      also writes the figures as JSON; --into FILE keeps the figures of a store that did not run

import { strict as assert } from "node:assert";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { activity, orchestration, Perdure } from "../src/index.ts";
import { timeMs } from "./measure.ts";
import { commandOf, readMeta } from "./meta.ts";
import { openPostgres } from "./postgres.ts";
import { OUTPUT, row, saveReport, type Row } from "./report-file.ts";
import { quantile } from "./statistics.ts";
import type { Store } from "./subject.ts";

const INSTANCES = 1_000;
const SAMPLES = 300;
const WARM_UP = 50;

const noop = activity("noop", async (n: number) => n);
const sleeper = orchestration("sleeper", (ctx) => ctx.sleep("30d"));
const oneStep = orchestration("one-step", (ctx, n: number) => ctx.run(noop, n));

const { values } = parseArgs({
  options: {
    store: { type: "string", default: "all" },
    dir: { type: "string", default: tmpdir() },
    ...OUTPUT,
  },
});
const folder = mkdtempSync(join(values.dir, "perdure-drive-"));
try {
  const server = values.store === "sqlite" ? null : await openPostgres(values.dir);
  const command = commandOf("bench:drive", process.argv.slice(2));
  const meta = await readMeta(
    { command, directory: values.dir, quick: false, repetitions: 1 },
    server,
  );
  const results: Row[] = [];
  if (values.store !== "postgres") {
    results.push(...(await measure("sqlite", `sqlite:${join(folder, "drive.db")}`)));
  }
  if (server !== null) {
    const { url, drop } = await server.freshDatabase();
    results.push(...(await measure("postgres", url)));
    await drop();
  }
  saveReport(values, { meta, results, failures: [], absences: [] });
} finally {
  rmSync(folder, { recursive: true });
}

async function measure(store: Store, address: string): Promise<Row[]> {
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
  console.log(
    `${store}: a drive that finds nothing: ${p50.toFixed(1)} ms (p50), ${p99.toFixed(1)} ms (p99)`,
  );

  await Promise.all(numbers.map((n) => perdure.client.start(oneStep, n)));
  const totalMs = await timeMs(async () => {
    const { attempts, idle } = await perdure.drive({ maxMs: 60_000 });
    assert.deepEqual({ attempts, idle }, { attempts: INSTANCES, idle: true });
  });
  console.log(
    `${store}: ${INSTANCES} due instances with one activity each: ${totalMs.toFixed(0)} ms`,
  );
  await perdure.close();
  const of = { workload: "drive", store };
  return [
    row({ ...of, metric: "p50Ms", value: p50, n: SAMPLES }),
    row({ ...of, metric: "p99Ms", value: p99, n: SAMPLES }),
    row({ ...of, metric: "dueMs", value: totalMs, n: INSTANCES }),
  ];
}

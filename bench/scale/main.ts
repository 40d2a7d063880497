// How far a deployment scales: the model of model.ts over fleets of several sizes, and how evenly ids spread.
// `npm run bench:scale`; the default costs are rounded figures of one machine; W2 of
// docs/benchmarks.md has the measured ones: --runtime-us, --step-us …

import { parseArgs } from "node:util";
import { databaseOf } from "./spread.ts";
import { run, type Costs, type Fleet } from "./model.ts";

const { values } = parseArgs({
  options: {
    "runtime-us": { type: "string", default: "42" },
    "group-us": { type: "string", default: "600" },
    "step-us": { type: "string", default: "25" },
    "commit-us": { type: "string", default: "400" },
    cores: { type: "string", default: "4" },
    "log-bytes": { type: "string", default: "1230" },
    "disk-mb": { type: "string", default: "200" },
  },
});
const costs: Costs = {
  runtimeUsPerStep: Number(values["runtime-us"]),
  groupUs: Number(values["group-us"]),
  databaseUsPerStep: Number(values["step-us"]),
  commitUs: Number(values["commit-us"]),
  groupMax: 256,
  logBytesPerStep: Number(values["log-bytes"]),
  diskBytesPerUs: Number(values["disk-mb"]),
};
const coresPerDatabase = Number(values.cores);
const PER_RUNTIME = 500;
const IDS = 50_000;

console.log(JSON.stringify({ ...costs, coresPerDatabase }));
console.log("\nOne database: steps/s by runtimes");
for (const runtimes of [1, 2, 4, 6, 8, 16]) {
  report(`${runtimes} runtimes`, {
    inFlight: [runtimes * PER_RUNTIME],
    runtimesPerDatabase: runtimes,
    coresPerDatabase,
  });
}

console.log("\nSeveral databases, 8 runtimes each, instances spread by their ids");
for (const count of [1, 2, 4, 8, 16]) {
  const names = databasesOf(count);
  const inFlight = spread(names, count * 8 * PER_RUNTIME);
  const uneven = Math.max(...inFlight) / (inFlight.reduce((a, b) => a + b, 0) / count);
  const fleet = { inFlight, runtimesPerDatabase: 8, coresPerDatabase };
  report(`${count} databases, fullest ${percent(uneven - 1)} above the mean`, fleet);
}

console.log(`\nIds that move when a database is added, of ${IDS}`);
for (const count of [1, 2, 4, 8]) {
  const before = databasesOf(count);
  const after = databasesOf(count + 1);
  let moved = 0;
  for (let i = 0; i < IDS; i++) {
    if (databaseOf(`order-${i}`, before) !== databaseOf(`order-${i}`, after)) moved++;
  }
  console.log(
    `${count} → ${count + 1}: ${percent(moved / IDS)} (least possible ${percent(1 / (count + 1))})`,
  );
}

function report(title: string, fleet: Fleet): void {
  const { stepsPerS, databaseBusy, diskBusy, runtimeBusy } = run(fleet, costs);
  const busy = `cores ${percent(databaseBusy)}, disk ${percent(diskBusy)}, runtimes ${percent(runtimeBusy)} busy`;
  console.log(`${title}: ${Math.round(stepsPerS).toLocaleString("en")} steps/s; ${busy}`);
}

function spread(databases: readonly string[], instances: number): number[] {
  const counts = new Map(databases.map((name) => [name, 0]));
  for (let i = 0; i < instances; i++) {
    const name = databaseOf(`order-${i}`, databases);
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return [...counts.values()];
}

function databasesOf(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `database-${index}`);
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}

// What context and middleware cost a call that uses neither: nanoseconds per attempt of an activity, against decoding the
// input and calling the function directly. `npm run bench:middleware` alternates the two and prints the median of the
// rounds. `--json FILE` also writes them as JSON.

import { tmpdir } from "node:os";
import { parseArgs } from "node:util";
import { callActivity, decodeCall } from "../src/core/attempts/call-activity.ts";
import type { ActivityContext } from "../src/core/context/activity-context.ts";
import { activity } from "../src/core/define/definitions.ts";
import { defaultCodec } from "../src/core/values/codec.ts";
import { commandOf, readMeta } from "./meta.ts";
import { OUTPUT, row, saveReport } from "./report-file.ts";
import { median } from "./statistics.ts";

const CALLS = 200_000;
const ROUNDS = 15;
const INPUT = defaultCodec.encode({ order: 7, cents: 500 });

/** Read at the end, so that the compiler cannot remove the calls. */
let sink = 0;

const handler = ({ cents }: { readonly cents: number }): number => cents;
const charge = activity("charge", handler);
/** The function does not use its context. */
const context = {} as ActivityContext;

function direct(): void {
  for (let i = 0; i < CALLS; i++) {
    const input = defaultCodec.decode(INPUT) as { readonly cents: number };
    sink += handler(input);
  }
}

function throughTheEngine(): void {
  for (let i = 0; i < CALLS; i++) {
    const decoded = decodeCall(INPUT, undefined, defaultCodec);
    if (decoded.kind === "undecodable") throw new Error(decoded.why);
    sink += Number(callActivity(charge, decoded.value, context, null, null));
  }
}

function nanoseconds(loop: () => void): number {
  const begun = process.hrtime.bigint();
  loop();
  return Number(process.hrtime.bigint() - begun) / CALLS;
}

const figures = { direct: [] as number[], engine: [] as number[] };
for (let round = 0; round < ROUNDS; round++) {
  figures.direct.push(nanoseconds(direct));
  figures.engine.push(nanoseconds(throughTheEngine));
}
const [before, after] = [median(figures.direct), median(figures.engine)];
console.log(`direct ${before.toFixed(0)} ns, through the engine ${after.toFixed(0)} ns per call`);
console.log(`context and middleware, neither set: ${(after - before).toFixed(0)} ns per call`);
const { values } = parseArgs({ options: OUTPUT });
const command = commandOf("bench:middleware", process.argv.slice(2));
const meta = await readMeta({ command, directory: tmpdir(), quick: false, repetitions: 1 }, null);
const of = { workload: "middleware", store: null, n: CALLS };
saveReport(values, {
  meta,
  results: [
    row({ ...of, metric: "directNs", value: before }),
    row({ ...of, metric: "callNs", value: after - before }),
  ],
  failures: [],
  absences: [],
});
process.exitCode = Number.isNaN(sink) ? 1 : 0;

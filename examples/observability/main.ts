// node examples/observability/main.ts [FILE]: logs, a watched status, spans, metrics and a health check.

import { Perdure } from "../../src/index.ts";
import { importRows, nightly } from "./nightly.ts";
import { jsonLines } from "./log-sink.ts";
import { complaints, metricsPage } from "./metrics-page.ts";
import { collectTraces } from "./traces.ts";

const traces = collectTraces();

await using perdure = await Perdure.open(`sqlite:${process.argv[2] ?? ":memory:"}`, {
  register: [nightly, importRows],
  runtime: { log: jsonLines((line) => console.log(line)), telemetry: traces.telemetry },
});
const { client } = perdure;

const handle = await client.start(nightly, ["customers", "orders"], { id: "nightly-1" });
for await (const { status, customStatus } of handle.watch()) {
  if (status === "completed") console.log("watched to the end:", customStatus);
}

console.log("spans:", traces.summary());

// An orchestration that no worker registers: the most common mistake, and how it shows.
await client.start("forgotten", null, { id: "forgotten-1" });

const page = await metricsPage(perdure);
console.log(
  page
    .split("\n")
    .filter((line) => /instances\{|unclaimed/.test(line))
    .join("\n"),
);
console.log("health:", complaints(await client.metrics()));

// The generated sections of docs/benchmarks.md, by the name in their markers.

import { goalOf } from "../../bench/goals.ts";
import type { Store } from "../../bench/subject.ts";
import { describeGoal, figure } from "../../bench/table.ts";
import { byStore, type Line, type Section } from "./by-store.ts";
import { judged } from "./cells.ts";
import { compare, type Column } from "./compare.ts";
import { headOf } from "./head.ts";
import { DRIVES, MAIN, QUEUES, SHAPES } from "./lines.ts";
import type { Published } from "./published.ts";
import { searchTable } from "./search-table.ts";

export const JOBS: readonly Column[] = [
  { workload: "W16", metric: "enqueuesPerS", text: "enqueued one by one, per s" },
  { workload: "W16", metric: "bulkPerS", text: "enqueued in bulk, per s" },
  { workload: "W16", metric: "jobsPerS", text: "done, per s" },
  { workload: "W16", metric: "startP50Ms", text: "enqueued to started, ms, p50" },
  { workload: "W16", metric: "startP99Ms", text: "enqueued to started, ms, p99" },
];

const ENGINES: readonly Column[] = [
  { workload: "W1", metric: "msPerStep", n: 1_000, text: "ms per step, 1,000 in a row" },
  { workload: "W2", metric: "stepsPerS", text: "steps per s" },
  { workload: "W3", metric: "totalMs", n: 1_000, text: "ms, 1,000 in parallel" },
  { workload: "W4", metric: "p50Ms", text: "ms, p50" },
  { workload: "W4", metric: "p99Ms", text: "ms, p99" },
  { workload: "W5", metric: "p50Ms", text: "ms, p50" },
  { workload: "W5", metric: "p99Ms", text: "ms, p99" },
  { workload: "W9", metric: "restartMs", text: "ms, restarted" },
];

const SOME_ENGINES: readonly Column[] = [
  { workload: "W10n", metric: "stepsPerS", text: "steps per s" },
  { workload: "W12", metric: "p50Ms", text: "ms, p50" },
  { workload: "W12", metric: "hotAsksPerS", text: "asks per s, one key" },
  { workload: "W12", metric: "asksPerS", text: "asks per s, 500 keys" },
  { workload: "W14-across", metric: "itemsPerS", n: 50, text: "tokens per s, 50 streams" },
  { workload: "W14-across", metric: "p50Ms", n: 1, text: "ms, 1 stream, p50" },
  { workload: "W14-across", metric: "p50Ms", n: 50, text: "ms, 50 streams, p50" },
];

export const SECTIONS: Readonly<Record<string, (published: Published) => Section>> = {
  figures: (published) => onAllStores(published, MAIN),
  shapes: (published) => onAllStores(published, SHAPES),
  jobs: (published) =>
    compare(published, { columns: JOBS, stores: published.stores(), goals: true }),
  queues: (published) => onAllStores(published, QUEUES),
  search: searchTable,
  drives: (published) => onAllStores(published, DRIVES),
  middleware,
  peers(published) {
    const stores: readonly Store[] = published.stores();
    const tables = [ENGINES, SOME_ENGINES].map((columns) =>
      compare(published, { columns, stores }),
    );
    const texts = tables.flatMap(({ markdown }) => (markdown === null ? [] : [markdown]));
    return {
      markdown: texts.length === 0 ? null : texts.join("\n\n"),
      missing: tables.flatMap(({ missing }) => missing),
    };
  },
};

function onAllStores(published: Published, lines: readonly Line[]): Section {
  return byStore(published, lines, { stores: published.stores() });
}

function middleware(published: Published): Section {
  const row = published.find({ workload: "middleware", metric: "callNs" }, null);
  if (row === null) return { markdown: null, missing: ["middleware callNs"] };
  const goal = goalOf(row);
  const text = goal === null ? "" : ` (goal: ${describeGoal(goal)})`;
  const cost =
    row.value > 0 ? judged(published, row, `${figure(row.value)} ns`) : "no measurable time";
  return {
    markdown: `${headOf(published, [row])}\n\nAn attempt that uses neither context nor middleware costs ${cost} more than a direct call of its function${text}.`,
    missing: [],
  };
}

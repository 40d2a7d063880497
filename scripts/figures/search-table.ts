// The table of searches: a search per line, with p50 and p99 on each store.

import { goalOf } from "../../bench/goals.ts";
import type { Row } from "../../bench/report-file.ts";
import { figure } from "../../bench/table.ts";
import type { Section } from "./by-store.ts";
import { goalText, judged, markdownTable } from "./cells.ts";
import { headOf, nameOf } from "./head.ts";
import type { Published } from "./published.ts";

const WORKLOAD = "search";

export function searchTable(published: Published): Section {
  const all = published.rows.filter(({ workload }) => workload === WORKLOAD);
  const stores = published.stores().filter((store) => all.some((row) => row.store === store));
  const [first] = all;
  if (first === undefined) return { markdown: null, missing: [WORKLOAD] };
  const parts = [...new Set(all.map(({ part }) => part))].filter((part) => part !== undefined);
  const lines = parts.map((part) => {
    const of = (metric: string, store: Row["store"]): Row | null =>
      published.find({ workload: WORKLOAD, metric, part }, store);
    const cells = stores.map((store) => {
      const [p50, p99] = [of("p50Ms", store), of("p99Ms", store)];
      if (p50 === null || p99 === null) return "";
      return judged(published, p99, `${figure(p50.value)} / ${figure(p99.value)}`);
    });
    const p99 = of("p99Ms", stores[0] ?? null);
    return [part, ...cells, p99 === null ? "–" : goalText([goalOf(p99)])];
  });
  const rows = `${figure(first.n)} instances; p50 / p99 in milliseconds.`;
  const table = markdownTable(["", ...stores.map(nameOf), "goal (p99)"], lines);
  return { markdown: `${headOf(published, all)}\n\n${rows}\n\n${table}`, missing: [] };
}

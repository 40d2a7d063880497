// Tables with a figure per line and the stores side by side, each next to its limit, with the goal.

import { goalOf } from "../../bench/goals.ts";
import type { Row } from "../../bench/report-file.ts";
import type { Store } from "../../bench/subject.ts";
import { figure, limitOf } from "../../bench/table.ts";
import { goalText, judged, markdownTable, valueOf } from "./cells.ts";
import { headOf, nameOf } from "./head.ts";
import type { Published, Query } from "./published.ts";

export interface Line extends Query {
  /** After the name of the workload; `{n}` is its size. */
  readonly text: string;
}

export interface Section {
  /** Null if there is nothing to show. */
  readonly markdown: string | null;
  /** Rows that the page would show and the files lack. */
  readonly missing: readonly string[];
}

export function byStore(
  published: Published,
  lines: readonly Line[],
  { stores }: { readonly stores: readonly Store[] },
): Section {
  const missing: string[] = [];
  const shown: Row[] = [];
  const cells: string[][] = [];
  const found = lines.map((line) => ({
    line,
    rows: stores.map((store) => published.find(line, store)),
  }));
  const hasLimit = (index: number): boolean =>
    found.some(({ rows }) => limit(published, rows[index] ?? null) !== undefined);
  for (const { line, rows } of found) {
    const present = rows.filter((row) => row !== null);
    const [first] = present;
    if (first === undefined) {
      missing.push(`${line.workload} ${line.metric}${line.n === undefined ? "" : ` n=${line.n}`}`);
      continue;
    }
    shown.push(...present);
    cells.push([
      `**${line.workload}** ${line.text.replace("{n}", figure(first.n))}`,
      ...rows.flatMap((row, index) => {
        const other = hasLimit(index) ? [limitText(published, row)] : [];
        if (row === null) return ["", ...other];
        const size = row.n === first.n || !line.text.includes("{n}") ? "" : ` (${figure(row.n)})`;
        return [`${judged(published, row)}${size}`, ...other];
      }),
      goalText(
        stores.filter((_, i) => rows[i] !== null).map((store) => goalOf({ ...first, store })),
      ),
    ]);
  }
  if (shown.length === 0) return { markdown: null, missing };
  const headings = stores.flatMap((store, index) => [
    nameOf(store),
    ...(hasLimit(index) ? ["limit"] : []),
  ]);
  const goals = stores.length === 1 ? "goal" : `goal (${stores.map(nameOf).join(" · ")})`;
  const table = markdownTable(["", ...headings, goals], cells);
  return { markdown: `${headOf(published, shown)}\n\n${table}`, missing };
}

function limit(published: Published, row: Row | null): Row | undefined {
  return row === null ? undefined : limitOf(row, published.pair(row.workload, row.store));
}

function limitText(published: Published, row: Row | null): string {
  const found = limit(published, row);
  return found === undefined ? "" : valueOf(found);
}

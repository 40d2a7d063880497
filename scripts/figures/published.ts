// The published figures: all rows of bench/results/, each with the meta of its run.
//   - figures.1: A pair (a workload on a store) is in one file only, so there is one answer to every question.

import { globSync } from "node:fs";
import { basename, join } from "node:path";
import type { Meta } from "../../bench/meta.ts";
import { metaOf, pairOf, readReport, type Report, type Row } from "../../bench/report-file.ts";
import { STORES, type Store } from "../../bench/subject.ts";

export const RESULTS = "bench/results";

/** What identifies a row; without `n` the largest size that was measured. */
export interface Query {
  readonly workload: string;
  readonly metric: string;
  readonly n?: number;
  readonly part?: string;
}

export class Published {
  readonly rows: readonly Row[];
  readonly #metas: ReadonlyMap<string, Meta>;

  /** `files` are the reports by the names of their files. */
  constructor(files: Readonly<Record<string, Report>>) {
    const metas = new Map<string, Meta>();
    const homes = new Map<string, string>();
    for (const [file, report] of Object.entries(files)) {
      for (const pair of new Set(report.results.map(pairOf))) {
        const other = homes.get(pair);
        if (other !== undefined) {
          throw new Error(`${pair} is in ${other} and in ${file}: remove it from one of them.`);
        }
        homes.set(pair, file);
        metas.set(pair, metaOf(report, pair));
      }
    }
    this.rows = Object.values(files).flatMap(({ results }) => results);
    this.#metas = metas;
  }

  static read(root: string): Published {
    const files: Record<string, Report> = {};
    for (const path of globSync(`${RESULTS}/*.json`, { cwd: root }).sort()) {
      const report = readReport(join(root, path));
      if (report !== null) files[basename(path)] = report;
    }
    return new Published(files);
  }

  /** The stores that any workload ran on. */
  stores(): readonly Store[] {
    return STORES.filter((store) => this.rows.some((row) => row.store === store));
  }

  /** The rows of a workload on a store: what one run measured side by side. */
  pair(workload: string, store: Store | null): readonly Row[] {
    return this.rows.filter((row) => row.workload === workload && row.store === store);
  }

  find({ workload, metric, n, part }: Query, store: Store | null, subject = "perdure"): Row | null {
    const found = this.pair(workload, store).filter(
      (row) => row.subject === subject && row.metric === metric && row.part === part,
    );
    if (n !== undefined) return found.find((row) => row.n === n) ?? null;
    return found.toSorted((a, b) => b.n - a.n)[0] ?? null;
  }

  metaOf(row: Row): Meta {
    const meta = this.#metas.get(pairOf(row));
    if (meta === undefined) throw new Error(`${pairOf(row)} has no meta`);
    return meta;
  }
}

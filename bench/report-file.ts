// The JSON file of a run: its shape, how it is written, and how a run replaces part of an older file.
//   - report.1: All rows of one pair (a workload on a store) come from one run, so that its subjects compare.
//   - report.2: Each pair has the meta of its run: `metaOf`.
//   - A row is one line of the file, rounded to six digits: a committed file stays small, and its diffs readable.

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import type { Meta } from "./meta.ts";
import { peerOf } from "./peers/catalogue.ts";
import type { Store, Subject } from "./subject.ts";

/** A `Result` of a workload, or a figure of another program of `bench/`. */
export interface Row {
  readonly workload: string;
  /** What exactly was called, if the workload has several parts of one metric. */
  readonly part?: string;
  /** Null if no store is involved. */
  readonly store: Store | null;
  readonly subject: Subject;
  readonly metric: string;
  readonly value: number;
  readonly spread: readonly [min: number, max: number];
  readonly n: number;
  readonly repetitions: number;
}

/** The pairs of a file that come from another run than `Report.meta`. */
export interface LaterRun {
  readonly meta: Meta;
  /** For example "W16 postgres". */
  readonly pairs: readonly string[];
}

export interface Report {
  readonly meta: Meta;
  /** Only in a file that several runs have written. */
  readonly runs?: readonly LaterRun[];
  readonly results: readonly Row[];
  readonly failures: readonly string[];
  readonly absences: readonly string[];
}

export function pairOf({ workload, store }: Pick<Row, "workload" | "store">): string {
  return store === null ? workload : `${workload} ${store}`;
}

/** The meta of the run that the rows of a pair come from (report.2). */
export function metaOf({ meta, runs = [] }: Report, pair: string): Meta {
  return runs.find(({ pairs }) => pairs.includes(pair))?.meta ?? meta;
}

/** Null if there is no file. */
export function readReport(path: string): Report | null {
  if (!existsSync(path)) return null;
  const report: unknown = JSON.parse(readFileSync(path, "utf8"));
  if (typeof report === "object" && report !== null && "meta" in report && "results" in report) {
    return report as Report; // as written by this module
  }
  throw new Error(`${path} must be a JSON file that \`--json\` or \`--into\` wrote.`);
}

export function writeReport(path: string, report: Report): void {
  const { meta, runs, results, failures, absences } = report;
  const members = [
    `"meta": ${JSON.stringify(meta)}`,
    ...(runs === undefined || runs.length === 0 ? [] : [`"runs": ${lines(runs)}`]),
    `"results": ${lines(results.map(rounded))}`,
    `"failures": ${lines(failures)}`,
    `"absences": ${lines(absences)}`,
  ];
  writeFileSync(path, `{\n  ${members.join(",\n  ")}\n}\n`);
}

export interface Merged {
  readonly report: Report;
  /** Sentences about what the run did not replace, and what it removed. */
  readonly notes: readonly string[];
}

/**
 * The older file with the pairs that ran replaced. All rows of such a pair are replaced, also those of subjects that did
 * not run this time (report.1). A pair with a failure keeps its older rows.
 */
export function merge(old: Report, fresh: Report): Merged {
  const notes: string[] = [];
  const failed = (pair: string): boolean =>
    fresh.failures.some((failure) => failure.startsWith(`${pair} `));
  const isFresh = (pair: string): boolean => ran.has(pair);
  const ran = new Set(fresh.results.map(pairOf).filter((pair) => !failed(pair)));
  for (const pair of new Set(fresh.results.map(pairOf))) {
    if (failed(pair)) notes.push(`${pair}: the run failed, so its older rows stay`);
  }
  const added = fresh.results.filter((row) => isFresh(pairOf(row)));
  for (const pair of ran) {
    const subjects = (rows: readonly Row[]): Set<Subject> =>
      new Set(rows.filter((row) => pairOf(row) === pair).map(({ subject }) => subject));
    const gone = [...subjects(old.results).difference(subjects(added))];
    if (gone.length > 0) notes.push(`${pair}: removed the older rows of ${gone.join(", ")}`);
  }
  const kept = old.results.filter((row) => !isFresh(pairOf(row)));
  const metas = new Map<string, { meta: Meta; pairs: string[] }>();
  const results = [...kept, ...added].toSorted(byPlace(old.results));
  for (const pair of new Set(results.map(pairOf))) {
    const meta = isFresh(pair) ? fresh.meta : metaOf(old, pair);
    const run = metas.get(meta.startedAt);
    if (run === undefined) metas.set(meta.startedAt, { meta, pairs: [pair] });
    else run.pairs.push(pair);
  }
  const [first, ...others] = metas.values();
  const isStale = (absence: string): boolean =>
    [...ran].some((pair) => absence.startsWith(`${pair} `)) ||
    (Object.keys(fresh.meta.peers ?? {}).length > 0 && !isOfPair(absence));
  const absences = old.absences.filter((absence) => !isStale(absence));
  return {
    report: {
      meta: first?.meta ?? fresh.meta,
      runs: others,
      results,
      failures: [],
      absences: [...new Set([...absences, ...fresh.absences])],
    },
    notes,
  };
}

/** "W16 postgres pg-boss: …", not "absurd: ABSURD_SQL is not set". */
function isOfPair(absence: string): boolean {
  const [first = ""] = absence.split(":", 1);
  return peerOf(first) === undefined && first.includes(" ");
}

/** A pair stays where it was; a new pair goes to the end. */
function byPlace(old: readonly Row[]): (a: Row, b: Row) => number {
  const places = [...new Set(old.map(pairOf))];
  const placeOf = (row: Row): number => {
    const place = places.indexOf(pairOf(row));
    return place < 0 ? places.length : place;
  };
  return (a, b) => placeOf(a) - placeOf(b);
}

function lines(values: readonly unknown[]): string {
  if (values.length === 0) return "[]";
  return `[\n    ${values.map((value) => JSON.stringify(value)).join(",\n    ")}\n  ]`;
}

function rounded(row: Row): Row {
  const [min, max] = row.spread;
  return { ...row, value: round(row.value), spread: [round(min), round(max)] };
}

function round(value: number): number {
  return Number(value.toPrecision(6));
}

/** The options of a program that has this output, for `parseArgs`. */
export const OUTPUT = { json: { type: "string" }, into: { type: "string" } } as const;

/** Writes what ran as the options say, and prints what a merge left or removed. */
export function saveReport(
  { json, into }: { readonly json?: string | undefined; readonly into?: string | undefined },
  fresh: Report,
): void {
  if (json !== undefined) writeReport(json, fresh);
  if (into === undefined) return;
  const old = readReport(into);
  const { report, notes } = old === null ? { report: fresh, notes: [] } : merge(old, fresh);
  writeReport(into, report);
  for (const note of notes) console.log(note);
}

/** A row of one repetition. */
export function row(
  of: Pick<Row, "workload" | "store" | "metric" | "value" | "n"> & { readonly part?: string },
): Row {
  return { ...of, subject: "perdure", spread: [of.value, of.value], repetitions: 1 };
}

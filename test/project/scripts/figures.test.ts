// How runs are merged into a file, and what becomes of a file on the page.

import { expect, test } from "vitest";
import { commandOf, type Meta } from "../../../bench/meta.ts";
import { merge, metaOf, type Report, type Row } from "../../../bench/report-file.ts";
import { strayFigures } from "../../../scripts/figures/pages.ts";
import { Published } from "../../../scripts/figures/published.ts";
import { SECTIONS } from "../../../scripts/figures/sections.ts";

const META: Meta = {
  command: "npm run bench",
  commit: "0123456789ab",
  node: "v24.0.0",
  nodeEnv: "production",
  platform: "linux x64",
  cores: 2,
  cpu: "a processor",
  memoryGb: 8,
  load: 0.1,
  sqlite: "3.50.0",
  postgres: null,
  postgresSettings: null,
  durability: "sqlite full",
  fdatasyncMs: 0.25,
  directory: "/data",
  quick: false,
  repetitions: 1,
  startedAt: "2026-11-01T10:00:00.000Z",
};

function row(workload: string, of: Partial<Row> = {}): Row {
  const value = of.value ?? 1_000;
  return {
    ...{ workload, store: "sqlite", subject: "perdure", metric: "stepsPerS", value, n: 500 },
    ...{ spread: [value, value], repetitions: 1 },
    ...of,
  };
}

function report(results: readonly Row[], of: Partial<Report> = {}): Report {
  return { meta: META, results, failures: [], absences: [], ...of };
}

const LATER: Meta = { ...META, commit: "later", startedAt: "2026-11-02T10:00:00.000Z" };

// report.1, report.2
test("a run replaces the pairs that ran; the others stay, each with the meta of its run", () => {
  const old = report([row("W1"), row("W2"), row("W2", { store: "postgres" })]);
  const fresh = report([row("W2", { value: 2_000 })], { meta: LATER });
  const { report: merged, notes } = merge(old, fresh);
  expect(merged.results.map(({ workload, store, value }) => [workload, store, value])).toEqual([
    ["W1", "sqlite", 1_000],
    ["W2", "sqlite", 2_000],
    ["W2", "postgres", 1_000],
  ]);
  expect(metaOf(merged, "W1 sqlite").commit).toBe(META.commit);
  expect(metaOf(merged, "W2 sqlite").commit).toBe("later");
  expect(metaOf(merged, "W2 postgres").commit).toBe(META.commit);
  expect(notes).toEqual([]);
  expect(merge(merged, fresh).report).toEqual(merged);
});

test("subjects that did not run again are removed from a pair, with a note", () => {
  const old = report([row("W2"), row("W2", { subject: "dbos" })]);
  const { report: merged, notes } = merge(old, report([row("W2")], { meta: LATER }));
  expect(merged.results).toHaveLength(1);
  expect(notes).toEqual(["W2 sqlite: removed the older rows of dbos"]);
});

test("a pair with a failure keeps its older rows", () => {
  const old = report([row("W2"), row("W2", { subject: "limit" })]);
  const failures = ["W2 sqlite limit: a wrong count"];
  const { report: merged, notes } = merge(old, report([row("W2", { value: 9 })], { failures }));
  expect(merged.results).toEqual(old.results);
  expect(notes).toHaveLength(1);
});

test("the command does not name files and directories", () => {
  expect(commandOf("bench", ["--quick", "--json", "a.json", "--dir=/data", "--only", "W2"])).toBe(
    "npm run bench -- --quick --only W2",
  );
});

// figures.1
test("two files with the same pair are an error", () => {
  const files = { "a.json": report([row("W2")]), "b.json": report([row("W2")]) };
  expect(() => new Published(files)).toThrow("W2 sqlite is in a.json and in b.json");
});

test("a file of one store has no columns of the other; rows that it lacks are listed", () => {
  const limit = row("W2", { subject: "limit", value: 2_000 });
  const published = new Published({ "a.json": report([row("W2"), limit]) });
  const section = SECTIONS["figures"]?.(published);
  expect(section?.markdown).toContain("|  | SQLite | limit | goal |");
  // A third of the limit is enough, although 1,000 is less than 30,000.
  expect(section?.markdown).toContain("| **W2** steps per second | 1,000 | 2,000 | ≥ 30,000 or ≥");
  expect(section?.markdown).not.toContain("PostgreSQL");
  expect(section?.missing).toContain("W3 totalMs n=1000");
});

test("a missed goal is bold, and several repetitions show their extremes", () => {
  const found = row("W2", { value: 1_000, spread: [900, 1_100], repetitions: 3 });
  const limit = row("W2", { subject: "limit", value: 10_000 });
  const published = new Published({ "a.json": report([found, limit]) });
  expect(SECTIONS["figures"]?.(published).markdown).toContain("**1,000 (900 … 1,100)**");
});

test("other engines are next to Perdure, with the ratio to the best of them", () => {
  const on = (subject: string, value: number): Row =>
    row("W2", { store: "postgres", subject, value });
  const rows = [on("perdure", 9_000), on("dbos", 2_000), on("dbos (tuned)", 3_000)];
  const meta = { ...META, peers: { dbos: "5.3.0" } };
  const published = new Published({ "a.json": report(rows, { meta }) });
  const { markdown } = SECTIONS["peers"]?.(published) ?? {};
  expect(markdown).toContain("Versions: DBOS 5.3.0.");
  expect(markdown).toContain("| DBOS | 2,000 |");
  expect(markdown).toContain("| **W2** steps per s | more | 9,000 | 3,000 | DBOS (tuned) | 3 × |");
});

test("the head names each run with its workloads, and the machine once", () => {
  const old = report([row("W2"), row("W4", { metric: "p50Ms", value: 1, n: 300 })]);
  const { report: merged } = merge(old, report([row("W2")], { meta: { ...LATER, load: 2 } }));
  const { markdown } = SECTIONS["figures"]?.(new Published({ "a.json": merged })) ?? {};
  expect(markdown).toMatch(
    /^- W2 on SQLite: `npm run bench` on 2 November 2026, commit later, .*\*\*The load was high/m,
  );
  expect(markdown).toMatch(/^- W4 on SQLite: `npm run bench` on 1 November 2026/m);
  expect(markdown?.split("2 cores (a processor)")).toHaveLength(2);
});

test("without results there are no tables", () => {
  const published = new Published({});
  for (const sectionOf of Object.values(SECTIONS)) expect(sectionOf(published).markdown).toBeNull();
});

test.each([
  "W2 runs 20,000 steps per second.",
  "It completes 20,000 steps/s.",
  "| W4 | 1.5 ms |",
  "A start takes 2.9 ms (p50).",
  "A step costs 42 µs.",
])("a page may not say: %s", (text) => {
  expect(strayFigures([{ path: "docs/faq.md", text }])).toHaveLength(1);
});

test.each([
  "<!-- figure: W2 sqlite stepsPerS -->27,000<!-- end --> steps per second in W2",
  "W2 starts 500 instances of five activities.",
  "Heartbeats are written once per second.",
  "A rate of 100 per second",
])("a page may say: %s", (text) => {
  expect(strayFigures([{ path: "docs/faq.md", text }])).toEqual([]);
});

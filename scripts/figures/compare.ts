// Tables with a subject per line: Perdure next to other engines, each pair from one run.

import { goalOf } from "../../bench/goals.ts";
import { PEERS, peerOf, subjectsOf } from "../../bench/peers/catalogue.ts";
import { pairOf, type Row } from "../../bench/report-file.ts";
import type { Store, Subject } from "../../bench/subject.ts";
import { describeGoal, figure, RATES } from "../../bench/table.ts";
import type { Section } from "./by-store.ts";
import { judged, markdownTable, valueOf } from "./cells.ts";
import { headOf, nameOf } from "./head.ts";
import type { Published, Query } from "./published.ts";

export interface Column extends Query {
  readonly text: string;
}

export interface Comparison {
  readonly columns: readonly Column[];
  readonly stores: readonly Store[];
  /** Also a line with the goals below each line of Perdure. */
  readonly goals?: true;
}

const TITLES: Readonly<Record<string, string>> = {
  openworkflow: "OpenWorkflow",
  dbos: "DBOS",
  absurd: "Absurd",
  restate: "Restate",
  effect: "Effect",
  vercel: "Vercel Workflow",
  bullmq: "BullMQ",
  "bullmq-postgres": "BullMQ on PostgreSQL",
  "graphile-worker": "Graphile Worker",
};

const SUBJECTS = ["perdure", ...PEERS.flatMap(subjectsOf)];

/** Columns that no other engine has are left out. */
export function compare(published: Published, { columns, stores, goals }: Comparison): Section {
  const find = (column: Column, store: Store, subject: Subject): Row | null =>
    published.find(column, store, subject);
  const peers = SUBJECTS.slice(1);
  const shown = columns.filter((column) =>
    stores.some((store) => peers.some((peer) => find(column, store, peer) !== null)),
  );
  const missing = columns
    .filter((column) => !shown.includes(column))
    .map(({ workload, metric }) => `${workload} ${metric} of other engines`);
  if (shown.length === 0) return { markdown: null, missing };
  const rows: Row[] = [];
  const lines: string[][] = [];
  for (const store of stores) {
    for (const subject of SUBJECTS) {
      const found = shown.map((column) => find(column, store, subject));
      const present = found.filter((row) => row !== null);
      if (present.length === 0) continue;
      rows.push(...present);
      const cells = found.map((row) => {
        if (row === null) return "–";
        return subject === "perdure" ? judged(published, row) : valueOf(row);
      });
      lines.push([titleOf(subject, store), ...cells]);
      if (subject === "perdure" && goals === true) lines.push(["goal", ...found.map(goalCell)]);
    }
  }
  const parts = [
    headOf(published, rows),
    versionsOf(published, rows),
    markdownTable(["", ...shown.map(({ workload, text }) => `${workload} ${text}`)], lines),
    ...(stores.includes("postgres") ? bestOthers(published, shown) : []),
  ];
  return { markdown: parts.filter((part) => part !== "").join("\n\n"), missing };
}

/** How Perdure on PostgreSQL relates to the best other engine of the same run. */
function bestOthers(published: Published, columns: readonly Column[]): string[] {
  const lines = columns.flatMap((column) => {
    const ours = published.find(column, "postgres");
    const theirs = SUBJECTS.slice(1)
      .map((subject) => published.find(column, "postgres", subject))
      .filter((row) => row !== null)
      .toSorted((a, b) => (RATES.includes(column.metric) ? b.value - a.value : a.value - b.value));
    const [best] = theirs;
    if (ours === null || best === undefined) return [];
    return [
      [
        `**${column.workload}** ${column.text}`,
        RATES.includes(column.metric) ? "more" : "less",
        figure(ours.value),
        figure(best.value),
        titleOf(best.subject, "postgres"),
        `${Number((ours.value / best.value).toPrecision(2)).toLocaleString("en")} ×`,
      ],
    ];
  });
  if (lines.length === 0) return [];
  const headings = ["", "better is", "Perdure, PostgreSQL", "best other engine", "which", "ratio"];
  return [
    "Perdure on PostgreSQL and, for each figure, the best other engine that ran with it:",
    markdownTable(headings, lines),
  ];
}

function goalCell(row: Row | null): string {
  const goal = row === null ? null : goalOf(row);
  return goal === null ? "–" : describeGoal(goal);
}

function titleOf(subject: Subject, store: Store): string {
  if (subject === "perdure") return `**Perdure**, ${nameOf(store)}`;
  const peer = peerOf(subject);
  if (peer === undefined) return subject;
  const title = `${TITLES[peer.name] ?? peer.name}${subject.slice(peer.name.length)}`;
  return peer.stores.length === 1 ? title : `${title}, ${nameOf(store)}`;
}

function versionsOf(published: Published, rows: readonly Row[]): string {
  const versions = new Set<string>();
  const pairs = new Map(rows.map((row) => [pairOf(row), row]));
  for (const row of pairs.values()) {
    for (const [name, version] of Object.entries(published.metaOf(row).peers ?? {})) {
      versions.add(`${TITLES[name] ?? name} ${version}`);
    }
  }
  return versions.size === 0 ? "" : `Versions: ${[...versions].join(", ")}.`;
}

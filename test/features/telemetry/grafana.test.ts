// The Grafana dashboard of the docs uses existing metrics, under their Prometheus names.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { Client } from "../../../src/index.ts";
import { createToken, perdureServer } from "../../../src/server/index.ts";
import { SqliteProvider } from "../../../src/sqlite/index.ts";
import { projectRoot } from "../../support/source-files.ts";

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly gridPos: {
    readonly x: number;
    readonly y: number;
    readonly w: number;
    readonly h: number;
  };
  readonly targets?: readonly { readonly expr: string }[];
}
interface Dashboard {
  readonly panels: readonly Panel[];
  readonly templating: {
    readonly list: readonly { readonly name: string; readonly definition?: string }[];
  };
}

const read = (path: string): string => readFileSync(join(projectRoot, path), "utf8");
const dashboard = JSON.parse(read("docs/grafana/perdure.json")) as Dashboard;
const expressions = [
  ...dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)),
  ...dashboard.templating.list.flatMap(({ definition }) => definition ?? []),
];

/** The Prometheus names of the metrics in docs/telemetry.md. */
function exported(): string[] {
  const rows = read("docs/telemetry.md").matchAll(/^\| `(perdure\.[\w.]+)`\s*\| (\w+)/gm);
  return [...rows].flatMap(([, name = "", kind]) => {
    const base = name.replaceAll(".", "_");
    if (kind === "counter") return [`${base}_total`];
    if (kind === "gauge") return [base];
    return [`${base}_bucket`, `${base}_seconds_bucket`];
  });
}

test("every panel uses only existing metrics", async () => {
  const provider = await SqliteProvider.open(":memory:");
  onTestFinished(() => provider.close());
  const { token, entry } = createToken({ name: "prometheus", role: "viewer" });
  const server = perdureServer(new Client(provider), { tokens: [entry] });
  const headers = { Authorization: `Bearer ${token}` };
  const response = await server.fetch(new Request("http://localhost/metrics", { headers }));
  const own = [...(await response.text()).matchAll(/^# TYPE (\w+)/gm)].map(([, name]) => name);
  expect(own.length).toBeGreaterThan(5);
  const known = new Set([...exported(), ...own]);
  const asked = expressions.flatMap((each) => each.match(/\bperdure_\w+/g) ?? []);
  expect(asked.length).toBeGreaterThan(20);
  expect(asked.filter((name) => !known.has(name))).toEqual([]);
});

test("the dashboard shows every metric of docs/telemetry.md except a known few", () => {
  const all = expressions.join(" ");
  const rows = read("docs/telemetry.md").matchAll(/^\| `(perdure\.[\w.]+)` /gm);
  const names = [...rows].map(([, name = ""]) => name.replaceAll(".", "_"));
  const left = names.filter((name) => !all.includes(name));
  // Left out: metrics that the store metrics show better, and counts with little meaning over time.
  expect(left).toEqual(LEFT_OUT);
});

const LEFT_OUT = [
  "perdure_orchestration_continued_as_new",
  "perdure_orchestration_children",
  "perdure_replay_length",
  "perdure_queue_depth",
  "perdure_queue_running",
  "perdure_callbacks",
  "perdure_stream_items",
];

test("panels have unique ids and do not overlap", () => {
  const { panels } = dashboard;
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
  const overlapping = panels.flatMap((a) =>
    panels
      .filter((b) => a.id < b.id && overlap(a.gridPos, b.gridPos))
      .map((b) => [a.title, b.title]),
  );
  expect(overlapping).toEqual([]);
  expect(panels.every(({ gridPos: { x, w } }) => x + w <= 24)).toBe(true);
});

function overlap(a: Panel["gridPos"], b: Panel["gridPos"]): boolean {
  return a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;
}

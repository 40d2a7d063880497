// The pages state the published figures of bench/results/, and no other figures of a workload.

import { expect, test } from "vitest";
import { WORKLOADS } from "../../bench/catalogue.ts";
import { GOALS } from "../../bench/goals.ts";
import { DRIVES, MAIN, QUEUES, SHAPES } from "../../scripts/figures/lines.ts";
import {
  BENCHMARKS,
  fill,
  NOT_FIGURES,
  readPages,
  strayFigures,
} from "../../scripts/figures/pages.ts";
import { Published } from "../../scripts/figures/published.ts";
import { JOBS } from "../../scripts/figures/sections.ts";
import { projectRoot } from "../support/source-files.ts";

const published = Published.read(projectRoot);
const pages = readPages(projectRoot);

test("the pages show the figures of bench/results/; `npm run figures` writes them", async () => {
  for (const before of pages) {
    const { page, problems } = await fill(projectRoot, before, published);
    expect(problems).toEqual([]);
    expect(page.text, page.path).toBe(before.text);
  }
});

test("no page states a figure of a workload outside the generated parts", () => {
  expect(strayFigures(pages)).toEqual([]);
});

test("each exception stands on its page", () => {
  for (const [path, text] of NOT_FIGURES) {
    expect(pages.find((page) => page.path === path)?.text).toContain(text);
  }
});

test("a changed number in a table, and one in a sentence, are noticed", async () => {
  const table = pages.find(({ path }) => path === BENCHMARKS);
  const single = pages.find(({ path }) => path === "docs/scale.md");
  for (const [before, number] of [
    [table, /(?<=\| +)[\d.,]+(?= +\|)/],
    [single, /(?<=<!-- figure: \w+ \w+ \w+ -->)[\d.,]+/],
  ] as const) {
    if (before === undefined) throw new Error("a page is missing");
    expect(before.text).toMatch(number);
    const changed = { ...before, text: before.text.replace(number, "31,415") };
    const { page } = await fill(projectRoot, changed, published);
    expect(page.text).toBe(before.text);
  }
});

const LINES = [...MAIN, ...SHAPES, ...QUEUES, ...DRIVES, ...JOBS];

test("every workload is in a table", () => {
  const shown = new Set(LINES.map(({ workload }) => workload));
  expect(WORKLOADS.map(({ name }) => name).filter((name) => !shown.has(name))).toEqual([]);
});

test("every goal is in a table", () => {
  const elsewhere = ["search", "middleware"]; // their tables show all that they measure
  const hidden = GOALS.filter(
    ({ workload, metric }) =>
      !elsewhere.includes(workload) &&
      !LINES.some((line) => line.workload === workload && line.metric === metric),
  );
  expect(hidden).toEqual([]);
});

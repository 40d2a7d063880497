// W1: one instance, n sequential activities that do nothing.

import { performance } from "node:perf_hooks";
import { activity, orchestration } from "../../src/index.ts";
import type { Run } from "../subject.ts";
import { measureInARow } from "../support/in-a-row.ts";

const stamps: number[] = [];

const increment = activity("increment", (value: number) => {
  stamps.push(performance.now());
  return value + 1;
});
const counter = orchestration("counter", async (ctx, n: number) => {
  let value = 0;
  for (let i = 0; i < n; i++) value = await ctx.run(increment, value);
  return value;
});

export const run: Run = (setting) =>
  measureInARow(setting, { counter, activities: [increment], stamps });

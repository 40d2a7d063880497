// W1s: like W1, with inline steps.

import { performance } from "node:perf_hooks";
import { orchestration } from "../../src/index.ts";
import type { Run } from "../subject.ts";
import { measureInARow } from "../support/in-a-row.ts";

const stamps: number[] = [];

const counter = orchestration("counter", async (ctx, n: number) => {
  let value = 0;
  for (let i = 0; i < n; i++) {
    const before = value;
    value = await ctx.step("increment", () => {
      stamps.push(performance.now());
      return before + 1;
    });
  }
  return value;
});

export const run: Run = (setting) => measureInARow(setting, { counter, activities: [], stamps });

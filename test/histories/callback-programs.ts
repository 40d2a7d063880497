// Programs with callbacks. The rules of programs.ts apply.

import { activity, orchestration, type StandardSchema } from "../../src/index.ts";
import type { TestEnvironment } from "../../src/testing/index.ts";
import type { Program } from "./programs.ts";

const tokens: string[] = [];
const publish = activity("publish", async (token: string) => void tokens.push(token));
const render = activity("render", async (_: undefined, { completeLater }) => {
  tokens.push(completeLater().token);
});

/** Accepts numbers. */
const number: StandardSchema<unknown, number> = {
  "~standard": {
    version: 1,
    vendor: "test",
    validate: (value) =>
      typeof value === "number" ? { value: value + 1 } : { issues: [{ message: "not a number" }] },
  },
};

/** A value that is refused and then corrected, headers, a timeout, a lost race, and an activity that completes later. */
const callbacks = orchestration("callbacks", async (ctx) => {
  const paid = ctx.callback("paid", { schema: number });
  await ctx.run(publish, paid.token);
  const value = await paid;
  const late = await ctx.callback("late", { timeout: "1h" });
  const first = await ctx.race({ never: ctx.callback("never"), soon: ctx.sleep("1m") });
  const rendered = await ctx.run(render, undefined, { timeout: "1d" });
  void ctx.callback("open");
  return [value, paid.headers, late, first.key, rendered];
});

export const CALLBACK_PROGRAMS: readonly Program[] = [
  {
    name: "callbacks",
    register: [callbacks, publish, render],
    async run(test: TestEnvironment) {
      tokens.length = 0;
      const handle = await test.client.start(callbacks, undefined, { id: "callbacks" });
      await test.settle();
      await test.client.complete(tokens[0] ?? "", "not a number");
      await test.settle();
      await test.client.complete(tokens[0] ?? "", 41, { headers: { "x-a": "1" } });
      await test.advance("2h");
      await test.client.complete(tokens[1] ?? "", "rendered");
      return handle.result();
    },
  },
];

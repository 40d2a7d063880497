// The time-outs example prints what its README shows, and a deadline really cancels the losing calls.

import { expect, test } from "vitest";
import { ask, bounded } from "../../../examples/time-outs/report.ts";
import { Perdure } from "../../../src/index.ts";
import { promisedOutput, runExample } from "./example-runs.ts";

test("the program prints what its README shows", async () => {
  const { printed, complaints } = await runExample("time-outs");
  expect(printed).toBe(promisedOutput("time-outs"));
  expect(complaints).toBe("");
});

test("a deadline cancels the calls without an answer", async () => {
  await using perdure = await Perdure.open("sqlite::memory:", { register: [bounded, ask] });
  const handle = await perdure.client.start(bounded, [
    { name: "slow", answersAfterMs: [60_000] },
    { name: "fast", answersAfterMs: [0] },
  ]);
  expect(await handle.result()).toEqual(["fast answered at attempt 1"]);
  const kinds = (await handle.history()).map(({ kind }) => kind);
  expect(kinds.filter((kind) => kind === "ActivityCancelRequested")).toHaveLength(1);
  expect(kinds.filter((kind) => kind === "ActivityCompleted")).toHaveLength(1);
});

// The observability example prints what its README shows, and its log sink writes every value as JSON.

import { expect, test } from "vitest";
import { jsonLines } from "../../../examples/observability/log-sink.ts";
import { promisedOutput, runExample } from "./example-runs.ts";

test("the program prints what its README shows", async () => {
  const { printed, complaints } = await runExample("observability");
  expect(printed).toBe(promisedOutput("observability"));
  expect(complaints).toBe("");
});

test("lines at or above the level are written as JSON, including errors and bigints", () => {
  const lines: string[] = [];
  const log = jsonLines((line) => lines.push(line), "warn");
  log("info", "too quiet", {});
  log("error", "bad", { error: new RangeError("too much"), cents: 10n });
  expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
    {
      level: "error",
      message: "bad",
      error: { name: "RangeError", message: "too much" },
      cents: "10",
    },
  ]);
});

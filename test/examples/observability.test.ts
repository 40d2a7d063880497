// The observability example: what its README shows, and a log sink that writes whatever it is given.

import { expect, test } from "vitest";
import { jsonLines } from "../../examples/observability/log-sink.ts";
import { promisedOutput, runExample } from "./example-runs.ts";

test("it prints what its README shows", async () => {
  const { printed, complaints } = await runExample("observability");
  expect(printed).toBe(promisedOutput("observability"));
  expect(complaints).toBe("");
});

test("a line is JSON from its level on, errors and large numbers included", () => {
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

// The fan-out example: what its README shows, and at most three at once.

import { expect, test } from "vitest";
import { countMany } from "../../examples/fan-out/word-count.ts";
import { activity, Perdure } from "../../src/index.ts";
import { promisedOutput, runExample } from "./example-runs.ts";

test("it prints what its README shows", async () => {
  const { printed, complaints } = await runExample("fan-out");
  expect(printed).toBe(promisedOutput("fan-out"));
  expect(complaints).toBe("");
});

test("three lanes never have more than three activities under way, and count everything", async () => {
  let now = 0;
  let most = 0;
  const countWords = activity("countWords", async () => {
    now += 1;
    most = Math.max(most, now);
    await new Promise((resolve) => setImmediate(resolve));
    now -= 1;
    return 2;
  });
  await using perdure = await Perdure.open("sqlite::memory:", {
    register: [countMany, countWords],
  });
  const pages = Array.from({ length: 20 }, (_, index) => ({ title: `${index}`, text: "a b" }));
  const handle = await perdure.client.start(countMany, pages);
  expect(await handle.result()).toEqual({ words: 40, pages: 20, skipped: [] });
  expect(most).toBeGreaterThan(1);
  expect(most).toBeLessThanOrEqual(3);
});

// The fan-out example prints what its README shows and runs at most three activities at once.

import { expect, test } from "vitest";
import { countMany } from "../../../examples/fan-out/word-count.ts";
import { activity, Perdure } from "../../../src/index.ts";
import { promisedOutput, runExample } from "./example-runs.ts";

test("the program prints what its README shows", async () => {
  const { printed, complaints } = await runExample("fan-out");
  expect(printed).toBe(promisedOutput("fan-out"));
  expect(complaints).toBe("");
});

test("three lanes never run more than three activities at once, and count every page", async () => {
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

// The outbox example: what its README shows, on a database that it finds twice.

import { expect, test } from "vitest";
import { postgres } from "../support/postgres.ts";
import { promisedOutput, runExample } from "./example-runs.ts";

test("it prints what its README shows, the second time too", async () => {
  const { url } = await postgres();
  for (let run = 1; run <= 2; run++) {
    const { printed, complaints } = await runExample("outbox", url);
    expect(printed).toBe(promisedOutput("outbox"));
    expect(complaints).toBe("");
  }
});

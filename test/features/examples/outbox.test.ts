// The outbox example prints what its README shows, also on a database that it has already used.

import { expect, test } from "vitest";
import { postgres } from "../../support/postgres.ts";
import { promisedOutput, runExample } from "./example-runs.ts";

test("the program prints what its README shows, the second time too", async () => {
  const { url } = await postgres();
  for (let run = 1; run <= 2; run++) {
    const { printed, complaints } = await runExample("outbox", url);
    expect(printed).toBe(promisedOutput("outbox"));
    expect(complaints).toBe("");
  }
});

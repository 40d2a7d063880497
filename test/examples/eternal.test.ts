// The eternal example: what its README shows, and no reading is lost between two executions.

import { expect, test } from "vitest";
import { meter, reading, READINGS_AN_EXECUTION, type Meter } from "../../examples/eternal/meter.ts";
import { Perdure } from "../../src/index.ts";
import { promisedOutput, runExample } from "./example-runs.ts";

test("it prints what its README shows", async () => {
  const { printed, complaints } = await runExample("eternal");
  expect(printed).toBe(promisedOutput("eternal"));
  expect(complaints).toBe("");
});

test("readings raised all at once are all taken, over several executions", async () => {
  await using perdure = await Perdure.open("sqlite::memory:", { register: [meter] });
  const handle = await perdure.client.start(meter, { total: 0, readings: 0 });
  const count = READINGS_AN_EXECUTION * 3 + 1;
  await Promise.all(Array.from({ length: count }, (_, index) => handle.raise(reading, index)));
  for await (const { customStatus } of handle.watch()) {
    const status = customStatus as Meter | undefined;
    if (status === undefined || status.readings < count) continue;
    expect(status).toEqual({ total: (count * (count - 1)) / 2, readings: count });
    break;
  }
  expect((await handle.describe()).execution).toBe(4);
  expect((await handle.unread()).items).toEqual([]);
});

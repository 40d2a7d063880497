// The eternal example prints what its README shows and loses no reading between two executions.

import { expect, test } from "vitest";
import {
  meter,
  reading,
  READINGS_AN_EXECUTION,
  type Meter,
} from "../../../examples/eternal/meter.ts";
import { Perdure } from "../../../src/index.ts";
import { promisedOutput, runExample } from "./example-runs.ts";

test("the program prints what its README shows", async () => {
  const { printed, complaints } = await runExample("eternal");
  expect(printed).toBe(promisedOutput("eternal"));
  expect(complaints).toBe("");
});

test("readings raised at the same time are all counted, over several executions", async () => {
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

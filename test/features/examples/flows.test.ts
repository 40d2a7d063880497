// The flows example prints what its README shows and escalates after two days without an answer.

import { expect, test } from "vitest";
import { approved } from "../../../examples/flows/approval.ts";
import { promisedOutput, runExample } from "./example-runs.ts";
import { DAY, HOUR, openVirtualDays } from "./virtual-days.ts";

test("the program prints what its README shows", async () => {
  const { printed, complaints } = await runExample("flows");
  expect(printed).toBe(promisedOutput("flows"));
  expect(complaints).toBe("");
});

test("without an answer the approval is escalated after two days and not before", async () => {
  await using days = await openVirtualDays([approved]);
  const handle = await days.perdure.client.start(approved, "order 17");
  await days.environment.advance(2 * DAY - HOUR);
  expect((await handle.describe()).status).toBe("running");
  await days.environment.advance(2 * HOUR);
  expect(await handle.result({ timeout: 0 })).toBe("nobody answered: escalated");
});

// The timestamps of deliveries: only whole seconds in decimal digits, near the store's time (signatures.2).

import { expect, test } from "vitest";
import { isRecent } from "../../../src/callback/signatures.ts";

test("a timestamp in another form is refused, even if its value is the store's time", () => {
  expect(isRecent("1000", 1_000_000)).toBe(true);
  const forms = ["1e3", "+1000", "-1000", " 1000", "1000 ", "1000.0", "0x3e8", "1_000", "", "\n"];
  for (const form of [...forms, `${"0".repeat(9)}1000`, undefined]) {
    expect([form, isRecent(form, 1_000_000)]).toEqual([form, false]);
  }
  expect(isRecent("", 0)).toBe(false);
  expect(isRecent(undefined, 0)).toBe(false);
});

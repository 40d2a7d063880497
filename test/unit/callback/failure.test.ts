// The body of a reported failure as an error.

import { expect, test } from "vitest";
import { failureOf } from "../../../src/callback/failure.ts";
import { NonRetryableError } from "../../../src/index.ts";

test("a text, an object and a form say the message", () => {
  expect(failureOf("disk full").message).toBe("disk full");
  expect(failureOf({ message: "disk full" }).message).toBe("disk full");
  const named = failureOf({ message: "disk full", name: "FarmError" });
  expect([named.name, named.message]).toEqual(["FarmError", "disk full"]);
  expect(failureOf(undefined).message).toBe("The activity was reported as failed.");
  expect(failureOf({}).message).toBe("The activity was reported as failed.");
});

test("retry: false ends the activity, as JSON and in a form", () => {
  expect(failureOf({ message: "bad input", retry: false })).toBeInstanceOf(NonRetryableError);
  expect(failureOf({ message: "bad input", retry: "false" })).toBeInstanceOf(NonRetryableError);
  expect(failureOf({ message: "later", retry: "true" })).not.toBeInstanceOf(NonRetryableError);
});

test.each([
  [7],
  [null],
  [["a"]],
  [new Uint8Array([1])],
  [{ message: 7 }],
  [{ name: {} }],
  [{ retry: "no" }],
  [{ mesage: "disk full" }],
])("%j is refused", (body) => {
  expect(() => failureOf(body)).toThrow(/must be|Unknown member/);
});

// The body of a reported failure as an error.

import { expect, test } from "vitest";
import { failureOf, reportOf } from "../../../src/callback/failure.ts";
import { NonRetryableError, RetryAfterError } from "../../../src/index.ts";

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
  [{ retryAfterMs: -1 }],
  [{ retryAfterMs: "soon" }],
  [{ mesage: "disk full" }],
])("%j is refused", (body) => {
  expect(() => failureOf(body)).toThrow(/must be|Unknown member/);
});

test("an error keeps its name, its message and its retry over HTTP", () => {
  for (const error of [
    new TypeError("wrong"),
    new NonRetryableError("never"),
    new RetryAfterError("3s", "later"),
    new Error(),
  ]) {
    const back = failureOf(JSON.parse(JSON.stringify(reportOf(error))));
    expect(back.name).toBe(error.name);
    expect(back.message).toBe(error.message || "The activity was reported as failed.");
    expect(back instanceof NonRetryableError).toBe(error instanceof NonRetryableError);
    expect(back instanceof RetryAfterError && back.delayMs).toBe(
      error instanceof RetryAfterError && 3_000,
    );
  }
  expect(reportOf("text")).toEqual({ message: "text" });
});

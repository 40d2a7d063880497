import { describe, expect, test, vi } from "vitest";
import { ERROR_CODES, type ErrorCode, isPerdureError, PerdureError } from "./errors.ts";
import type { Failure } from "./failure.ts";
import { CancelledError, OrchestrationError } from "./outcome-errors.ts";
import { NonRetryableError, RetryAfterError } from "./retry-errors.ts";
import { ActivityError, ChildError, StepError, TaskError } from "./task-errors.ts";

const FAILURE: Failure = {
  category: "application",
  name: "Error",
  message: "card declined",
  retryable: true,
};
const cause = new Error("card declined");

/** The package once more, as a second installed copy would load it. */
async function secondCopy() {
  vi.resetModules();
  return { ...(await import("./errors.ts")), ...(await import("./task-errors.ts")) };
}

describe("PerdureError", () => {
  test("carries its code, its cause and, where there is one, a path", () => {
    const error = new PerdureError("VALUE_NOT_SERIALIZABLE", "no", { path: "$.a", cause });
    expect(error).toMatchObject({
      code: "VALUE_NOT_SERIALIZABLE",
      message: "no",
      path: "$.a",
      cause,
    });
    expect(Object.keys(new PerdureError("TIMEOUT", "late"))).toEqual(["code"]);
  });

  test("is named by its class, in the first line of its stack too", () => {
    expect(new PerdureError("TIMEOUT", "late").stack).toMatch(/^PerdureError: late\n/);
    expect(new CancelledError("stop").stack).toMatch(/^CancelledError: canceled: stop\n/);
  });

  test("is told by its code", () => {
    const error: unknown = new PerdureError("LEASE_LOST", "gone");
    expect(isPerdureError(error)).toBe(true);
    expect(isPerdureError(error, "LEASE_LOST")).toBe(true);
    expect(isPerdureError(error, "TIMEOUT")).toBe(false);
  });

  test.each([[null], [undefined], ["text"], [{}], [new Error("x")], [new NonRetryableError("x")]])(
    "%s is none",
    (value) => {
      expect(isPerdureError(value)).toBe(false);
    },
  );

  test("every code is explained by one sentence", () => {
    const codes = Object.keys(ERROR_CODES) as ErrorCode[];
    expect(codes.length).toBeGreaterThan(20); // docs/errors.md lists them all, and a test compares
    for (const code of codes) {
      expect(code).toMatch(/^[A-Z]+(_[A-Z]+)*$/);
      expect(ERROR_CODES[code]).toMatch(/^[A-Z].*[^.]\.$/);
    }
  });
});

describe("errors of tasks", () => {
  test("name their task, their attempts and what happened", () => {
    const activity = new ActivityError("charge", { failure: FAILURE, attempts: 3, cause: cause });
    expect(activity).toMatchObject({
      name: "ActivityError",
      code: "ACTIVITY_FAILED",
      kind: "application",
      activity: "charge",
      attempts: 3,
      failure: FAILURE,
      message: "card declined",
    });
    expect(activity.cause).toBe(cause);
    expect(new StepError("price", { failure: FAILURE, attempts: 1, cause: cause })).toMatchObject({
      name: "StepError",
      code: "STEP_FAILED",
      step: "price",
    });
    expect(new ChildError("ship", { failure: FAILURE, attempts: 1, cause: cause })).toMatchObject({
      name: "ChildError",
      code: "CHILD_FAILED",
      child: "ship",
    });
  });

  test("say whether the clock or the poison rule gave up", () => {
    const timeout: Failure = { ...FAILURE, kind: "timeout" };
    const poison: Failure = { ...FAILURE, category: "poison" };
    expect(new ActivityError("a", { failure: timeout, attempts: 1, cause: cause }).kind).toBe(
      "timeout",
    );
    expect(new ActivityError("a", { failure: poison, attempts: 10, cause: cause }).kind).toBe(
      "poison",
    );
  });

  test("are PerdureErrors and TaskErrors, and not one another", () => {
    const error = new ActivityError("charge", { failure: FAILURE, attempts: 1, cause: cause });
    expect(error).toBeInstanceOf(Error);
    expect(error).toBeInstanceOf(PerdureError);
    expect(error).toBeInstanceOf(TaskError);
    expect(error).not.toBeInstanceOf(StepError);
    expect(new PerdureError("TIMEOUT", "late")).not.toBeInstanceOf(ActivityError);
  });

  test("a cancellation keeps the text that users match on", () => {
    expect(new CancelledError("shop closed")).toMatchObject({
      code: "CANCELLED",
      reason: "shop closed",
      message: "canceled: shop closed",
    });
  });

  test.each([
    ["failed", "ORCHESTRATION_FAILED"],
    ["cancelled", "CANCELLED"],
    ["terminated", "TERMINATED"],
  ] as const)("an orchestration that %s is told by %s", (kind, code) => {
    const error = new OrchestrationError({ kind: kind, failure: FAILURE, cause: cause });
    expect(error).toMatchObject({
      name: "OrchestrationError",
      kind,
      code,
      failure: FAILURE,
      cause,
    });
  });
});

describe("two installed copies of the package", () => {
  test("recognise each other's errors", async () => {
    const other = await secondCopy();
    expect(other.PerdureError).not.toBe(PerdureError);
    const theirs = new other.ActivityError("charge", {
      failure: FAILURE,
      attempts: 1,
      cause: cause,
    });
    expect(isPerdureError(theirs, "ACTIVITY_FAILED")).toBe(true);
    expect(theirs).toBeInstanceOf(ActivityError);
    expect(theirs).toBeInstanceOf(PerdureError);
    expect(theirs).not.toBeInstanceOf(ChildError);
    expect(new StepError("s", { failure: FAILURE, attempts: 1, cause: cause })).toBeInstanceOf(
      other.StepError,
    );
  });

  test("a user's subclass is still judged by its own prototype", () => {
    class Declined extends NonRetryableError {}
    expect(new Declined("no")).toBeInstanceOf(Declined);
    expect(new Declined("no")).toBeInstanceOf(NonRetryableError);
    expect(new NonRetryableError("no")).not.toBeInstanceOf(Declined);
  });
});

describe("errors that steer retries", () => {
  test("a NonRetryableError has a cause if it is given one", () => {
    expect(new NonRetryableError("no", { cause })).toMatchObject({
      name: "NonRetryableError",
      cause,
    });
  });

  test("a RetryAfterError holds its delay in milliseconds, and says it", () => {
    expect(new RetryAfterError("30s")).toMatchObject({
      name: "RetryAfterError",
      delayMs: 30_000,
      message: "retry after 30s",
    });
    expect(new RetryAfterError(250, "busy", { cause })).toMatchObject({
      delayMs: 250,
      message: "busy",
      cause,
    });
  });

  test("a RetryAfterError refuses a delay that is none", () => {
    expect(() => new RetryAfterError(-1)).toThrowError(
      expect.objectContaining({ code: "INVALID_ARGUMENT" }),
    );
  });
});

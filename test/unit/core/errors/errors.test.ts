import { inspect } from "node:util";
import { describe, expect, test, vi } from "vitest";
import {
  ERROR_CODES,
  type ErrorCode,
  isPerdureError,
  PerdureError,
} from "../../../../src/core/errors/errors.ts";
import type { Failure } from "../../../../src/core/errors/failure.ts";
import { CancelledError, OrchestrationError } from "../../../../src/core/errors/outcome-errors.ts";
import { NonRetryableError, RetryAfterError } from "../../../../src/core/errors/retry-errors.ts";
import {
  ActivityError,
  ChildError,
  StepError,
  TaskError,
} from "../../../../src/core/errors/task-errors.ts";

const FAILURE: Failure = {
  category: "application",
  name: "Error",
  message: "card declined",
  retryable: true,
};
const cause = new Error("card declined");

/** The package loaded a second time, like a second installed copy. */
async function secondCopy() {
  vi.resetModules();
  return {
    ...(await import("../../../../src/core/errors/errors.ts")),
    ...(await import("../../../../src/core/errors/task-errors.ts")),
  };
}

describe("PerdureError", () => {
  test("carries its code, its cause and, if given, a path", () => {
    const error = new PerdureError("VALUE_NOT_SERIALIZABLE", "no", { path: "$.a", cause });
    expect(error).toMatchObject({
      code: "VALUE_NOT_SERIALIZABLE",
      message: "no",
      path: "$.a",
      cause,
    });
    expect(Object.keys(new PerdureError("TIMEOUT", "late"))).toEqual(["code"]);
  });

  test("has the name of its class, also in the first line of its stack", () => {
    expect(new PerdureError("TIMEOUT", "late").stack).toMatch(/^PerdureError: late\n/);
    expect(new CancelledError("stop").stack).toMatch(/^CancelledError: cancelled: stop\n/);
  });

  test("is recognized by its code", () => {
    const error: unknown = new PerdureError("LEASE_LOST", "gone");
    expect(isPerdureError(error)).toBe(true);
    expect(isPerdureError(error, "LEASE_LOST")).toBe(true);
    expect(isPerdureError(error, "TIMEOUT")).toBe(false);
  });

  test.each([[null], [undefined], ["text"], [{}], [new Error("x")], [new NonRetryableError("x")]])(
    "%s is not a PerdureError",
    (value) => {
      expect(isPerdureError(value)).toBe(false);
    },
  );

  test("every code has a one-sentence explanation", () => {
    const codes = Object.keys(ERROR_CODES) as ErrorCode[];
    expect(codes.length).toBeGreaterThan(20); // a test compares the whole list with docs/errors.md
    for (const code of codes) {
      expect(code).toMatch(/^[A-Z]+(_[A-Z]+)*$/);
      expect(ERROR_CODES[code]).toMatch(/^[A-Z].*[^.]\.$/);
    }
  });
});

describe("task errors", () => {
  test("name the task, the number of attempts and the failure", () => {
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

  test("have the kind timeout or poison when the timeout or the poison rule ended the task", () => {
    const timeout: Failure = { ...FAILURE, kind: "timeout" };
    const poison: Failure = { ...FAILURE, category: "poison" };
    expect(new ActivityError("a", { failure: timeout, attempts: 1, cause: cause }).kind).toBe(
      "timeout",
    );
    expect(new ActivityError("a", { failure: poison, attempts: 10, cause: cause }).kind).toBe(
      "poison",
    );
  });

  test("are instances of PerdureError and TaskError, but not of each other's classes", () => {
    const error = new ActivityError("charge", { failure: FAILURE, attempts: 1, cause: cause });
    expect(error).toBeInstanceOf(Error);
    expect(error).toBeInstanceOf(PerdureError);
    expect(error).toBeInstanceOf(TaskError);
    expect(error).not.toBeInstanceOf(StepError);
    expect(new PerdureError("TIMEOUT", "late")).not.toBeInstanceOf(ActivityError);
  });

  test("a CancelledError keeps the message text that users match on", () => {
    expect(new CancelledError("shop closed")).toMatchObject({
      code: "CANCELLED",
      reason: "shop closed",
      message: "cancelled: shop closed",
    });
  });

  test.each([
    ["failed", "ORCHESTRATION_FAILED"],
    ["cancelled", "CANCELLED"],
    ["terminated", "TERMINATED"],
  ] as const)("the error of an orchestration that is %s has the code %s", (kind, code) => {
    const error = new OrchestrationError({
      kind,
      instanceId: "order-7",
      orchestration: "order",
      failure: FAILURE,
      cause,
    });
    expect(error).toMatchObject({
      name: "OrchestrationError",
      kind,
      code,
      instanceId: "order-7",
      orchestration: "order",
      failure: FAILURE,
      cause,
    });
  });

  test("a printed OrchestrationError shows the instance, and the failure only once", () => {
    const failure = { ...FAILURE, message: "card declined" };
    const error = new OrchestrationError({
      kind: "failed",
      instanceId: "order-7",
      orchestration: "order",
      failure,
      cause: new Error("card declined"),
    });
    const printed = inspect(error);
    expect(printed).toContain("instanceId: 'order-7'");
    expect(printed).not.toContain("failure:");
  });
});

describe("two installed copies of the package", () => {
  test("recognize each other's errors", async () => {
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

  test("instanceof for a user's subclass still uses its prototype", () => {
    class Declined extends NonRetryableError {}
    expect(new Declined("no")).toBeInstanceOf(Declined);
    expect(new Declined("no")).toBeInstanceOf(NonRetryableError);
    expect(new NonRetryableError("no")).not.toBeInstanceOf(Declined);
  });
});

describe("errors that control retries", () => {
  test("a NonRetryableError carries a given cause", () => {
    expect(new NonRetryableError("no", { cause })).toMatchObject({
      name: "NonRetryableError",
      cause,
    });
  });

  test("a RetryAfterError holds its delay in milliseconds and names it in its message", () => {
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

  test("a RetryAfterError refuses an invalid delay", () => {
    expect(() => new RetryAfterError(-1)).toThrowError(
      expect.objectContaining({ code: "INVALID_ARGUMENT" }),
    );
  });
});

import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import type { Codec } from "../../../../src/core/values/codec.ts";
import { PerdureError } from "../../../../src/core/errors/errors.ts";
import {
  FAILURE_LIMITS,
  type Failure,
  fromFailure,
  toFailure,
} from "../../../../src/core/errors/failure.ts";
import { CancelledError, OrchestrationError } from "../../../../src/core/errors/outcome-errors.ts";
import { NonRetryableError, RetryAfterError } from "../../../../src/core/errors/retry-errors.ts";
import { ActivityError, ChildError } from "../../../../src/core/errors/task-errors.ts";

/** The failure as the store would return it. The store keeps plain JSON only. */
function stored(thrown: unknown, options?: Parameters<typeof toFailure>[1]): Failure {
  const failure = toFailure(thrown, options);
  expect(JSON.parse(JSON.stringify(failure))).toStrictEqual(failure);
  return failure;
}

function restored(thrown: unknown): Error {
  return fromFailure(stored(thrown));
}

describe("an error", () => {
  test("is recorded by name, message and stack", () => {
    const error = new Error("boom");
    expect(stored(error)).toStrictEqual({
      category: "application",
      name: "Error",
      message: "boom",
      stack: error.stack,
      retryable: true,
    });
  });

  test("is restored with name, message, stack, own properties and causes", () => {
    const root = Object.assign(new RangeError("far"), { limit: 5n });
    const error = new TypeError("boom", { cause: new Error("why", { cause: root }) });
    Object.assign(error, { code: "E_BOOM", status: 502, at: new Date(5), name: "Boom" });
    const back = restored(error);
    expect(back).toBeInstanceOf(TypeError);
    expect(Error.isError(back)).toBe(true);
    expect(back).toMatchObject({
      name: "Boom",
      message: "boom",
      stack: error.stack,
      code: "E_BOOM",
      status: 502,
      at: new Date(5),
      cause: { message: "why", cause: { name: "RangeError", message: "far", limit: 5n } },
    });
    expect(Object.keys(back).toSorted()).toEqual(["at", "code", "status"]);
  });

  test("of a user's class is restored as its nearest built-in base class", () => {
    class HttpError extends RangeError {
      override name = "HttpError";
      status = 404;
    }
    expect(restored(new HttpError("http"))).toBeInstanceOf(RangeError);
    expect(restored(new HttpError("http"))).toMatchObject({ name: "HttpError", status: 404 });
  });

  test("whose class does not set a name is recorded with the class's name", () => {
    class PaymentError extends Error {}
    expect(stored(new PaymentError("no")).name).toBe("PaymentError");
    expect(stored(Object.assign(new PaymentError("no"), { name: "Error" })).name).toBe("Error");
    expect(restored(new PaymentError("no"))).toMatchObject({ name: "PaymentError", message: "no" });
  });

  test("keeps a cause that is not an Error", () => {
    expect(restored(new Error("x", { cause: { status: 404 } })).cause).toEqual({ status: 404 });
    expect(restored(new Error("x", { cause: null })).cause).toBeNull();
    expect("cause" in restored(new Error("x"))).toBe(false);
  });

  test("keeps the errors inside an AggregateError or a SuppressedError", () => {
    const aggregate = restored(new AggregateError([new TypeError("a"), "b"], "all failed"));
    expect(aggregate).toBeInstanceOf(AggregateError);
    expect(aggregate).toMatchObject({ errors: [{ name: "TypeError", message: "a" }, "b"] });
    const suppressed = restored(new SuppressedError(new Error("second"), new Error("first")));
    expect(suppressed).toMatchObject({
      error: { message: "second" },
      suppressed: { message: "first" },
    });
  });

  test("loses only the properties that cannot be restored", () => {
    const error = Object.assign(new Error("x"), { a: 1, request: () => 1, b: "two", self: {} });
    error.self = error;
    expect(Object.entries(restored(error))).toEqual([
      ["a", 1],
      ["b", "two"],
    ]);
  });

  test("of the platform is recorded like any other error", () => {
    const failure = stored(AbortSignal.abort().reason);
    expect(failure).toMatchObject({ name: "AbortError", message: "This operation was aborted" });
    expect(fromFailure(failure).name).toBe("AbortError");
  });

  test("with a key named __proto__ does not change a prototype", () => {
    const error = Object.defineProperty(new Error("x"), "__proto__", {
      value: { polluted: 1 },
      enumerable: true,
    });
    const back = restored(error);
    expect(Object.getPrototypeOf(back)).toBe(Error.prototype);
    expect(Object.keys(back)).toEqual(["__proto__"]);
    expect("polluted" in {}).toBe(false);
  });
});

describe("the retryable field", () => {
  test("follows the thrown error unless the caller sets it", () => {
    class Declined extends NonRetryableError {}
    expect(toFailure(new Error("x")).retryable).toBe(true);
    expect(toFailure(new NonRetryableError("x")).retryable).toBe(false);
    expect(toFailure(new Declined("x")).retryable).toBe(false);
    expect(toFailure(new PerdureError("VALUE_NOT_SERIALIZABLE", "x")).retryable).toBe(false);
    expect(toFailure(new Error("x"), { retryable: false }).retryable).toBe(false);
    expect(toFailure(new NonRetryableError("x"), { retryable: true }).retryable).toBe(true);
  });

  test("is false for a NonRetryableError of another installed copy", async () => {
    vi.resetModules();
    const copy = await import("../../../../src/core/errors/retry-errors.ts");
    expect(toFailure(new copy.NonRetryableError("x")).retryable).toBe(false);
  });

  test("the errors that control retries are restored as their classes", () => {
    expect(restored(new NonRetryableError("x"))).toBeInstanceOf(NonRetryableError);
    expect(restored(new RetryAfterError("30s"))).toBeInstanceOf(RetryAfterError);
    expect(restored(new RetryAfterError("30s"))).toMatchObject({ delayMs: 30_000 });
  });

  test("the caller sets category and kind", () => {
    const failure = stored(new Error("timeout: activity timed out"), {
      category: "infrastructure",
      kind: "timeout",
    });
    expect(failure).toMatchObject({ category: "infrastructure", kind: "timeout" });
  });
});

describe("Perdure's errors", () => {
  const inner = toFailure(new TypeError("boom"), { category: "poison", retryable: false });

  test("are restored as their classes, with code and fields", () => {
    const error = new ActivityError("charge", {
      failure: inner,
      attempts: 10,
      cause: fromFailure(inner),
    });
    const back = restored(error);
    expect(back).toBeInstanceOf(ActivityError);
    expect(back).toMatchObject({
      code: "ACTIVITY_FAILED",
      kind: "poison",
      attempts: 10,
      activity: "charge",
      failure: inner,
      message: "boom",
    });
    expect(back.cause).toBeInstanceOf(TypeError);
    expect(restored(back)).toStrictEqual(back);
  });

  test("keep their inner failure exactly as stored", () => {
    const orchestration = new OrchestrationError({
      kind: "failed",
      instanceId: "order-7",
      orchestration: "order",
      failure: inner,
      cause: fromFailure(inner),
    });
    expect(stored(orchestration).cause).toStrictEqual(inner);
    const data = '{"kind":"failed","instanceId":"order-7","orchestration":"order"}';
    expect(stored(orchestration).data).toBe(data);
  });

  test("a CancelledError keeps its reason", () => {
    const back = restored(new CancelledError("shop closed"));
    expect(back).toBeInstanceOf(CancelledError);
    expect(back).toMatchObject({
      code: "CANCELLED",
      reason: "shop closed",
      message: "cancelled: shop closed",
    });
  });

  test("keep a path", () => {
    const error = new PerdureError("VALUE_NOT_SERIALIZABLE", "no", { path: "$.a" });
    expect(restored(error)).toMatchObject({ code: "VALUE_NOT_SERIALIZABLE", path: "$.a" });
  });

  test("of deeply nested children stay within the depth limit", () => {
    let failure = inner;
    for (let level = 0; level < 100; level++) {
      failure = stored(
        new ChildError(`child${level}`, {
          failure: failure,
          attempts: 1,
          cause: fromFailure(failure),
        }),
      );
    }
    expect(depthOf(failure)).toBe(FAILURE_LIMITS.depth);
    let error: unknown = fromFailure(failure);
    while (error instanceof ChildError) {
      expect(error.failure).toMatchObject({ message: "boom", retryable: expect.any(Boolean) });
      error = error.cause;
    }
  });
});

describe("a thrown value that is not an Error", () => {
  test.each<[unknown, string]>([
    ["boom", "boom"],
    [undefined, "undefined was thrown, which is not an Error"],
    [42, "42 was thrown, which is not an Error"],
    [{ status: 404 }, '{"status":404} was thrown, which is not an Error'],
    [{ message: "duck", n: 1 }, "duck"],
    [5n, "5 was thrown, which is not an Error"],
  ])("%o is restored as the cause of an Error", (thrown, message) => {
    const back = restored(thrown);
    expect(back).toBeInstanceOf(Error);
    expect(back.message).toBe(message);
    expect(back.cause).toEqual(thrown);
  });

  test("that cannot be stored is described in the message", () => {
    expect(stored(Symbol("x")).message).toBe("Symbol(x) was thrown, which is not an Error");
    expect(stored(() => 1).message).toContain("() => 1");
    expect(stored(() => 1)).not.toHaveProperty("thrown");
  });
});

describe("toFailure does not throw for", () => {
  const hostile = (): never => {
    throw new Error("hostile");
  };
  const trap = new Proxy({}, { get: () => hostile });
  const keys = ["name", "message", "stack", "cause", "code", "extra"] as const;

  test.each(keys)("a getter of %s that throws", (key) => {
    const error = Object.defineProperty(new Error("x"), key, { get: hostile, enumerable: true });
    expect(stored(error)).toMatchObject({ category: "application", retryable: true });
  });

  test("a proxy that throws on every access", () => {
    expect(stored(new Proxy({}, trap)).message).toContain("cannot be read");
    expect(stored(new Proxy(new Error("x"), trap))).toMatchObject({ retryable: true });
    expect(stored(new Error("x", { cause: new Proxy({}, trap) })).message).toBe("x");
    expect(stored(Object.setPrototypeOf(new Error("x"), new Proxy({}, trap)))).toBeDefined();
  });

  test("a cycle of causes", () => {
    const first = new Error("first");
    const second = new Error("second", { cause: first });
    first.cause = second;
    expect(restored(first)).toMatchObject({ message: "first", cause: { message: "second" } });
    expect(depthOf(stored(first))).toBe(2);
  });

  test("a codec that throws", () => {
    const codec: Codec = { encode: hostile, decode: hostile };
    const failure = stored(Object.assign(new Error("x", { cause: 1 }), { a: 1 }), { codec });
    expect(failure.message).toBe("x");
    expect(failure).not.toHaveProperty("data");
  });

  test("random values thrown or set as properties", () => {
    const anything = fc.anything({ withBigInt: true, withMap: true, withNullPrototype: true });
    fc.assert(
      fc.property(anything, anything, fc.constantFrom(...keys), (thrown, value, key) => {
        fromFailure(stored(thrown));
        fromFailure(
          stored(Object.defineProperty(new Error("x"), key, { value, enumerable: true })),
        );
      }),
      { numRuns: 1_000 },
    );
  });
});

describe("limits of a failure", () => {
  test("message, stack and name are cut, oversized properties are left out", () => {
    const huge = "x".repeat(1_000_000);
    const error = Object.assign(new Error(huge), {
      name: huge,
      stack: huge,
      code: huge,
      data: huge,
      ok: 1,
    });
    const failure = stored(error);
    expect(failure.message).toHaveLength(FAILURE_LIMITS.messageChars);
    expect(failure.message).toMatch(/x… \(cut\)$/);
    expect(failure.stack).toHaveLength(FAILURE_LIMITS.stackChars);
    expect(failure.name).toHaveLength(FAILURE_LIMITS.nameChars);
    expect(failure.data).toBe('{"ok":1}');
  });

  test("a cut never splits a character", () => {
    const { message } = stored(new Error("😀".repeat(20_000)));
    expect(message.isWellFormed()).toBe(true);
  });

  test("causes are recorded to a depth of ten", () => {
    let error = new Error("root");
    for (let level = 0; level < 50; level++) error = new Error(`level ${level}`, { cause: error });
    expect(depthOf(stored(error))).toBe(10);
  });

  test("a failure with every limit reached stays far below the payload limit", () => {
    const wide = (depth: number): Error => {
      const errors = Array.from({ length: 10 }, () =>
        depth === 0 ? new Error("y".repeat(1e5)) : wide(depth - 1),
      );
      return Object.assign(new AggregateError(errors, "x".repeat(100_000)), {
        extra: "z".repeat(30_000),
      });
    };
    expect(JSON.stringify(stored(wide(3))).length).toBeLessThan(300_000);
  });
});

test("unreadable data raises HISTORY_CORRUPT", () => {
  const failure = toFailure(new Error("x"));
  for (const data of ["{", "5"]) {
    expect(() => fromFailure({ ...failure, data })).toThrowError(
      expect.objectContaining({ code: "HISTORY_CORRUPT" }),
    );
  }
});

test("an error class known only to a newer version is restored as an Error of that name", () => {
  const back = fromFailure({ ...toFailure(new Error("x")), name: "NewError", type: "NewError" });
  expect(back).toBeInstanceOf(Error);
  expect(back.name).toBe("NewError");
});

function depthOf(failure: Failure): number {
  const { cause } = failure;
  return cause === undefined || "encoded" in cause ? 1 : 1 + depthOf(cause);
}

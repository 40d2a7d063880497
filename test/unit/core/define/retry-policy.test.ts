import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  BACKOFF_KINDS,
  ONE_ATTEMPT,
  retryPolicy,
  retryDelay,
  shouldRetry,
  type BackoffOptions,
  type Attempts,
  type RetryOptions,
  type RetryPolicy,
} from "../../../../src/core/define/retry-policy.ts";

const noRandom = (): number => {
  throw new Error("a policy without jitter must not use randomness");
};
const delays = (backoff: BackoffOptions, attempts: readonly number[]): number[] =>
  attempts.map((n) => retryDelay(policyOf({ retry: { backoff } }), n, noRandom));

/** The policy of options that must define one. */
function policyOf(options: Attempts): RetryPolicy {
  const policy = retryPolicy(options);
  if (policy === undefined) throw new Error("no policy");
  return policy;
}

const EXPONENTIAL = { kind: "exponential", baseMs: 100, factor: 2, maxMs: 30_000, jitter: 0 };

describe("retryPolicy", () => {
  test("no options give no policy, and the default is one attempt (rule 10)", () => {
    expect(retryPolicy({})).toBeUndefined();
    expect(ONE_ATTEMPT).toEqual({
      maxAttempts: 1,
      backoff: EXPONENTIAL,
      onTimeout: true,
      nonRetryable: [],
    });
  });

  test("attempts: n allows n attempts with exponential backoff from 100 ms to 30 s (rule 10)", () => {
    expect(policyOf({ attempts: 5 })).toEqual({
      maxAttempts: 5,
      backoff: EXPONENTIAL,
      onTimeout: true,
      nonRetryable: [],
    });
  });

  test("retry without maxAttempts or backoff uses duroxide's defaults", () => {
    expect(policyOf({ retry: {} })).toMatchObject({ maxAttempts: 3, backoff: EXPONENTIAL });
    expect(policyOf({ retry: { maxAttempts: 7 } })).toMatchObject({
      maxAttempts: 7,
      backoff: EXPONENTIAL,
    });
  });

  test("resolves every field, with durations in milliseconds", () => {
    const backoff = { kind: "linear", base: "1s", factor: 3, max: "1m", jitter: 0.5 } as const;
    const retry: RetryOptions = {
      maxAttempts: 4,
      backoff,
      onTimeout: false,
      nonRetryable: ["A", "B"],
    };
    expect(policyOf({ retry })).toEqual({
      maxAttempts: 4,
      backoff: { kind: "linear", baseMs: 1_000, factor: 3, maxMs: 60_000, jitter: 0.5 },
      onTimeout: false,
      nonRetryable: ["A", "B"],
    });
  });

  test("a base above 30 s raises the default maximum, but not an explicit maximum", () => {
    expect(policyOf({ retry: { backoff: { base: "1m" } } }).backoff.maxMs).toBe(60_000);
    expect(policyOf({ retry: { backoff: { base: "1m", max: "10s" } } }).backoff.maxMs).toBe(10_000);
  });

  test("a policy is plain JSON, and later changes of the option do not affect it (retry-policy.1)", () => {
    const names = ["A"];
    const policy = policyOf({ retry: { nonRetryable: names } });
    names.push("B");
    expect(policy.nonRetryable).toEqual(["A"]);
    expect(JSON.parse(JSON.stringify(policy))).toEqual(policy);
  });

  test.each<[string, unknown]>([
    ["retry.maxAttempts", { maxAttempts: 0 }],
    ["retry.maxAttempts", { maxAttempts: -1 }],
    ["retry.maxAttempts", { maxAttempts: 1.5 }],
    ["retry.maxAttempts", { maxAttempts: NaN }],
    ["retry.maxAttempts", { maxAttempts: Infinity }],
    ["retry.maxAttempts", { maxAttempts: 2 ** 31 }],
    ["retry.maxAttempts", { maxAttempts: "3" }],
    ["retry", null],
    ["retry", "3"],
    ["retry", [3]],
    ["maxAttemps", { maxAttemps: 3 }],
    ["retry.onTimeout", { onTimeout: "no" }],
    ["retry.nonRetryable", { nonRetryable: "TypeError" }],
    ["retry.nonRetryable[1]", { nonRetryable: ["A", TypeError] }],
    ["retry.nonRetryable[0]", { nonRetryable: [""] }],
    ["retry.backoff", { backoff: null }],
    ["retry.backoff", { backoff: "fixed" }],
    ["multiplier", { backoff: { multiplier: 2 } }],
    ["retry.backoff.kind", { backoff: { kind: "quadratic" } }],
    ["retry.backoff.kind", { backoff: { kind: "toString" } }],
    ["retry.backoff.base", { backoff: { base: -1 } }],
    ["retry.backoff.base", { backoff: { base: "1 second" } }],
    ["retry.backoff.base", { backoff: { base: null } }],
    ["retry.backoff.max", { backoff: { max: Infinity } }],
    ["retry.backoff.factor", { backoff: { factor: 0.5 } }],
    ["retry.backoff.factor", { backoff: { factor: Infinity } }],
    ["retry.backoff.factor", { backoff: { factor: "2" } }],
    ["retry.backoff.jitter", { backoff: { jitter: 1.1 } }],
    ["retry.backoff.jitter", { backoff: { jitter: -0.1 } }],
    ["retry.backoff.jitter", { backoff: { jitter: NaN } }],
    ["retry.backoff.jitter", { backoff: { jitter: true } }],
  ])("the error names %s for the invalid value %j", (field, retry) => {
    const options = { retry: retry as RetryOptions };
    expect(() => retryPolicy(options)).toThrow(
      expect.objectContaining({ code: "INVALID_ARGUMENT" }),
    );
    expect(() => retryPolicy(options)).toThrow(field);
  });

  const ATTEMPTS = "attempts must be a whole number from 1 to 2147483647";
  test.each<[string, unknown]>([
    [`${ATTEMPTS}; got 0.`, { attempts: 0 }],
    [`${ATTEMPTS}; got 1.5.`, { attempts: 1.5 }],
    [`${ATTEMPTS}; got "3".`, { attempts: "3" }],
    [`${ATTEMPTS}; got null.`, { attempts: null }],
    ["retry must be an object; for a number of attempts write attempts: 7.", { retry: 7 }],
    ["retry must be an object; for a number of attempts write attempts: 5.", { retry: -1 }],
    [
      "attempts and retry exclude each other; write retry: { maxAttempts: 5, … }.",
      { attempts: 5, retry: { onTimeout: false } },
    ],
  ])("%s", (message, options) => {
    expect(() => retryPolicy(options as Attempts)).toThrow(
      expect.objectContaining({ code: "INVALID_ARGUMENT", message }),
    );
  });
});

describe("retryDelay", () => {
  test("kind none does not wait", () => {
    expect(delays({ kind: "none", base: "5s" }, [1, 2, 10_000])).toEqual([0, 0, 0]);
  });

  test("kind fixed waits the base each time", () => {
    expect(delays({ kind: "fixed", base: "1m" }, [1, 2, 10_000])).toEqual([60_000, 60_000, 60_000]);
    expect(delays({ kind: "fixed", base: 0 }, [1, 2])).toEqual([0, 0]);
  });

  test("kind linear waits the base times the attempt, up to the maximum", () => {
    expect(delays({ kind: "linear", base: 100, max: 350 }, [1, 2, 3, 4, 10_000])).toEqual([
      100, 200, 300, 350, 350,
    ]);
    expect(delays({ kind: "linear", base: 0 }, [1, 10_000])).toEqual([0, 0]);
  });

  test("kind exponential doubles from 100 ms up to 30 s by default", () => {
    expect(delays({}, [1, 2, 3, 4, 8, 9, 10, 11])).toEqual([
      100, 200, 400, 800, 12_800, 25_600, 30_000, 30_000,
    ]);
  });

  test("kind exponential multiplies by its factor and rounds to whole milliseconds", () => {
    expect(delays({ base: 100, factor: 1 }, [1, 2, 10_000])).toEqual([100, 100, 100]);
    expect(delays({ base: 100, factor: 1.1 }, [1, 2, 3, 4])).toEqual([100, 110, 121, 133]);
    expect(delays({ base: "1s", factor: 3, max: "20s" }, [1, 2, 3, 4])).toEqual([
      1_000, 3_000, 9_000, 20_000,
    ]);
  });

  test("a maximum below the base, or zero, applies from the first attempt", () => {
    expect(delays({ base: 500, max: 100 }, [1, 2])).toEqual([100, 100]);
    expect(delays({ kind: "linear", base: 500, max: 0 }, [1, 2])).toEqual([0, 0]);
  });

  test("attempts in the thousands do not overflow", () => {
    expect(delays({}, [1_024, 10_000, 2_147_483_647])).toEqual([30_000, 30_000, 30_000]);
    expect(delays({ base: 0, factor: 1e308 }, [1, 10_000])).toEqual([0, 0]);
    expect(delays({ max: "36525d" }, [10_000])).toEqual([36_525 * 86_400_000]);
  });

  test("jitter shortens a delay by at most its fraction", () => {
    const policy = policyOf({ retry: { backoff: { kind: "fixed", base: 1_000, jitter: 0.25 } } });
    expect(retryDelay(policy, 1, () => 0)).toBe(1_000);
    expect(retryDelay(policy, 1, () => 0.5)).toBe(875);
    expect(retryDelay(policy, 1, () => 1 - 2 ** -53)).toBe(750);
  });

  test("any delay is a finite whole number between the shortest jittered delay and the full delay (retry-policy.2)", () => {
    const backoff = fc.record({
      kind: fc.constantFrom(...BACKOFF_KINDS),
      base: fc.nat(100_000),
      factor: fc.double({ min: 1, max: 1e9, noNaN: true }),
      max: fc.nat(1_000_000),
      jitter: fc.double({ min: 0, max: 1, noNaN: true }),
    });
    const randomNumber = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
    fc.assert(
      fc.property(
        backoff,
        fc.integer({ min: 1, max: 10_000 }),
        randomNumber,
        (options, n, random) => {
          const full = retryDelay(
            policyOf({ retry: { backoff: { ...options, jitter: 0 } } }),
            n,
            noRandom,
          );
          const delay = retryDelay(policyOf({ retry: { backoff: options } }), n, () => random);
          expect(Number.isSafeInteger(delay)).toBe(true);
          expect(delay).toBeLessThanOrEqual(full);
          expect(delay).toBeGreaterThanOrEqual(full * (1 - options.jitter));
          if (options.kind === "linear" || options.kind === "exponential") {
            expect(full).toBeLessThanOrEqual(options.max);
          }
        },
      ),
    );
  });

  test("without jitter no delay is shorter than the previous delay", () => {
    const backoff = fc.record({
      kind: fc.constantFrom(...BACKOFF_KINDS),
      base: fc.nat(10_000),
      factor: fc.double({ min: 1, max: 10, noNaN: true }),
    });
    fc.assert(
      fc.property(backoff, fc.integer({ min: 1, max: 5_000 }), (options, n) => {
        const [before = 0, after = 0] = delays(options, [n, n + 1]);
        expect(after).toBeGreaterThanOrEqual(before);
      }),
    );
  });
});

describe("shouldRetry", () => {
  const failure = { name: "Error", retryable: true } as const;
  const timeout = { name: "TimeoutError", retryable: true, kind: "timeout" } as const;

  test("retries until the attempts are used up", () => {
    const policy = policyOf({ attempts: 3 });
    expect([1, 2, 3, 4].map((failures) => shouldRetry({ policy, failures, failure }))).toEqual([
      true,
      true,
      false,
      false,
    ]);
  });

  test("without a policy the first failure is final", () => {
    expect(shouldRetry({ policy: ONE_ATTEMPT, failures: 1, failure })).toBe(false);
  });

  test("a failure that is not retryable is final", () => {
    const policy = policyOf({ attempts: 3 });
    expect(shouldRetry({ policy, failures: 1, failure: { ...failure, retryable: false } })).toBe(
      false,
    );
  });

  test("a failure whose name is in nonRetryable is final, any other failure is retried", () => {
    const policy = policyOf({ retry: { nonRetryable: ["CardDeclined"] } });
    const declined = { name: "CardDeclined", retryable: true };
    expect(shouldRetry({ policy, failures: 1, failure: declined })).toBe(false);
    expect(shouldRetry({ policy, failures: 1, failure })).toBe(true);
  });

  test("a timeout is retried (rule 11), unless onTimeout is false (duroxide's rule)", () => {
    expect(shouldRetry({ policy: policyOf({ attempts: 3 }), failures: 1, failure: timeout })).toBe(
      true,
    );
    const policy = policyOf({ retry: { onTimeout: false } });
    expect(shouldRetry({ policy, failures: 1, failure: timeout })).toBe(false);
    expect(shouldRetry({ policy, failures: 1, failure })).toBe(true);
  });
});

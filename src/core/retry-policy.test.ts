import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  BACKOFF_KINDS,
  normalizeRetry,
  retryDelay,
  shouldRetry,
  type BackoffOptions,
  type Retry,
} from "./retry-policy.ts";

const noChance = (): number => {
  throw new Error("a policy without jitter asks for no chance");
};
const delays = (backoff: BackoffOptions, attempts: readonly number[]): number[] =>
  attempts.map((n) => retryDelay(normalizeRetry({ backoff }), n, noChance));

const EXPONENTIAL = { kind: "exponential", baseMs: 100, factor: 2, maxMs: 30_000, jitter: 0 };

describe("normalizeRetry", () => {
  test("none is one attempt (rule 10)", () => {
    expect(normalizeRetry(undefined)).toEqual({
      maxAttempts: 1,
      backoff: EXPONENTIAL,
      onTimeout: true,
      nonRetryable: [],
    });
  });

  test("a number is that many, exponential from 100 ms to 30 s (rule 10)", () => {
    expect(normalizeRetry(5)).toEqual({
      maxAttempts: 5,
      backoff: EXPONENTIAL,
      onTimeout: true,
      nonRetryable: [],
    });
  });

  test("an object without attempts or back-off has duroxide's defaults", () => {
    expect(normalizeRetry({})).toMatchObject({ maxAttempts: 3, backoff: EXPONENTIAL });
    expect(normalizeRetry({ maxAttempts: 7 })).toMatchObject({
      maxAttempts: 7,
      backoff: EXPONENTIAL,
    });
  });

  test("resolves every field, with durations in milliseconds", () => {
    const backoff = { kind: "linear", base: "1s", factor: 3, max: "1m", jitter: 0.5 } as const;
    const retry: Retry = { maxAttempts: 4, backoff, onTimeout: false, nonRetryable: ["A", "B"] };
    expect(normalizeRetry(retry)).toEqual({
      maxAttempts: 4,
      backoff: { kind: "linear", baseMs: 1_000, factor: 3, maxMs: 60_000, jitter: 0.5 },
      onTimeout: false,
      nonRetryable: ["A", "B"],
    });
  });

  test("a base above 30 s raises the default maximum, but not a given one", () => {
    expect(normalizeRetry({ backoff: { base: "1m" } }).backoff.maxMs).toBe(60_000);
    expect(normalizeRetry({ backoff: { base: "1m", max: "10s" } }).backoff.maxMs).toBe(10_000);
  });

  test("a policy is plain JSON and does not follow later changes of the option (R1)", () => {
    const names = ["A"];
    const policy = normalizeRetry({ nonRetryable: names });
    names.push("B");
    expect(policy.nonRetryable).toEqual(["A"]);
    expect(JSON.parse(JSON.stringify(policy))).toEqual(policy);
  });

  test.each<[string, unknown]>([
    ["retry.maxAttempts", 0],
    ["retry.maxAttempts", -1],
    ["retry.maxAttempts", 1.5],
    ["retry.maxAttempts", NaN],
    ["retry.maxAttempts", Infinity],
    ["retry.maxAttempts", 2 ** 31],
    ["retry.maxAttempts", { maxAttempts: 0 }],
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
  ])("names %s when it refuses %j", (field, retry) => {
    expect(() => normalizeRetry(retry as Retry)).toThrow(
      expect.objectContaining({ code: "INVALID_ARGUMENT" }),
    );
    expect(() => normalizeRetry(retry as Retry)).toThrow(field);
  });
});

describe("retryDelay", () => {
  test("none does not wait", () => {
    expect(delays({ kind: "none", base: "5s" }, [1, 2, 10_000])).toEqual([0, 0, 0]);
  });

  test("fixed waits the base each time", () => {
    expect(delays({ kind: "fixed", base: "1m" }, [1, 2, 10_000])).toEqual([60_000, 60_000, 60_000]);
    expect(delays({ kind: "fixed", base: 0 }, [1, 2])).toEqual([0, 0]);
  });

  test("linear waits the base times the attempt, up to the maximum", () => {
    expect(delays({ kind: "linear", base: 100, max: 350 }, [1, 2, 3, 4, 10_000])).toEqual([
      100, 200, 300, 350, 350,
    ]);
    expect(delays({ kind: "linear", base: 0 }, [1, 10_000])).toEqual([0, 0]);
  });

  test("exponential doubles from 100 ms up to 30 s unless told otherwise", () => {
    expect(delays({}, [1, 2, 3, 4, 8, 9, 10, 11])).toEqual([
      100, 200, 400, 800, 12_800, 25_600, 30_000, 30_000,
    ]);
  });

  test("exponential takes its factor, and rounds what is no whole millisecond", () => {
    expect(delays({ base: 100, factor: 1 }, [1, 2, 10_000])).toEqual([100, 100, 100]);
    expect(delays({ base: 100, factor: 1.1 }, [1, 2, 3, 4])).toEqual([100, 110, 121, 133]);
    expect(delays({ base: "1s", factor: 3, max: "20s" }, [1, 2, 3, 4])).toEqual([
      1_000, 3_000, 9_000, 20_000,
    ]);
  });

  test("a maximum below the base, or zero, holds from the first attempt", () => {
    expect(delays({ base: 500, max: 100 }, [1, 2])).toEqual([100, 100]);
    expect(delays({ kind: "linear", base: 500, max: 0 }, [1, 2])).toEqual([0, 0]);
  });

  test("attempts in the thousands do not overflow", () => {
    expect(delays({}, [1_024, 10_000, 2_147_483_647])).toEqual([30_000, 30_000, 30_000]);
    expect(delays({ base: 0, factor: 1e308 }, [1, 10_000])).toEqual([0, 0]);
    expect(delays({ max: "36525d" }, [10_000])).toEqual([36_525 * 86_400_000]);
  });

  test("jitter shortens by at most its fraction", () => {
    const policy = normalizeRetry({ backoff: { kind: "fixed", base: 1_000, jitter: 0.25 } });
    expect(retryDelay(policy, 1, () => 0)).toBe(1_000);
    expect(retryDelay(policy, 1, () => 0.5)).toBe(875);
    expect(retryDelay(policy, 1, () => 1 - 2 ** -53)).toBe(750);
  });

  test("any delay is whole, finite, and between the jittered and the full one (R2)", () => {
    const backoff = fc.record({
      kind: fc.constantFrom(...BACKOFF_KINDS),
      base: fc.nat(100_000),
      factor: fc.double({ min: 1, max: 1e9, noNaN: true }),
      max: fc.nat(1_000_000),
      jitter: fc.double({ min: 0, max: 1, noNaN: true }),
    });
    const chance = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
    fc.assert(
      fc.property(backoff, fc.integer({ min: 1, max: 10_000 }), chance, (options, n, random) => {
        const full = retryDelay(
          normalizeRetry({ backoff: { ...options, jitter: 0 } }),
          n,
          noChance,
        );
        const delay = retryDelay(normalizeRetry({ backoff: options }), n, () => random);
        expect(Number.isSafeInteger(delay)).toBe(true);
        expect(delay).toBeLessThanOrEqual(full);
        expect(delay).toBeGreaterThanOrEqual(full * (1 - options.jitter));
        if (options.kind === "linear" || options.kind === "exponential") {
          expect(full).toBeLessThanOrEqual(options.max);
        }
      }),
    );
  });

  test("without jitter no delay is shorter than the one before", () => {
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

  test("repeats until the attempts are used up", () => {
    const policy = normalizeRetry(3);
    expect([1, 2, 3, 4].map((failures) => shouldRetry({ policy, failures, failure }))).toEqual([
      true,
      true,
      false,
      false,
    ]);
  });

  test("without a policy the first failure is final", () => {
    expect(shouldRetry({ policy: normalizeRetry(undefined), failures: 1, failure })).toBe(false);
  });

  test("a failure that is not retryable is final", () => {
    const policy = normalizeRetry(3);
    expect(shouldRetry({ policy, failures: 1, failure: { ...failure, retryable: false } })).toBe(
      false,
    );
  });

  test("a failure by a name on the list is final, any other is not", () => {
    const policy = normalizeRetry({ nonRetryable: ["CardDeclined"] });
    const declined = { name: "CardDeclined", retryable: true };
    expect(shouldRetry({ policy, failures: 1, failure: declined })).toBe(false);
    expect(shouldRetry({ policy, failures: 1, failure })).toBe(true);
  });

  test("a timeout is repeated (rule 11), unless onTimeout is false (duroxide's rule)", () => {
    expect(shouldRetry({ policy: normalizeRetry(3), failures: 1, failure: timeout })).toBe(true);
    const policy = normalizeRetry({ onTimeout: false });
    expect(shouldRetry({ policy, failures: 1, failure: timeout })).toBe(false);
    expect(shouldRetry({ policy, failures: 1, failure })).toBe(true);
  });
});

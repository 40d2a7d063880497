// The retry decision: one table for activities, steps and runFlow.

import { expect, test } from "vitest";
import { decide } from "../../../../src/core/attempts/decide.ts";
import { DescribedAttempt } from "../../../../src/core/attempts/attempt-context.ts";
import type { AttemptResult } from "../../../../src/core/attempts/run-attempt.ts";
import { retryPolicy, type Attempts } from "../../../../src/core/define/retry-policy.ts";
import { timeoutFailure } from "../../../../src/core/errors/built-in-failures.ts";
import { toFailure } from "../../../../src/core/errors/failure.ts";

const call = {
  instanceId: "order-7",
  runId: "r1",
  execution: 1,
  orchestration: "order",
  orchestrationVersion: "1.0.0",
  name: "charge",
  sequence: 2,
  priority: 3,
};
const description = new DescribedAttempt("activity", call, { attempt: 4, worker: "worker-1" });

function decided(result: AttemptResult, attempts: Attempts, failures: number) {
  const lines: string[] = [];
  const decision = decide(
    result,
    { description, policy: retryPolicy(attempts), failures },
    { log: (level, message) => void lines.push(`${level} ${message}`), random: () => 0.5 },
  );
  return { decision, lines };
}

const refused = toFailure(new Error("refused"));
const failed: AttemptResult = { kind: "failed", failure: refused, retryAfterMs: null };
const later: AttemptResult = { kind: "failed", failure: refused, retryAfterMs: 7_000 };
const final: AttemptResult = { ...failed, failure: { ...refused, retryable: false } };
const late: AttemptResult = { ...failed, failure: timeoutFailure("activity") };
const fixed = { kind: "fixed", base: "2s" } as const;
const jitter = { ...fixed, jitter: 1 };
const listed = { nonRetryable: ["Error"] };

const last = "no attempts left";

test.each([
  ["no policy", failed, {}, 1, "failed", "1 of 1", last],
  ["the first of three", failed, { retry: { backoff: fixed } }, 1, "retry", "1 of 3", "next in 2s"],
  ["the last of three", failed, { attempts: 3 }, 3, "failed", "3 of 3", last],
  ["jitter", failed, { retry: { backoff: jitter } }, 1, "retry", "1 of 3", "next in 1s"],
  ["a delay that the code set", later, { attempts: 3 }, 2, "retry", "2 of 3", "next in 7s"],
  ["a delay after the last attempt", later, { attempts: 2 }, 2, "failed", "2 of 2", last],
  ["not retryable", final, { attempts: 3 }, 1, "failed", "1 of 3", "not retryable"],
  ["a timeout", late, { attempts: 2 }, 1, "retry", "1 of 2", "next in 100 ms"],
  ["no onTimeout", late, { retry: { onTimeout: false } }, 1, "failed", "1 of 3", "not retryable"],
  ["a listed name", failed, { retry: listed }, 1, "failed", "1 of 3", "not retryable"],
] as const)("%s", (_title, result, attempts, failures, kind, which, next) => {
  const { decision, lines } = decided(result, attempts, failures);
  expect(decision.kind).toBe(kind);
  const headline = result === late ? "TimeoutError: timeout: activity timed out" : "refused";
  expect(lines).toEqual([`warn charge, order-7: attempt ${which} failed: ${headline}; ${next}`]);
});

test("a decision has the failure, and the delay of the log line", () => {
  const { decision } = decided(later, { attempts: 2 }, 1);
  expect(decision).toEqual({ kind: "retry", failure: refused, delayMs: 7_000 });
  expect(decided(failed, {}, 1).decision).toEqual({ kind: "failed", failure: refused });
});

test("a completed attempt is logged nowhere", () => {
  const { decision, lines } = decided({ kind: "completed", output: "1" }, { attempts: 3 }, 1);
  expect([decision, lines]).toEqual([{ kind: "completed", output: "1" }, []]);
});

// Which tasks of a queue with limits one request may take, and when the others are tried again (provider.queues.2,
// provider.queues.3).

import { expect, test } from "vitest";
import {
  admissionEnd,
  allowance,
  isOpen,
  keyAllowance,
  QueueAdmission,
  type QueueLoad,
  type QueuedTask,
} from "../../../../src/core/provider/shared/queue-admission.ts";

const TIME = { now: 10_000, enterWithinMs: 1_000 };
const RATE = { count: 2, perMs: 60_000 };

const load = (fields: Partial<QueueLoad> = {}): QueueLoad => ({
  name: "q",
  rule: null,
  isPaused: false,
  running: 0,
  runningByKey: new Map(),
  admitted: 0,
  admitsAgainAt: null,
  hasDeferred: false,
  ...fields,
});
const task = (fields: Partial<QueuedTask> = {}): QueuedTask => ({
  name: "q",
  key: "",
  holdsSlot: false,
  isDeferred: false,
  ...fields,
});
const admitting = (...loads: readonly QueueLoad[]) => new QueueAdmission(loads, TIME);

test("a queue without a rule admits every task", () => {
  const admission = admitting(load({ name: "other", rule: { concurrency: 1 }, running: 1 }));
  expect([1, 2, 3].map(() => admission.admit(task()))).toEqual([true, true, true]);
  expect(admission.retryAt).toBeNull();
});

test("concurrency: a request takes as many tasks as slots are free, and tries the others soon", () => {
  const admission = admitting(load({ rule: { concurrency: 3 }, running: 1 }));
  expect(admission.admit(task())).toBe(true);
  expect([admission.admit(task()), admission.retryAt]).toEqual([true, null]);
  expect([admission.admit(task()), admission.retryAt]).toEqual([false, 10_050]);
});

test("concurrency: each queue has its slots", () => {
  const rule = { concurrency: 1 };
  const admission = admitting(load({ name: "a", rule }), load({ name: "b", rule }));
  const names = ["a", "b", "a", "b"];
  expect(names.map((name) => admission.admit(task({ name })))).toEqual([true, true, false, false]);
});

test("perKey: each key has its slots, and tasks without a key share the empty key", () => {
  const runningByKey = new Map([
    ["busy", 2],
    ["half", 1],
  ]);
  const admission = admitting(load({ rule: { perKey: 2 }, running: 3, runningByKey }));
  const keys = ["busy", "half", "half", "", "", "", "new"];
  expect(keys.map((key) => admission.admit(task({ key })))).toEqual([
    ...[false, true, false, true, true, false, true],
  ]);
});

test("queue-admission.1: a task that holds a slot needs no further one, and uses none up", () => {
  const admission = admitting(load({ rule: { concurrency: 2, perKey: 2 }, running: 1 }));
  const holding = task({ holdsSlot: true });
  expect([1, 2, 3].map(() => admission.admit(holding))).toEqual([true, true, true]);
  expect([admission.admit(task()), admission.admit(task())]).toEqual([true, false]);
  expect(admission.admit(holding)).toBe(true);
});

test("rate: admissions of earlier requests and of this one count", () => {
  const admission = admitting(load({ rule: { rate: RATE }, admitted: 1, admitsAgainAt: 15_000 }));
  expect([admission.admit(task()), admission.retryAt]).toEqual([true, null]);
  expect([admission.admit(task()), admission.retryAt]).toEqual([false, 15_000]);
});

test("rate: without earlier admissions, a task is tried again after the window of this request", () => {
  const admission = admitting(load({ rule: { rate: { count: 1, perMs: 60_000.5 } } }));
  expect([admission.admit(task()), admission.admit(task())]).toEqual([true, false]);
  expect(admission.retryAt).toBe(11_000 + 60_001);
});

test("queue-admission.1: a rate does not hold back a deferred task, which runs no code, nor does that task count", () => {
  const admission = admitting(load({ rule: { rate: RATE }, admitted: 1, admitsAgainAt: 15_000 }));
  const deferred = task({ holdsSlot: true, isDeferred: true });
  expect([admission.admit(deferred), admission.admit(deferred)]).toEqual([true, true]);
  expect([admission.admit(task()), admission.admit(task())]).toEqual([true, false]);
  expect(admission.admit(deferred)).toBe(true);
});

test("a task that the concurrency holds back uses up no admission, and the other way round", () => {
  const full = load({ rule: { perKey: 1, rate: RATE }, runningByKey: new Map([["busy", 1]]) });
  const first = admitting(full);
  expect(first.admit(task({ key: "busy" }))).toBe(false);
  const keys = ["a", "b", "c"];
  expect(keys.map((key) => first.admit(task({ key })))).toEqual([true, true, false]);

  const used = load({ rule: { concurrency: 1, rate: RATE }, admitted: 2, admitsAgainAt: 15_000 });
  const second = admitting(used);
  expect(second.admit(task())).toBe(false);
  expect(second.admit(task({ holdsSlot: true, isDeferred: true }))).toBe(true);
  expect(second.retryAt).toBe(15_000);
});

test("the earliest time counts at which a task that was held back can be tried again", () => {
  const slow = load({ name: "slow", rule: { rate: RATE }, admitted: 2, admitsAgainAt: 15_000 });
  const slots = load({ name: "slots", rule: { concurrency: 1 }, running: 1 });
  for (const order of [
    ["slow", "slots"],
    ["slots", "slow"],
  ]) {
    const admission = admitting(slow, slots);
    for (const name of order) admission.admit(task({ name }));
    expect(admission.retryAt).toBe(10_050);
  }
});

test("a queue that is held back as a whole is tried when its rate allows it, otherwise soon", () => {
  const retryOf = (fields: Partial<QueueLoad>) => {
    const admission = admitting();
    admission.holdBack(load(fields));
    return admission.retryAt;
  };
  expect(retryOf({ rule: { rate: RATE }, admitted: 2, admitsAgainAt: 15_000 })).toBe(15_000);
  expect(retryOf({ rule: { rate: RATE }, admitted: 3, admitsAgainAt: 15_000 })).toBe(15_000);
  expect(retryOf({ rule: { rate: RATE }, admitted: 1, admitsAgainAt: 15_000 })).toBe(10_050);
  expect(retryOf({ rule: { rate: RATE }, admitted: 2 })).toBe(10_050);
  expect(retryOf({ rule: { concurrency: 1 }, admitted: 2, admitsAgainAt: 15_000 })).toBe(10_050);
  expect(retryOf({ admitted: 2, admitsAgainAt: 15_000 })).toBe(10_050);
});

test("the allowance is what the tightest limit leaves, and never negative", () => {
  expect(allowance(load({ running: 7, admitted: 7 }))).toBe(Infinity);
  expect(allowance(load({ rule: { concurrency: 5 }, running: 2, admitted: 9 }))).toBe(3);
  expect(allowance(load({ rule: { rate: { count: 5, perMs: 1 } }, admitted: 4 }))).toBe(1);
  const both = { concurrency: 5, rate: { count: 5, perMs: 1 } };
  expect(allowance(load({ rule: both, running: 1, admitted: 3 }))).toBe(2);
  expect(allowance(load({ rule: both, running: 4, admitted: 3 }))).toBe(1);
  expect(allowance(load({ rule: { concurrency: 2 }, running: 3 }))).toBe(0);
});

test("the allowance of a key is what the limit per key leaves, and never negative", () => {
  const runningByKey = new Map([["a", 1]]);
  expect(keyAllowance(load(), "a")).toBe(Infinity);
  expect(keyAllowance(load({ rule: { concurrency: 9 }, runningByKey }), "a")).toBe(Infinity);
  const limited = load({ rule: { perKey: 2 }, runningByKey });
  expect([keyAllowance(limited, "a"), keyAllowance(limited, "b")]).toEqual([1, 2]);
  expect(keyAllowance(load({ rule: { perKey: 1 }, runningByKey: new Map([["a", 3]]) }), "a")).toBe(
    0,
  );
});

test("a queue is open if it has an allowance or a deferred task, unless it is paused", () => {
  const full = { rule: { concurrency: 1 }, running: 1 };
  expect(isOpen(load())).toBe(true);
  expect(isOpen(load(full))).toBe(false);
  expect(isOpen(load({ ...full, hasDeferred: true }))).toBe(true);
  expect(isOpen(load({ isPaused: true }))).toBe(false);
  expect(isOpen(load({ isPaused: true, hasDeferred: true }))).toBe(false);
});

test("an admission is valid to the millisecond; of a larger rate, to a thousandth of the window", () => {
  const end = (count: number, perMs: number, now = 10_000.5) =>
    admissionEnd({ count, perMs }, { now, enterWithinMs: 1_000 });
  expect(end(1, 60_000)).toBe(11_001);
  expect(end(1_000, 60_000, 10_001)).toBe(11_001);
  expect(end(1_001, 60_000, 10_001)).toBe(11_040); // steps of 60 ms
  expect(end(1_001, 60_000, 10_040)).toBe(11_040);
  expect(end(5_000, 500, 10_000.5)).toBe(11_001); // never less than a millisecond
  expect(end(5_000, 2_999, 10_000.5)).toBe(11_002);
});

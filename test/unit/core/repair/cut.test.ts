// Where a history is cut: at a point that the caller names, or at the failure (repair.cut.1, repair.cut.2).

import { expect, test } from "vitest";
import type { Failure } from "../../../../src/core/errors/failure.ts";
import { toFailure } from "../../../../src/core/errors/failure.ts";
import type { EventBody, OrchestrationFailed } from "../../../../src/core/history/events.ts";
import {
  checkCutPoint,
  cutBefore,
  failureCut,
  isDelivery,
  type CutPoint,
} from "../../../../src/core/repair/cut.ts";
import {
  called,
  calledFailed,
  cancelRequested,
  ran,
  ranDone,
  ranFailed,
  received,
  returned,
  stepAttemptFailed,
  stepped,
  steppedFailed,
} from "../../../replay/bodies.ts";
import { ASK, historyOf, SEND, sendFailed } from "./support.ts";

const open = (failure: Failure) => failure;
const ended = (failure: Failure, more: Partial<OrchestrationFailed> = {}): EventBody => ({
  ...{ kind: "OrchestrationFailed", outcome: "failed", failure },
  ...more,
});
const cutOf = (...bodies: readonly EventBody[]) => failureCut(historyOf(...bodies), null, open);
const failureOf = (body: EventBody) => (body as unknown as { readonly failure: Failure }).failure;

test("a point is the number of an event, up to the one after the last", () => {
  const events = historyOf(ran("a"), ranDone(2));
  expect([2, 3, 4].map((point) => cutBefore(events, point))).toEqual([2, 3, 4]);
  expect(() => cutBefore(events, 5)).toThrow("before must be from 2 to 4");
  expect(() => cutBefore([], 2)).toThrow("from 2 to 1");
});

test("a point is the n-th call of a name, by default the first", () => {
  const bodies = [ran("a"), stepped("a"), called("a", "i"), ran("b"), ran("a"), stepped("a")];
  const points: readonly (readonly [CutPoint, number])[] = [
    [{ activity: "a" }, 2],
    [{ activity: "a", nth: 2 }, 6],
    [{ activity: "b" }, 5],
    [{ step: "a" }, 3],
    [{ step: "a", nth: 2 }, 7],
    [{ child: "a" }, 4],
  ];
  for (const [point, sequence] of points) {
    expect(cutBefore(historyOf(...bodies), point)).toBe(sequence);
  }
});

test("a call that the execution did not make is refused with the number of its calls", () => {
  const events = historyOf(ran("a"), ran("b"), ran("b"));
  expect(() => cutBefore(events, { activity: "a", nth: 2 })).toThrow(
    'The execution has 1 call of activity "a"; there is no call 2.',
  );
  expect(() => cutBefore(events, { activity: "b", nth: 3 })).toThrow("2 calls of activity");
  expect(() => cutBefore(events, { child: "a" })).toThrow('0 calls of child "a"');
});

test("a value that is not a point is refused", () => {
  for (const point of [2, { activity: "a" }, { step: "a", nth: 1 }, { child: "a" }]) {
    checkCutPoint(point, "before");
  }
  const bad: readonly (readonly [unknown, string])[] = [
    [undefined, "before must be the number"],
    [null, "before must be the number"],
    ["activity", "before must be the number"],
    [{}, "before must be the number"],
    [{ activity: "a", step: "b" }, "before must be the number"],
    [{ nth: 1 }, "before must be the number"],
    [1, "before"],
    [2.5, "before"],
    [{ activity: "a", nth: 0 }, "nth of before"],
    [{ activity: "" }, "activity of before"],
    [{ activity: "a", name: "b" }, "name"],
  ];
  for (const [point, message] of bad) {
    expect(() => checkCutPoint(point, "before")).toThrow(message);
  }
});

test("repair.cut.1: the cut is before the outcome whose error ended the execution", () => {
  const error = new Error("declined");
  const failed = ranFailed(2, error);
  expect(cutOf(ran("a"), failed, ran("b"), ranDone(4), ended(failureOf(failed)))).toBe(3);
});

test("repair.cut.1: the cause of a wrapped error counts, also of a step, a child, a request and a message", () => {
  const error = new TypeError("deep");
  const refusal = { name: "AskError", message: "deep", code: "X" } as unknown as Failure;
  const calls: readonly (readonly [EventBody, EventBody])[] = [
    [ran("a"), ranFailed(2, error)],
    [stepped("s"), steppedFailed(2, error)],
    [called("c", "i::2"), calledFailed(2, error)],
    [ASK, { kind: "AskFailed", scheduled: 2, failure: refusal } as EventBody],
    [SEND, sendFailed(2)],
  ];
  for (const [call, outcome] of calls) {
    const wrapped = toFailure(new Error("outer"));
    const end = ended({ ...wrapped, cause: { ...wrapped, cause: failureOf(outcome) } });
    expect([call.kind, cutOf(call, outcome, received("later"), end)]).toEqual([call.kind, 3]);
  }
});

test("repair.cut.1: of several errors, the cut is before the first outcome", () => {
  const [one, two] = [ranFailed(2, new Error("one")), ranFailed(3, new Error("two"))];
  const all = { ...toFailure(new Error("all")), errors: [failureOf(two), failureOf(one)] };
  expect(cutOf(ran("a"), ran("b"), one, two, received("e"), ended(all))).toBe(4);
});

test("repair.cut.1: an earlier failure with the same text was handled and stays", () => {
  const failed = (scheduled: number) => ranFailed(scheduled, SAME);
  const bodies = [ran("a"), failed(2), ran("a"), failed(4)];
  expect(cutOf(...bodies, ended(failureOf(failed(4))))).toBe(5);
});
const SAME = new Error("same");

test("repair.cut.1: an outcome with another message, code, name or stack is not the cause", () => {
  const failure = { ...toFailure(new Error("x")), code: "C" };
  for (const change of [{ message: "y" }, { code: "D" }, { name: "Z" }, { stack: "other" }]) {
    const outcome = { ...ranFailed(2, new Error()), failure } as EventBody;
    const bodies = [ran("a"), outcome, received("e"), ended({ ...failure, ...change })];
    expect([change, cutOf(...bodies)]).toEqual([change, 4]);
  }
});

test("repair.cut.1: the refusal of a message is recognized by its message and code alone", () => {
  const refusal = failureOf(sendFailed(2));
  const thrown = { ...refusal, name: "Other", stack: "at line 1" };
  expect(cutOf(SEND, sendFailed(2), received("e"), ended(thrown))).toBe(3);
  expect(cutOf(SEND, sendFailed(2), received("e"), ended({ ...thrown, code: "Y" }))).toBe(4);
});

test("repair.cut.1: if the code itself threw, the cut is before the last event delivered to it", () => {
  const thrown = toFailure(new Error("bug"));
  expect(cutOf(ran("a"), ranDone(2), ran("b"), ended(thrown))).toBe(3);
  const mark = { kind: "PatchMarked", change: "c" } as const;
  expect(cutOf(ran("a"), ranDone(2), mark, ran("b"), ended(thrown))).toBe(3);
  expect(cutOf(ended(thrown))).toBe(2);
});

test("repair.cut.1: events that compensations received after the throw do not count", () => {
  const failed = ranFailed(2, new Error("x"));
  const bodies = [ran("a"), failed, ran("undo"), ranDone(4)];
  const thrown = toFailure(new Error("bug"));
  expect(cutOf(...bodies, ended(thrown, { thrownAfter: 3 }))).toBe(3);
  expect(cutOf(...bodies, ended(thrown))).toBe(5);
});

test("repair.cut.1: an attempt that failed is delivered, but is not a cause", () => {
  const attempt = stepAttemptFailed(2, 1, 5);
  expect(cutOf(stepped("s"), attempt, ended(failureOf(attempt)))).toBe(3);
  expect(cutOf(stepped("s"), attempt, received("e"), ended(failureOf(attempt)))).toBe(4);
});

test("repair.cut.1: sealed failures are opened before they are compared", () => {
  const sealed = (name: string) => ({ name, message: "sealed", sealed: "1" }) as unknown as Failure;
  const unseal = (failure: Failure): Failure =>
    (failure as { sealed?: string }).sealed === undefined
      ? failure
      : ({ name: "Error", message: "declined" } as unknown as Failure);
  const outcome = { ...ranFailed(2, new Error()), failure: sealed("one") } as EventBody;
  const events = historyOf(ran("a"), outcome, received("e"), ended(sealed("two")));
  expect(failureCut(events, null, unseal)).toBe(3);
  expect(failureCut(events, null, open)).toBe(4);
});

test("an execution that the engine ended for its configuration is cut before its end", () => {
  const failure = { ...toFailure(new Error("x")), category: "configuration" } as Failure;
  expect(cutOf(ran("a"), ranDone(2), ended(failure))).toBe(4);
});

test("repair.cut.2: a cancelled or terminated execution is cut before its cancel request, else before its end", () => {
  const failure = toFailure(new Error("x"));
  for (const outcome of ["cancelled", "terminated"] as const) {
    const end = ended(failure, { outcome });
    expect(cutOf(ran("a"), cancelRequested("stop"), ran("undo"), ranDone(4), end)).toBe(3);
    expect(cutOf(ran("a"), ranDone(2), end)).toBe(4);
  }
});

test("repair.cut.2: a blocked execution is cut before the event from which the code diverged", () => {
  const events = historyOf(ran("a"), ranDone(2));
  const block = (sequence?: number) => ({
    ...{ code: "NONDETERMINISM", message: "diverged" },
    ...(sequence === undefined ? {} : { sequence }),
  });
  const cut = (sequence?: number) => failureCut(events, block(sequence) as never, open);
  expect([cut(3), cut(2), cut(1)]).toEqual([3, 2, 2]);
  expect(() => cut()).toThrow("blocked (NONDETERMINISM), not at an event");
});

test("an instance that has not failed must be cut at a named point", () => {
  for (const bodies of [[], [ran("a")], [ran("a"), returned(1)]]) {
    expect(() => cutOf(...bodies)).toThrow("has not failed");
  }
});

test("outcomes and events are deliveries; commands, marks and ends are not", () => {
  const bodies = [ran("a"), ranDone(2), { kind: "PatchMarked", change: "c" }, returned(1)];
  const kinds = historyOf(...(bodies as EventBody[])).map(isDelivery);
  expect(kinds).toEqual([true, false, true, false, false]);
});

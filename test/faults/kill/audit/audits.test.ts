// The audits detect faults: each test shows an audit one fault of every kind that it must find.

import { expect, test } from "vitest";
import type { HistoryEvent } from "../../../../src/index.ts";
import { lostFaults } from "./ack-audit.ts";
import type { Acknowledged, Outcome } from "./ack-log.ts";
import { auditCrashers, type Described } from "./crasher-audit.ts";
import { crasherId } from "../crashers.ts";
import { historyFaults } from "./history-audit.ts";
import { jobOf, outcomeOf } from "../jobs.ts";
import { runFaults, type Call } from "./run-audit.ts";
import type { RunLine } from "./run-log.ts";

const right = outcomeOf("linear", jobOf(7));
const acknowledged: readonly Acknowledged[] = [
  { what: "start", id: "a", kind: "linear", seed: 7 },
  { what: "result", id: "a", outcome: right },
];
const audited = (stored: ReadonlyMap<string, Outcome>, lines = acknowledged): string[] =>
  lostFaults({ acknowledged: lines, own: [], stored }).map(({ kind }) => kind);

test("an acknowledged instance that is missing or has a different value counts as lost", () => {
  expect(audited(new Map([["a", right]]))).toEqual([]);
  expect(audited(new Map())).toEqual(["lost"]);
  expect(audited(new Map([["a", { value: 1 }]]))).toEqual(["lost"]);
  expect(audited(new Map([["a", { error: "failed" }]]))).toEqual(["lost"]);
});

test("a job that ended after too few acknowledged raises counts as lost", () => {
  const job = jobOf(7);
  const outcome = outcomeOf("mailbox", job);
  const lines: readonly Acknowledged[] = [
    { what: "start", id: "m", kind: "mailbox", seed: 7 },
    { what: "raise", id: "m", said: 1 },
    { what: "result", id: "m", outcome },
  ];
  expect(audited(new Map([["m", outcome]]), lines)).toEqual(["lost"]);
});

/** Only the fields of an event that the audit reads. */
const events = (...kinds: readonly (readonly [kind: string, scheduled?: number])[]) =>
  kinds.map(([kind, scheduled], index) => ({
    ...{ kind, sequence: index + 1, at: index },
    ...(scheduled === undefined ? {} : { scheduled }),
  })) as unknown as readonly HistoryEvent[];

test("a second outcome, end or start in a history counts as duplicated", () => {
  const kindsOf = (history: readonly HistoryEvent[]): string[] =>
    historyFaults(history).map(({ kind }) => kind);
  const begun = [
    ["OrchestrationStarted"],
    ["ActivityScheduled"],
    ["ActivityCompleted", 2],
  ] as const;
  expect(kindsOf(events(...begun, ["OrchestrationCompleted"]))).toEqual([]);
  expect(kindsOf(events(...begun, ["ActivityCompleted", 2], ["OrchestrationCompleted"]))).toEqual([
    "duplicated",
  ]);
  expect(kindsOf(events(...begun, ["OrchestrationCompleted"], ["OrchestrationCompleted"]))).toEqual(
    ["duplicated"],
  );
  expect(kindsOf(events(...begun, ["OrchestrationStarted"], ["OrchestrationCompleted"]))).toEqual([
    "duplicated",
  ]);
  expect(kindsOf(events(...begun))).toEqual(["unsound"]);
});

test("the run audit finds work that no history scheduled, and an attempt that ran twice", () => {
  const call: Call = { key: "k", kind: "activity", name: "work", instance: "a", recorded: 1 };
  const line: RunLine = {
    ...{ what: "begin", kind: "activity", name: "work", instance: "a", key: "k" },
    ...{ attempt: 1, pid: 1, at: 0 },
  };
  const end: RunLine = { ...line, what: "end" };
  const kindsOf = (calls: readonly Call[], lines: readonly RunLine[]): string[] =>
    runFaults(calls, lines).map(({ kind }) => kind);
  expect(kindsOf([call], [line, end])).toEqual([]);
  expect(kindsOf([call], [line, line, end])).toEqual(["duplicated"]);
  expect(kindsOf([call], [line])).toEqual(["unsound"]); // the history has an outcome, but no run ended
  expect(kindsOf([], [line, end])).toEqual(["unsound"]);
});

test("the crasher audit finds a crasher that is not quarantined, and a process that exited without a crasher", () => {
  const kindsOf = (id: string, described: Described, ended: readonly number[] = [1]): string[] => {
    const lines = [{ what: "crash", instance: id, pid: 1, at: 0 } as const];
    const { faults } = auditCrashers({ crashers: new Map([[id, described]]), lines, ended });
    return faults.map(({ kind }) => kind);
  };
  const quarantined = { status: "running", blocked: { code: "QUARANTINE" } };
  const turn = crasherId("turn", 0);
  expect(kindsOf(turn, quarantined)).toEqual([]);
  expect(kindsOf(turn, { status: "running" })).toEqual(["stuck"]);
  expect(kindsOf(turn, { status: "failed" })).toEqual(["ended"]);
  expect(kindsOf(turn, null)).toEqual(["lost"]);
  expect(kindsOf(turn, quarantined, [1, 2])).toEqual(["unsound"]);
  const activity = crasherId("activity", 1);
  expect(kindsOf(activity, { status: "completed", output: "poison" })).toEqual([]);
  expect(kindsOf(activity, { status: "completed", output: "timeout" })).toEqual(["ended"]);
  expect(kindsOf(activity, quarantined)).toEqual(["stuck"]);
});

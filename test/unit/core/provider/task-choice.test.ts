// Which of the waiting tasks that a store found are taken, in which order, and when the store is polled again
// (provider.tasks.2).

import { expect, test } from "vitest";
import { NEVER } from "../../../../src/core/provider/callbacks.ts";
import { QueueAdmission } from "../../../../src/core/provider/shared/queue-admission.ts";
import {
  chooseTasks,
  foundTasks,
  type Candidate,
} from "../../../../src/core/provider/shared/task-choice.ts";

let last = 0;
const candidate = (fields: Partial<Candidate> = {}): Candidate => ({
  instance: ++last,
  execution: 1,
  sequence: 2,
  session: null,
  suspect: false,
  runsAlone: false,
  rank: 0,
  ...fields,
});
const NONE = new Set<string>();

test("tasks are taken by rank, then by position, then by the call that scheduled them", () => {
  const ordered = [
    candidate({ rank: 1, instance: 9 }),
    candidate({ rank: 2, instance: 5, position: 1 }),
    candidate({ rank: 2, instance: 4, position: 2 }),
    candidate({ rank: 3, instance: 1 }),
    candidate({ rank: 3, instance: 2, execution: 1, sequence: 9 }),
    candidate({ rank: 3, instance: 2, execution: 2, sequence: 3 }),
    candidate({ rank: 3, instance: 2, execution: 2, sequence: 4 }),
  ];
  for (const shift of ordered.keys()) {
    const found = [...ordered.slice(shift), ...ordered.slice(0, shift)];
    expect(chooseTasks(found, { limit: 9 }, NONE, 0).takeable).toEqual(ordered);
    expect(chooseTasks(found.reverse(), { limit: 9 }, NONE, 0).takeable).toEqual(ordered);
  }
});

test("a task without a position is before those with one", () => {
  const [fair, plain] = [candidate({ position: 1 }), candidate()];
  expect(chooseTasks([fair, plain], { limit: 9 }, NONE, 0).takeable).toEqual([plain, fair]);
});

test("one task more than the limit shows that there are more", () => {
  const found = [1, 2, 3, 4].map((rank) => candidate({ rank }));
  const choice = chooseTasks([...found], { limit: 2 }, NONE, 0);
  expect(choice.takeable).toEqual(found.slice(0, 3));
  expect(foundTasks(choice, 2, [])).toEqual({
    waiting: found.slice(0, 2),
    more: true,
    nextAt: null,
  });
  expect(foundTasks(choice, 3, []).more).toBe(false);
});

test("new sessions are claimed in the order of their tasks, up to the given number", () => {
  const sessions = ["a", "b", "a", "held", "c", null, "b"];
  const found = sessions.map((session, rank) => candidate({ rank, session }));
  const taken = (newMax: number) => {
    const { takeable, served, isFull } = chooseTasks(
      [...found],
      { limit: 9 },
      new Set(["held"]),
      newMax,
    );
    return [takeable.map(({ session }) => session), [...served], isFull];
  };
  expect(taken(0)).toEqual([["held", null], ["held"], true]);
  expect(taken(1)).toEqual([["a", "a", "held", null], ["held", "a"], true]);
  expect(taken(2)).toEqual([["a", "b", "a", "held", null, "b"], ["held", "a", "b"], true]);
  expect(taken(3)).toEqual([sessions, ["held", "a", "b", "c"], false]);
});

test("a task that its queue holds back is skipped and claims no session", () => {
  const queue = (name: string) => ({ name, key: "", holdsSlot: false, isDeferred: false });
  const load = {
    ...{ name: "full", rule: { concurrency: 0 }, isPaused: false, running: 0 },
    ...{ runningByKey: new Map(), admitted: 0, admitsAgainAt: null, hasDeferred: false },
  };
  const admission = new QueueAdmission([load], { now: 0, enterWithinMs: 0 });
  const held = candidate({ rank: 1, session: "s", queued: queue("full") });
  const free = candidate({ rank: 2, session: "t", queued: queue("free") });
  const plain = candidate({ rank: 3 });
  const choice = chooseTasks([held, free, plain], { limit: 9 }, NONE, 1, admission);
  expect([choice.takeable, [...choice.served], choice.isFull]).toEqual([
    [free, plain],
    ["t"],
    false,
  ]);
  expect(chooseTasks([held], { limit: 9 }, NONE, 1).takeable).toEqual([held]); // no rule applies
});

test("the next poll is when the earliest part of the queue comes due", () => {
  const choice = chooseTasks<Candidate>([], { limit: 1 }, NONE, 0);
  const nextAt = (...times: readonly (number | null)[]) =>
    foundTasks(
      choice,
      1,
      times.map((at) => ({ nextAt: at })),
    ).nextAt;
  expect([nextAt(), nextAt(null), nextAt(NEVER), nextAt(NEVER + 1)]).toEqual(Array(4).fill(null));
  expect(nextAt(9, null, 5, NEVER, 7)).toBe(5);
});

test("at most 16 suspects are taken together, and those behind them do not overtake", () => {
  const together = Array.from({ length: 20 }, (_, rank) => candidate({ rank, suspect: true }));
  const plain = candidate({ rank: 30 });
  const taken = (suspectsHeld: number) =>
    chooseTasks([...together, plain], { limit: 40, suspectsHeld }, NONE, 0).takeable;
  expect(taken(0)).toEqual([...together.slice(0, 16), plain]);
  expect(taken(15)).toEqual([...together.slice(0, 1), plain]);
  expect(taken(16)).toEqual([plain]);
});

test("a suspect that runs alone is taken only if it is the first one and none is held", () => {
  const alone = candidate({ rank: 1, suspect: true, runsAlone: true });
  const together = (rank: number) => candidate({ rank, suspect: true });
  const taken = (found: Candidate[], suspectsHeld = 0) =>
    chooseTasks(found, { limit: 9, suspectsHeld }, NONE, 0).takeable.map(({ rank }) => rank);
  expect(taken([alone, together(2)])).toEqual([1]);
  expect(taken([together(0), alone, together(2)])).toEqual([0]);
  expect(taken([alone, together(2)], 1)).toEqual([]);
});

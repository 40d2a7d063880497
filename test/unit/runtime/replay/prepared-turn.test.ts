// When a turn releases the lease, and when a lease with an expiry time is renewed.

import { expect, test } from "vitest";
import { OpenTasks, type OpenTask } from "../../../../src/core/replay/open-task.ts";
import type { Run } from "../../../../src/core/replay/run.ts";
import { shouldRelease } from "../../../../src/runtime/replay/prepared-turn.ts";
import { LeaseRenewal } from "../../../../src/runtime/instances/lease-renewal.ts";

const ENDED = { kind: "OrchestrationCompleted" };
const CONTINUED = { kind: "OrchestrationContinuedAsNew" };
const STEP = { kind: "step" };
const timer = (due: number) => ({ kind: "timer", due });

test("a turn releases the lease when the instance has nothing to wait for in this runtime", () => {
  const usual = { stopping: false, stickyCacheMax: 9, soon: 100 };
  const none = { ...usual, stickyCacheMax: 0 };
  const stopping = { ...usual, stopping: true };
  const table: [object | null, readonly object[], typeof usual, boolean][] = [
    [ENDED, [], usual, true],
    [ENDED, [STEP], usual, true],
    [null, [STEP], usual, false],
    [null, [STEP], none, false],
    [null, [STEP], stopping, false],
    [CONTINUED, [], usual, false],
    [CONTINUED, [STEP], none, true],
    [CONTINUED, [], stopping, true],
    [null, [{ kind: "activity" }], usual, false],
    [null, [{ kind: "activity" }], none, true],
    [null, [{ kind: "activity" }], stopping, true],
    [null, [{ kind: "activity", due: 999 }], usual, false],
    [null, [timer(100)], usual, false],
    [null, [timer(101)], usual, true],
    [null, [timer(101), timer(99)], usual, false],
    [null, [timer(101), timer(102)], usual, true],
    [null, [], usual, true],
  ];
  for (const [ended, open, rule, expected] of table) {
    const openTasks = new OpenTasks();
    for (const [sequence, task] of open.entries()) openTasks.add({ ...task, sequence } as OpenTask);
    const run = { ended, openTasks } as unknown as Run;
    expect([ended, open, rule, shouldRelease(run, rule)]).toEqual([ended, open, rule, expected]);
  }
});

const LEASES = [
  { key: 6, token: 60 },
  { key: 7, token: 70 },
];

function renewal(options: object) {
  const calls: unknown[] = [];
  const lost: unknown[] = [];
  const made = new LeaseRenewal({
    provider: {
      renewInstances: async (...args: unknown[]) => (calls.push(["instances", ...args]), [7]),
      renewTasks: async (...args: unknown[]) => (calls.push(["tasks", ...args]), ["claim"]),
    },
    options,
    heldInstances: { leases: LEASES, loseLease: (lease: unknown) => void lost.push(lease) },
    activities: { claims: ["claim"], lose: (claim: unknown) => void lost.push(claim) },
  } as never);
  return { made, calls, lost };
}

test("RN1: leases are renewed after a third of the shorter lease time, or renewBufferMs before its end", () => {
  const table: [object, number | null][] = [
    [{}, null],
    [{ renewBufferMs: 5 }, null],
    [{ instanceLeaseMs: 300 }, 100],
    [{ taskLeaseMs: 300 }, 100],
    [{ instanceLeaseMs: 300, taskLeaseMs: 600 }, 100],
    [{ instanceLeaseMs: 600, taskLeaseMs: 300 }, 100],
    [{ instanceLeaseMs: 300, renewBufferMs: 50 }, 250],
    [{ instanceLeaseMs: 300, renewBufferMs: 299 }, 10],
  ];
  for (const [options, everyMs] of table) {
    expect([options, renewal(options).made.everyMs]).toEqual([options, everyMs]);
  }
});

test("RN1, lease-renewal.1: leases are renewed at their time and not before; a lost lease is dropped", async () => {
  const { made, calls, lost } = renewal({ instanceLeaseMs: 300, taskLeaseMs: 450 });
  await made.tick(99);
  expect(calls).toEqual([]);
  await made.tick(100);
  const both = [
    ["instances", LEASES, 300],
    ["tasks", ["claim"], 450],
  ];
  expect(calls).toEqual(both);
  expect(lost).toEqual([LEASES[1], "claim"]);
  await made.tick(199);
  expect(calls).toEqual(both);
  await made.tick(200);
  expect(calls).toEqual([...both, ...both]);
});

test("only leases with an expiry time are renewed", async () => {
  const instances = renewal({ instanceLeaseMs: 300 });
  await instances.made.tick(1_000);
  expect(instances.calls).toEqual([["instances", LEASES, 300]]);
  const tasks = renewal({ taskLeaseMs: 300 });
  await tasks.made.tick(1_000);
  expect(tasks.calls).toEqual([["tasks", ["claim"], 300]]);
  const none = renewal({});
  await none.made.tick(1_000);
  expect(none.calls).toEqual([]);
});

// Renewal of leases that expire: when, which leases, and what happens to those that are lost (lease-renewal.1).

import { expect, test } from "vitest";
import { LeaseRenewal } from "../../../../src/runtime/instances/lease-renewal.ts";

interface Options {
  readonly instanceLeaseMs?: number;
  readonly taskLeaseMs?: number;
  readonly renewBufferMs?: number;
}

const LEASES = [
  { key: 1, token: 10 },
  { key: 2, token: 20 },
];
const CLAIMS = [{ sequence: 1 }, { sequence: 2 }];

/** A renewal over a store that has lost the second instance and the first task. */
function setup(options: Options) {
  const calls: unknown[][] = [];
  const note =
    (name: string, answer: unknown) =>
    async (...args: unknown[]) => {
      calls.push([name, ...args]);
      return answer;
    };
  const renewal = new LeaseRenewal({
    options,
    provider: {
      renewInstances: note("renew instances", [2]),
      renewTasks: note("renew tasks", [CLAIMS[0]]),
    },
    heldInstances: {
      leases: LEASES,
      loseLease: (lease: unknown) => void calls.push(["lost instance", lease]),
    },
    activities: { claims: CLAIMS, lose: (claim: unknown) => void calls.push(["lost task", claim]) },
  } as never);
  return { renewal, calls };
}

test("leases are renewed after a third of the shortest lease, or the given time before its end", () => {
  const everyOf = (options: Options) => setup(options).renewal.everyMs;
  expect(everyOf({})).toBeNull();
  expect(everyOf({ renewBufferMs: 100 })).toBeNull();
  expect(everyOf({ instanceLeaseMs: 9_000 })).toBe(3_000);
  expect(everyOf({ taskLeaseMs: 6_000 })).toBe(2_000);
  expect(everyOf({ instanceLeaseMs: 9_000, taskLeaseMs: 6_000 })).toBe(2_000);
  expect(everyOf({ instanceLeaseMs: 3_000, taskLeaseMs: 6_000 })).toBe(1_000);
  expect(everyOf({ instanceLeaseMs: 9_000, renewBufferMs: 2_000 })).toBe(7_000);
  expect(everyOf({ instanceLeaseMs: 9_000, renewBufferMs: 9_000 })).toBe(10);
});

test("without leases that expire, nothing is renewed", async () => {
  const { renewal, calls } = setup({});
  await renewal.tick(1_000_000);
  expect(calls).toEqual([]);
});

test("lease-renewal.1: a lost instance is dropped, and a lost task is given up", async () => {
  const { renewal, calls } = setup({ instanceLeaseMs: 9_000, taskLeaseMs: 6_000 });
  await renewal.tick(1_000_000);
  expect(calls).toEqual([
    ["renew instances", LEASES, 9_000],
    ["lost instance", LEASES[1]],
    ["renew tasks", CLAIMS, 6_000],
    ["lost task", CLAIMS[0]],
  ]);
});

test("only leases with an expiry time are renewed", async () => {
  const instances = setup({ instanceLeaseMs: 9_000 });
  await instances.renewal.tick(1_000_000);
  expect(instances.calls.map(([name]) => name)).toEqual(["renew instances", "lost instance"]);
  const tasks = setup({ taskLeaseMs: 9_000 });
  await tasks.renewal.tick(1_000_000);
  expect(tasks.calls.map(([name]) => name)).toEqual(["renew tasks", "lost task"]);
});

test("a renewal is due once per interval, to the millisecond", async () => {
  const { renewal, calls } = setup({ instanceLeaseMs: 9_000 });
  const renewals = () => calls.filter(([name]) => name === "renew instances").length;
  const counts: number[] = [];
  for (const now of [2_999, 3_000, 3_001, 5_999, 6_000, 8_999, 20_000, 22_999, 23_000]) {
    await renewal.tick(now);
    counts.push(renewals());
  }
  expect(counts).toEqual([0, 1, 1, 1, 2, 2, 3, 3, 4]);
});

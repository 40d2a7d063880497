// A user's own workload: the simulation finds mistakes that only show when a process dies.

import { expect, test } from "vitest";
import { activity, orchestration } from "../../../src/index.ts";
import { simulate, workloadOf, type OwnWorkload } from "../../../src/testing/simulation/index.ts";

/** A bank that debits once per idempotency key, or once per call. */
function transfers(isIdempotent: boolean): OwnWorkload {
  let applied: string[] = [];
  return {
    register(process) {
      const debit = activity("debit", async (cents: number, { idempotencyKey }) => {
        const key = isIdempotent ? idempotencyKey : `${idempotencyKey} ${applied.length}`;
        if (!applied.includes(key)) applied.push(key);
        await process.sleep(2 * process.unitMs); // the reply is in flight
        return cents;
      });
      const transfer = orchestration("transfer", async (ctx, cents: number) => {
        const paid = await ctx.run("debit", cents);
        await ctx.sleep("10s");
        return paid;
      });
      return [debit, transfer];
    },
    async drive({ client, random, sleep, unitMs }) {
      applied = [];
      for (let i = 0; i < 10; i++) {
        await client.start("transfer", i, { id: `transfer-${i}` });
        await sleep(random.below(3 * unitMs));
      }
    },
    async check({ client }) {
      for (let i = 0; i < 10; i++) {
        expect(await client.get(`transfer-${i}`).result({ timeout: 0 })).toBe(i);
      }
      if (applied.length !== 10) throw new Error(`${applied.length} debits for 10 transfers`);
    },
  };
}

test("money is debited once with an idempotency key, whatever goes wrong", async () => {
  const report = await simulate({ workload: workloadOf(transfers(true)), seeds: 25 });
  expect(report.failures).toEqual([]);
  expect(report.landed.get("crash") ?? 0).toBeGreaterThan(0);
});

test("without an idempotency key the simulation finds the double debit", async () => {
  const report = await simulate({
    workload: workloadOf(transfers(false)),
    seeds: 30,
    faults: ["crash"],
    stopAtFailure: true,
  });
  expect(report.failures[0]?.violations[0]?.what).toMatch(/1[1-9] debits for 10 transfers/);
});

test("an instance that never ends counts as stuck, unless mayWait allows it", async () => {
  const waiting: OwnWorkload = {
    register: () => [orchestration("waiting", async (ctx) => ctx.waitFor("never"))],
    drive: async ({ client }) => void (await client.start("waiting", undefined, { id: "w" })),
    longestMs: 0,
  };
  const options = { seeds: 1, faults: [], repeatEvery: 0 };
  const stuck = await simulate({ workload: workloadOf(waiting), ...options });
  expect(stuck.failures[0]?.violations[0]).toMatchObject({ invariant: "stuck" });
  const patient = { ...waiting, mayWait: () => true };
  const report = await simulate({ workload: workloadOf(patient), ...options });
  expect(report.failures).toEqual([]);
});

test("a simulation leaves no globals and no listeners behind in the host", async () => {
  const before = { date: Date, listeners: process.listenerCount("unhandledRejection") };
  await simulate({ workload: workloadOf(transfers(true)), seeds: 3, faults: ["crash"] });
  expect(Date).toBe(before.date);
  expect(process.listenerCount("unhandledRejection")).toBe(before.listeners);
});

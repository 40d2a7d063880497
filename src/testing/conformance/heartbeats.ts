// Heartbeats: details of a running attempt, kept for the next one (semantics 11).

import { expect } from "vitest";
import type { ContractSubject } from "./contract-case.ts";
import { ALPHA, BETA, outcomeText } from "./fixture.ts";

export const heartbeats: ContractSubject = {
  subject: "heartbeats",
  cases: [
    {
      title: "a first attempt is leased without details",
      async run(setup) {
        await setup.schedule(await setup.hold("a"));
        expect((await setup.leaseOneTask()).heartbeat).toBeNull();
      },
    },
    {
      title: "the last details are handed to the next attempt",
      async run(setup) {
        await setup.schedule(await setup.hold("a"));
        const task = await setup.leaseOneTask();
        for (const details of ['{"row":1}', '{"row":2}']) {
          expect(await setup.provider.heartbeatTasks([{ task, details }])).toEqual([]);
        }
        await setup.commit({ kind: "retry", task, delayMs: 0, failure: "{}" });
        expect((await setup.leaseOneTask()).heartbeat).toBe('{"row":2}');
      },
    },
    {
      title: "details that come with a retry replace those that were written",
      async run(setup) {
        await setup.schedule(await setup.hold("a"));
        const task = await setup.leaseOneTask();
        await setup.provider.heartbeatTasks([{ task, details: "1" }]);
        const retry = { kind: "retry", task, delayMs: 0, failure: "{}", heartbeat: "2" } as const;
        expect(await setup.commit(retry)).toEqual({ kind: "done" });
        expect((await setup.leaseOneTask()).heartbeat).toBe("2");
      },
    },
    {
      title: "an attempt without details leaves those of the attempt before it",
      async run(setup) {
        await setup.schedule(await setup.hold("a"));
        const first = await setup.leaseOneTask();
        const heartbeat = "1";
        await setup.commit({ kind: "retry", task: first, delayMs: 0, failure: "{}", heartbeat });
        const second = await setup.leaseOneTask();
        await setup.commit({ kind: "retry", task: second, delayMs: 0, failure: "{}" });
        expect((await setup.leaseOneTask()).heartbeat).toBe("1");
      },
    },
    {
      title: "details outlive a task that is handed back",
      async run(setup) {
        await setup.schedule(await setup.hold("a"));
        const task = await setup.leaseOneTask();
        await setup.provider.heartbeatTasks([{ task, details: "1" }]);
        await setup.commit({ kind: "releaseTask", task });
        expect(await setup.leaseOneTask(ALPHA)).toMatchObject({ heartbeat: "1", attempt: 0 });
      },
    },
    {
      title: "details outlive the death of the runtime that gave them",
      async run(setup) {
        await setup.schedule(await setup.hold("a"));
        const task = await setup.leaseOneTask(BETA);
        await setup.provider.heartbeatTasks([{ task, details: "1" }]);
        await setup.provider.expireRuntime({ id: BETA, staleMs: null });
        const again = await setup.leaseOneTask(ALPHA, { allowSuspect: true });
        expect(again).toMatchObject({ heartbeat: "1", deaths: 1 });
      },
    },
    {
      title: "a claim that does not hold any more is told and changes nothing (K1)",
      async run(setup) {
        await setup.schedule(await setup.hold("a"));
        const old = await setup.leaseOneTask();
        await setup.commit({ kind: "retry", task: old, delayMs: 0, failure: "{}" });
        const task = await setup.leaseOneTask();
        const lost = await setup.provider.heartbeatTasks([
          { task: old, details: "late" },
          { task, details: "mine" },
        ]);
        expect(lost.map((claim) => claim.token)).toEqual([old.token]);
        await setup.commit({ kind: "retry", task, delayMs: 0, failure: "{}" });
        expect((await setup.leaseOneTask()).heartbeat).toBe("mine");
      },
    },
    {
      title: "a task that is over is told as lost",
      async run(setup) {
        await setup.schedule(await setup.hold("a"));
        const task = await setup.leaseOneTask();
        const outcome = outcomeText(task.sequence);
        await setup.commit({ kind: "completion", task, outcome });
        const lost = await setup.provider.heartbeatTasks([{ task, details: "1" }]);
        expect(lost).toHaveLength(1);
        expect(await setup.provider.heartbeatTasks([])).toEqual([]);
      },
    },
  ],
};

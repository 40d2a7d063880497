// Contract of the figures of queues: waiting, running and delayed tasks, recent outcomes, and keys.

import { expect } from "vitest";
import { JOB_VERSION } from "../../../core/ids/semver.ts";
import type { QueueFigures } from "../../../core/provider/index.ts";
import type { ContractSubject } from "../contract-case.ts";
import { CHARGE, failedText } from "../fixture.ts";
import { jobStart } from "../jobs/job-items.ts";
import type { Setup } from "../setup.ts";
import { completeAll, queueKeys, rule, SHIP, take, times } from "./queue-steps.ts";

const NONE = { completed: 0, failed: 0, retried: 0 };

async function figures(setup: Setup, name = CHARGE): Promise<QueueFigures | undefined> {
  return (await setup.provider.readQueueFigures()).find((each) => each.name === name);
}

export const queueFigures: ContractSubject = {
  subject: "figures of queues",
  cases: [
    {
      title: "the figures count waiting, running and delayed tasks over all tags and priorities",
      async run(setup) {
        expect(await setup.provider.readQueueFigures()).toEqual([]);
        const at = setup.environment.now();
        await setup.holdTasks("a", 5, (index) => ({ priority: index, tags: [`t${index}`] }));
        await setup.holdTask("b", { name: SHIP });
        await setup.environment.advance(10);
        const [first, second] = await take(setup, 2);
        if (first === undefined || second === undefined) throw new Error("Two tasks are due.");
        await setup.commit({ kind: "retry", task: first, delayMs: 1_000, failure: "{}" });
        expect(await setup.provider.readQueueFigures()).toEqual([
          {
            name: CHARGE,
            waiting: 3,
            running: 1,
            delayed: 1,
            oldestAvailableAt: at,
            recent: NONE,
            failedJobs: 0,
          },
          {
            name: SHIP,
            waiting: 1,
            running: 0,
            delayed: 0,
            oldestAvailableAt: at,
            recent: NONE,
            failedJobs: 0,
          },
        ]);
        await completeAll(setup, [second]);
        expect(await figures(setup)).toMatchObject({ waiting: 3, running: 0, delayed: 1 });
      },
    },
    {
      title:
        "a job that begins later counts as delayed, then as waiting, and an orchestration does not",
      async run(setup) {
        const { environment } = setup;
        const at = environment.now();
        await setup.commit(jobStart({ id: "a" }));
        await setup.commit(jobStart({ id: "b", delayMs: 1_000 }));
        await setup.start("c", { name: CHARGE, delayMs: 1_000 });
        expect(await figures(setup)).toMatchObject({ waiting: 1, delayed: 1 });
        await environment.advance(1_000);
        const counts = { waiting: 2, running: 0, delayed: 0, oldestAvailableAt: at };
        expect(await figures(setup)).toMatchObject(counts);
      },
    },
    {
      title: "a queue with a rule or a pause has a row without tasks",
      async run(setup) {
        await rule(setup, { concurrency: 1 });
        await setup.provider.pauseQueue(SHIP, '{"at":1}');
        const names = (await setup.provider.readQueueFigures()).map(({ name }) => name);
        expect(names).toEqual([CHARGE, SHIP]);
        expect(await figures(setup)).toMatchObject({ waiting: 0, oldestAvailableAt: null });
      },
    },
    {
      title: "reports of outcomes are summed for a minute",
      async run(setup) {
        const { provider, environment } = setup;
        const report = { name: CHARGE, completed: 3, failed: 2, retried: 1 };
        await provider.reportOutcomes([report, { ...report, name: SHIP }]);
        await provider.reportOutcomes([report]);
        await environment.advance(30_000);
        await provider.reportOutcomes([{ ...report, failed: 0 }]);
        await provider.reportOutcomes([]);
        expect((await figures(setup))?.recent).toEqual({ completed: 9, failed: 4, retried: 3 });
        expect((await figures(setup, SHIP))?.recent).toEqual({
          completed: 3,
          failed: 2,
          retried: 1,
        });
        await environment.advance(30_000);
        expect((await figures(setup))?.recent).toEqual({ completed: 3, failed: 0, retried: 1 });
        await environment.advance(30_000);
        expect(await provider.readQueueFigures()).toEqual([]);
      },
    },
    {
      title: "failed jobs are counted by name, and failed orchestrations are not",
      async run(setup) {
        for (const [id, version] of [
          ["job", JOB_VERSION],
          ["flow", "1.0.0"],
        ] as const) {
          const held = await setup.hold(id, { name: CHARGE, version });
          const error = failedText("failed");
          await setup.turn(held, {
            events: [error],
            change: { kind: "ended", status: "failed", output: null, error },
          });
        }
        expect(await figures(setup)).toMatchObject({ name: CHARGE, failedJobs: 1, waiting: 0 });
      },
    },
    {
      title: "the keys with the most waiting tasks come first",
      async run(setup) {
        await queueKeys(setup, "a", ["x", ...times(3, "y"), "z", "z"]);
        await setup.holdTask("b", { name: SHIP, queueKey: "other" });
        await take(setup, 1);
        const { provider } = setup;
        expect(await provider.readQueueKeys(CHARGE, 10)).toEqual([
          { key: "y", waiting: 3, running: 0 },
          { key: "z", waiting: 2, running: 0 },
        ]);
        await take(setup, 1);
        expect(await provider.readQueueKeys(CHARGE, 1)).toEqual([
          { key: "y", waiting: 2, running: 1 },
        ]);
      },
    },
  ],
};

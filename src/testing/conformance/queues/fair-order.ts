// Contract of fair order: weighted round robin over the keys of a queue.

import { expect } from "vitest";
import type { ContractSubject } from "../contract-case.ts";
import { CHARGE } from "../fixture.ts";
import type { Setup } from "../setup.ts";
import { completeAll, queueKeys, rule, take, takeKeys, times } from "./queue-steps.ts";

const even = (): number => 1;

/** Leases and completes tasks, and returns their keys in order. */
async function serve(setup: Setup, requests: number, limit: number): Promise<string[]> {
  const keys: string[] = [];
  for (let request = 0; request < requests; request += 1) {
    const tasks = await take(setup, limit);
    keys.push(...tasks.map(({ queueKey }) => queueKey ?? ""));
    await completeAll(setup, tasks);
  }
  return keys;
}

function count(keys: readonly string[], key: string): number {
  return keys.filter((each) => each === key).length;
}

export const fairOrder: ContractSubject = {
  subject: "fair order of queues",
  cases: [
    {
      title: "keys take turns, and the tasks of one key stay in order (provider.queues.4)",
      async run(setup) {
        await rule(setup, { fair: true });
        await queueKeys(setup, "a", [...times(3, "x"), ...times(2, "y"), "z"], even);
        const tasks = [...(await take(setup, 4)), ...(await take(setup, 4))];
        expect(tasks.map(({ queueKey }) => queueKey)).toEqual(["x", "y", "z", "x", "y", "x"]);
        const ofX = tasks.filter(({ queueKey }) => queueKey === "x");
        expect(ofX.map(({ sequence }) => sequence)).toEqual([2, 3, 4]);
      },
    },
    {
      title: "a backlog of one key does not delay the tasks of another key (provider.queues.4)",
      async run(setup) {
        await rule(setup, { fair: true });
        await queueKeys(setup, "a", times(800, "big"), even);
        await serve(setup, 3, 10);
        await setup.environment.advance(1_000);
        await queueKeys(setup, "b", times(10, "small"), even);
        const keys = await serve(setup, 4, 10);
        expect(count(keys, "small")).toBe(10);
        expect(count(keys.slice(0, 21), "small")).toBeGreaterThanOrEqual(9);
      },
    },
    {
      title: "keys get shares by weight while all have tasks (provider.queues.4)",
      async run(setup) {
        await rule(setup, { fair: true });
        const weights = new Map([
          ["one", 1],
          ["two", 2],
          ["five", 5],
          ["half", 0.5],
        ]);
        for (const [key, weight] of weights) {
          await queueKeys(setup, key, times(Math.ceil(20 + 125 * weight), key), () => weight);
          await setup.environment.advance(1);
        }
        const keys = await serve(setup, 43, 24);
        for (const from of [0, 15, 30]) {
          const window = keys.slice(from, from + 1_000);
          for (const [key, weight] of weights) {
            const share = (count(window, key) / window.length) * 100;
            expect(Math.abs(share - (weight / 8.5) * 100), `share of ${key}`).toBeLessThan(5);
          }
        }
      },
    },
    {
      title: "a key gets no extra share for the time in which it had no tasks (provider.queues.4)",
      async run(setup) {
        await rule(setup, { fair: true });
        await queueKeys(setup, "a", ["late", ...times(150, "early")], even);
        await serve(setup, 10, 10);
        await queueKeys(setup, "b", times(100, "late"), even);
        const keys = await serve(setup, 4, 10);
        expect(Math.abs(count(keys, "late") - count(keys, "early"))).toBeLessThanOrEqual(2);
      },
    },
    {
      title:
        "fair order holds within one priority, and priorities keep their order (provider.queues.4)",
      async run(setup) {
        await rule(setup, { fair: true });
        const weighted = (key: string, priority: number) => ({
          queueKey: key,
          weight: 1,
          priority,
        });
        await setup.holdTasks("a", 100, () => weighted("x", 1));
        await setup.holdTasks("b", 5, () => weighted("x", 3));
        await serve(setup, 8, 10); // the virtual time of the higher priority advances
        await setup.holdTasks("c", 2, () => weighted("y", 3));
        await setup.holdTasks("d", 2, () => weighted("y", 1));
        const tasks = await take(setup, 100);
        const order = tasks.map(({ queueKey, priority }) => `${queueKey}${priority}`);
        expect(order.slice(0, 22).toSorted()).toEqual([...times(20, "x1"), "y1", "y1"]);
        expect(order.slice(0, 5)).toContain("y1");
        expect(order.slice(22)).toEqual(["x3", "y3", "x3", "y3", "x3", "x3", "x3"]);
      },
    },
    {
      title:
        "a task without a weight has the weight 1, and tasks without a key count as one key (provider.queues.4)",
      async run(setup) {
        await setup.holdTasks("a", 4);
        await queueKeys(setup, "b", times(4, "x"));
        await rule(setup, { fair: true });
        await queueKeys(setup, "c", times(4, "y"), () => 2);
        const keys = await takeKeys(setup, 8);
        expect([count(keys, ""), count(keys, "x"), count(keys, "y")]).toEqual([2, 2, 4]);
      },
    },
    {
      title: "a retry takes its turn again, after its delay (provider.queues.4)",
      async run(setup) {
        await rule(setup, { fair: true });
        await queueKeys(setup, "a", [...times(3, "x"), ...times(3, "y")], even);
        const [first] = await take(setup, 2);
        if (first === undefined) throw new Error("A task must be due.");
        await setup.commit({ kind: "retry", task: first, delayMs: 1_000, failure: "{}" });
        expect(await takeKeys(setup, 10)).toEqual(["x", "y", "x", "y"]);
        await setup.environment.advance(1_000);
        const [again] = await take(setup, 10);
        expect(again).toMatchObject({ sequence: first.sequence, attempt: 1 });
      },
    },
    {
      title: "fair order and limits hold together (provider.queues.4, provider.queues.2)",
      async run(setup) {
        await rule(setup, { fair: true, perKey: 2, concurrency: 5 });
        await queueKeys(setup, "a", [...times(300, "x"), ...times(3, "y"), ...times(3, "z")], even);
        const tasks = await take(setup, 10);
        expect(tasks.map(({ queueKey }) => queueKey)).toEqual(["x", "y", "z", "x", "y"]);
        const { nextAt } = await setup.leaseTasks();
        expect(nextAt).toBe(setup.environment.now() + 50);
        await completeAll(setup, tasks.slice(0, 1));
        expect(await takeKeys(setup, 10)).toEqual(["z"]);
        await completeAll(setup, tasks.slice(1, 2));
        expect(await takeKeys(setup, 10)).toEqual(["x"]);
      },
    },
    {
      title: "delayed retries of many keys do not hide due tasks (provider.queues.5)",
      async run(setup) {
        await rule(setup, { fair: true });
        const keys = Array.from({ length: 300 }, (_, index) => `k${index}`);
        await queueKeys(setup, "a", keys, even);
        const tasks = await take(setup, 300);
        await setup.provider.commit(
          tasks.map((task) => ({ kind: "retry", task, delayMs: 60_000, failure: "{}" })),
        );
        await queueKeys(setup, "b", ["z"], even);
        expect(await takeKeys(setup, 10)).toEqual(["z"]);
        const { nextAt } = await setup.leaseTasks();
        expect(nextAt).toBe(setup.environment.now() + 60_000);
      },
    },
    {
      title: "the end of fair order restores the order of time (provider.queues.1)",
      async run(setup) {
        await rule(setup, { fair: true });
        await queueKeys(setup, "a", [...times(4, "x"), ...times(2, "y")], even);
        expect(await takeKeys(setup, 2)).toEqual(["x", "y"]);
        await rule(setup, null);
        expect(await takeKeys(setup, 3, { names: [CHARGE] })).toEqual(["x", "x", "x"]);
      },
    },
  ],
};

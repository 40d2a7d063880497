// What a commit to SQLite notifies its own process of, beyond the contract: each hint spares a process a poll
// (notifications.2).

import { expect } from "vitest";
import type { News } from "../../../src/core/provider/index.ts";
import { registerCases } from "../../../src/testing/conformance/index.ts";
import {
  ALPHA,
  claimOf,
  eventText,
  outcomeText,
  sendItem,
  stateChange,
} from "../../../src/testing/conformance/fixture.ts";
import type { Setup } from "../../../src/testing/conformance/setup.ts";
import { IN_MEMORY, openInMemory } from "../../stores/conformance/sqlite-store.ts";

async function newsOf(setup: Setup, act: () => Promise<unknown>): Promise<readonly News[]> {
  const heard: News[] = [];
  const unsubscribe = setup.provider.subscribe((news) => heard.push(news));
  await act();
  await setup.environment.settle();
  unsubscribe();
  return heard;
}
const due = (heard: readonly News[]) => heard.flatMap((news) => news.due);
const changed = (heard: readonly News[]) => heard.flatMap((news) => news.changed);
const tasks = (heard: readonly News[]) => heard.some((news) => news.tasks);

registerCases(
  {
    subject: "notifications of SQLite",
    cases: [
      {
        title: "an instance that is released with due messages is reported as due",
        async run(setup) {
          const { key, token } = await setup.hold("a");
          await setup.commit(sendItem({ id: "a" }));
          const release = { kind: "releaseInstance", key, token } as const;
          expect(due(await newsOf(setup, () => setup.commit(release)))).toEqual(["a"]);
        },
      },
      {
        title: "an instance that is released without due messages is not reported",
        async run(setup) {
          const held = await setup.hold("a");
          await setup.turn(held, { events: [eventText()] });
          const release = { kind: "releaseInstance", key: held.key, token: held.token } as const;
          expect(due(await newsOf(setup, () => setup.commit(release)))).toEqual([]);
        },
      },
      {
        title: "a turn that releases its instance reports it if a message arrived meanwhile",
        async run(setup) {
          const held = await setup.hold("a");
          await setup.commit(sendItem({ id: "a" }));
          const turn = () => setup.turn(held, { events: [eventText()], release: true });
          expect(due(await newsOf(setup, turn))).toEqual(["a"]);
          const idle = await setup.hold("idle");
          const quiet = () => setup.turn(idle, { events: [eventText()], release: true });
          expect(due(await newsOf(setup, quiet))).toEqual([]);
        },
      },
      {
        title:
          "a task is reported when it waits again: for a retry, and when a worker hands it back",
        async run(setup) {
          await setup.holdTask("a");
          const task = await setup.leaseOneTask();
          const retry = { kind: "retry", task, delayMs: 0, failure: "{}" } as const;
          expect(tasks(await newsOf(setup, () => setup.commit(retry)))).toBe(true);
          const again = await setup.leaseOneTask();
          const release = { kind: "releaseTask", task: again } as const;
          expect(tasks(await newsOf(setup, () => setup.commit(release)))).toBe(true);
          expect(tasks(await newsOf(setup, () => setup.commit(release)))).toBe(false);
        },
      },
      {
        title: "a task that a turn leases to its own runtime is not reported as waiting",
        async run(setup) {
          const held = await setup.hold("a");
          const lease = { owner: ALPHA, token: 5 };
          const heard = await newsOf(setup, () => setup.schedule(held, { lease }));
          expect(tasks(heard)).toBe(false);
        },
      },
      {
        title:
          "a task that a turn cancels, or that ends with its instance, wakes its workers' checks",
        async run(setup) {
          const held = await setup.hold("a");
          const task = await setup.schedule(held);
          const turn = () =>
            setup.turn(held, { events: [eventText()], cancelledTasks: [task.sequence] });
          expect(await newsOf(setup, turn)).toHaveLength(1);
          const without = () => setup.turn(held, { events: [eventText()], cancelledTasks: [99] });
          expect(await newsOf(setup, without)).toEqual([]);
        },
      },
      {
        title: "a turn that changes the visible state is reported, another turn is not",
        async run(setup) {
          const held = await setup.hold("a");
          const state = stateChange({ status: { value: '"busy"' } });
          const turn = () => setup.turn(held, { events: [eventText()], state });
          expect(changed(await newsOf(setup, turn))).toEqual(["a"]);
          const plain = () => setup.turn(held, { events: [eventText()] });
          expect(changed(await newsOf(setup, plain))).toEqual([]);
        },
      },
      {
        title:
          "an instance is reported as due when its activity completes, also if the task was leased twice",
        async run(setup) {
          await setup.holdTask("a");
          const task = await setup.leaseOneTask();
          const stale = claimOf(task, 99_999);
          const outcome = outcomeText(2);
          const late = { kind: "completion", task: stale, outcome } as const;
          expect(due(await newsOf(setup, () => setup.commit(late)))).toEqual([]);
          const completion = { kind: "completion", task, outcome } as const;
          expect(due(await newsOf(setup, () => setup.commit(completion)))).toEqual(["a"]);
        },
      },
      {
        title: "the tasks and instances of a worker that deregisters are reported",
        async run(setup) {
          const held = await setup.hold("a");
          await setup.commit(sendItem({ id: "a" }));
          await setup.schedule(held, { lease: { owner: ALPHA, token: 5 } });
          const heard = await newsOf(setup, () => setup.provider.removeRuntime(ALPHA));
          expect([due(heard), tasks(heard)]).toEqual([["a"], true]);
        },
      },
    ],
  },
  openInMemory,
  IN_MEMORY,
);

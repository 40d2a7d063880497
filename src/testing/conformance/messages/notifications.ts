// Contract of notifications: the provider notifies its listeners of new work after the commit, never before
// (notifications.1, notifications.2, I13).

import { expect } from "vitest";
import type { News } from "../../../core/provider/index.ts";
import { continueAsNew } from "../instances/continue-as-new.ts";
import type { ContractSubject } from "../contract-case.ts";
import {
  ALPHA,
  completedText,
  eventText,
  newInstance,
  outcomeText,
  outgoing,
  sendItem,
  startItem,
  terminateItem,
} from "../fixture.ts";
import type { Setup } from "../setup.ts";

/** Collects all notifications of an action. */
async function newsOf(setup: Setup, act: () => Promise<unknown>): Promise<News> {
  const heard: News[] = [];
  const unsubscribe = setup.provider.subscribe((news) => heard.push(news));
  await act();
  await setup.environment.settle();
  unsubscribe();
  return {
    due: heard.flatMap((news) => news.due),
    changed: heard.flatMap((news) => news.changed),
    tasks: heard.some((news) => news.tasks),
    elsewhere: heard.some((news) => news.elsewhere),
  };
}

/** A provider may report the error of a listener as an uncaught exception; this catches it. */
async function withoutUncaught<Value>(setup: Setup, act: () => Promise<Value>): Promise<Value> {
  const listeners = process.listeners("uncaughtException");
  process.removeAllListeners("uncaughtException");
  process.on("uncaughtException", () => undefined);
  try {
    return await act();
  } finally {
    await setup.environment.settle();
    process.removeAllListeners("uncaughtException");
    for (const listener of listeners) process.on("uncaughtException", listener);
  }
}

export const notifications: ContractSubject = {
  subject: "notifications",
  cases: [
    {
      title: "a start without a lease is reported as due",
      async run(setup) {
        const news = await newsOf(setup, () => setup.start("a"));
        expect(news.due).toContain("a");
      },
    },
    {
      title: "a send, a completion and a turn's send are reported as due",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.hold("receiver");
        expect((await newsOf(setup, () => setup.commit(sendItem({ id: "a" })))).due).toContain("a");
        await setup.schedule(held);
        const task = await setup.leaseOneTask();
        const completion = { kind: "completion", task, outcome: outcomeText(2) } as const;
        expect((await newsOf(setup, () => setup.commit(completion))).due).toContain("a");
        const sends = [outgoing({ id: "receiver" })];
        const turn = () => setup.turn(held, { events: [eventText()], sends });
        expect((await newsOf(setup, turn)).due).toContain("receiver");
      },
    },
    {
      title: "a child that a turn starts is reported as due",
      async run(setup) {
        const held = await setup.hold("a");
        const starts = [newInstance({ id: "child" })];
        const news = await newsOf(setup, () => setup.turn(held, { events: [eventText()], starts }));
        expect(news.due).toContain("child");
      },
    },
    {
      title:
        "an instance that ended, continued, was blocked or was terminated is reported as changed",
      async run(setup) {
        const [ended, continued, blocked] = [
          await setup.hold("ended"),
          await setup.hold("continued"),
          await setup.hold("blocked"),
        ];
        await setup.hold("terminated");
        const { key, token } = blocked;
        const acts = {
          ended: () => setup.complete(ended),
          continued: () => continueAsNew(setup, continued),
          blocked: () => setup.commit({ kind: "block", key, token, reason: "{}", by: ALPHA }),
          terminated: () => setup.commit(terminateItem("terminated")),
        };
        for (const [id, act] of Object.entries(acts)) {
          expect((await newsOf(setup, act)).changed).toContain(id);
        }
      },
    },
    {
      title: "a task that waits in the queue is reported",
      async run(setup) {
        const held = await setup.hold("a");
        const news = await newsOf(setup, () => setup.schedule(held));
        expect(news.tasks).toBe(true);
      },
    },
    {
      title: "the notifications of a group name every affected instance",
      async run(setup) {
        const ids = ["a", "b", "c"];
        const news = await newsOf(setup, () =>
          setup.provider.commit(ids.map((id) => startItem({ id }))),
        );
        expect(news.due).toEqual(expect.arrayContaining(ids));
      },
    },
    {
      title: "a listener can read the committed change when it is notified (notifications.1, I13)",
      async run(setup) {
        const found: (string | undefined)[] = [];
        const reads: Promise<void>[] = [];
        const unsubscribe = setup.provider.subscribe((news) => {
          for (const id of [...news.due, ...news.changed]) {
            const read = setup.provider.readInstance(id);
            reads.push(read.then((record) => void found.push(`${id} ${record?.status}`)));
          }
        });
        await setup.start("a");
        const held = await setup.hold("b");
        await setup.turn(held, {
          events: [completedText()],
          change: { kind: "ended", status: "completed", output: "1", error: null },
        });
        await setup.environment.settle();
        await Promise.all(reads);
        unsubscribe();
        expect(found).toContain("a pending");
        expect(found).toContain("b completed");
        expect(found.filter((text) => text?.endsWith("undefined"))).toEqual([]);
      },
    },
    {
      title: "every listener is notified until it unsubscribes",
      async run(setup) {
        const heard = { first: 0, second: 0 };
        const first = setup.provider.subscribe(() => (heard.first += 1));
        const second = setup.provider.subscribe(() => (heard.second += 1));
        await setup.start("a");
        await setup.environment.settle();
        expect(heard.first).toBeGreaterThan(0);
        expect(heard.second).toBe(heard.first);
        first();
        const before = heard.first;
        await setup.start("b");
        await setup.environment.settle();
        second();
        expect(heard.first).toBe(before);
        expect(heard.second).toBeGreaterThan(before);
      },
    },
    {
      title: "an error in a listener does not affect the commit (commit.2)",
      async run(setup) {
        const unsubscribe = setup.provider.subscribe(() => {
          throw new Error("a listener failed");
        });
        const results = await withoutUncaught(setup, () =>
          setup.provider.commit([startItem({ id: "a" }), startItem({ id: "b" })]),
        );
        unsubscribe();
        expect(results.map((result) => result.kind)).toEqual(["started", "started"]);
      },
    },
    {
      title: "a commit of this process is not reported as a commit of another process",
      async run(setup) {
        const held = await setup.hold("a");
        const news = await newsOf(setup, async () => {
          await setup.start("b");
          await setup.schedule(held);
          await setup.complete(held);
        });
        expect(news.elsewhere).toBe(false);
      },
    },
  ],
};

// Contract of nextDue: when the next work comes due that a process could lease (provider.runtimes.6).
//   - Each case compares it with a lease call where that shows more: what is due can be leased.

import { expect } from "vitest";
import type { NextDueRequest } from "../../../core/provider/index.ts";
import type { ContractSubject } from "../contract-case.ts";
import { rule, SHIP, take } from "../queues/queue-steps.ts";
import {
  ALPHA,
  BETA,
  CHARGE,
  eventText,
  pauseItem,
  resumeItem,
  sendItem,
  sessionsOf,
  TARGETS,
} from "../fixture.ts";
import type { Setup } from "../setup.ts";

/** The time from now until the next work comes due; null: never. The caller is not registered. */
async function dueIn(setup: Setup, fields: Partial<NextDueRequest> = {}): Promise<number | null> {
  const { at, now } = await setup.provider.nextDue({
    owner: "driver",
    targets: TARGETS,
    codes: TARGETS.map(() => "code"),
    names: [CHARGE],
    tags: "any",
    sessionOwner: "driver",
    ...fields,
  });
  expect(now).toBe(setup.environment.now());
  return at === null ? null : Math.max(at - now, 0);
}

export const nextDue: ContractSubject = {
  subject: "next due",
  cases: [
    {
      title: "nothing comes due in an empty store (provider.runtimes.6)",
      async run(setup) {
        expect(await dueIn(setup)).toBeNull();
      },
    },
    {
      title: "the next of several delayed starts and timers counts, for registered targets only",
      async run(setup) {
        await setup.start("foreign", { name: "foreign" });
        await setup.start("later", { delayMs: 5_000 });
        expect(await dueIn(setup)).toBe(5_000);
        const held = await setup.hold("timer");
        await setup.timer(held, { delayMs: 2_000 }, { release: true });
        expect(await dueIn(setup)).toBe(2_000);
        await setup.environment.advance(500);
        expect(await dueIn(setup)).toBe(1_500);
        await setup.start("now");
        expect(await dueIn(setup)).toBe(0);
        expect(await dueIn(setup, { targets: [], codes: [] })).toBeNull();
        expect(await dueIn(setup, { targets: ["foreign"], codes: ["code"] })).toBe(0);
      },
    },
    {
      title: "what another runtime holds without an end does not count",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.timer(held, { delayMs: 1_000 });
        await setup.holdTask("b", { lease: { owner: ALPHA, token: 5 } });
        expect(await dueIn(setup)).toBeNull();
        expect(await dueIn(setup, { owner: ALPHA })).toBe(1_000);
        await setup.die(ALPHA);
        expect(await dueIn(setup)).toBe(0); // the task
      },
    },
    {
      title: "what another runtime holds until a time counts from that time on, if it is due then",
      async run(setup) {
        const early = await setup.hold("early", { leaseMs: 3_000 });
        expect(await dueIn(setup)).toBeNull(); // it waits for nothing
        await setup.timer(early, { delayMs: 1_000 });
        expect(await dueIn(setup)).toBe(3_000);
        const late = await setup.hold("late", { leaseMs: 500 });
        await setup.timer(late, { delayMs: 2_000 });
        expect(await dueIn(setup)).toBe(2_000);
        await setup.environment.advance(2_000);
        expect(await dueIn(setup)).toBe(0);
        await setup.leaseOnly("late");
        expect(await dueIn(setup)).toBe(1_000);
      },
    },
    {
      title: "an instance with open steps counts from the end of its lease",
      async run(setup) {
        const held = await setup.hold("a", { leaseMs: 1_000 });
        await setup.turn(held, { events: [eventText()], stepsOpen: true });
        expect(await dueIn(setup)).toBe(1_000);
      },
    },
    {
      title:
        "an instance with open steps is due when it is released, unless its steps wait for a message",
      async run(setup) {
        const held = await setup.hold("a");
        const { key, token } = held;
        const retry = { kind: "stepRetry", sequence: 2, delayMs: 700 } as const;
        await setup.turn(held, { events: [eventText()], stepsOpen: true, timers: [retry] });
        await setup.commit({ kind: "releaseInstance", key, token, stepsWait: true });
        expect(await dueIn(setup)).toBe(700);
        await setup.leaseNothing();
        await setup.environment.advance(700);
        const again = await setup.leaseOnly("a");
        expect(again).toMatchObject({ stepsOpen: true, suspicion: 0 });
        await setup.commit({ kind: "releaseInstance", key, token: again.token });
        expect(await setup.inboxKinds(key)).toContain("wake");
        expect(await dueIn(setup)).toBe(0);
      },
    },
    {
      title: "a paused instance does not count, nor an instance that is blocked for the caller",
      async run(setup) {
        await setup.start("a");
        await setup.commit(pauseItem("a"));
        expect(await dueIn(setup)).toBeNull();
        await setup.commit(resumeItem("a"));
        expect(await dueIn(setup)).toBe(0);
        const { key, token } = await setup.leaseOnly("a");
        await setup.commit({ kind: "block", key, token, reason: "{}", by: BETA });
        expect(await dueIn(setup, { owner: BETA })).toBeNull();
        expect(await dueIn(setup, { owner: ALPHA })).toBe(0);
      },
    },
    {
      title:
        "a task counts from its time on, if the caller registers its name and accepts its tags",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.schedule(held, { tags: ["gpu"] });
        expect(await dueIn(setup)).toBe(0);
        expect(await dueIn(setup, { names: ["other"] })).toBeNull();
        expect(await dueIn(setup, { tags: "untagged" })).toBeNull();
        expect(await dueIn(setup, { tags: { tags: ["gpu"], untagged: false } })).toBe(0);
        const task = await setup.leaseOneTask();
        expect(await dueIn(setup)).toBeNull();
        await setup.commit({ kind: "retry", task, delayMs: 1_234, failure: "{}" });
        expect(await dueIn(setup)).toBe(1_234);
      },
    },
    {
      title: "a task that is leased until a time counts from that time on",
      async run(setup) {
        await setup.holdTask("a");
        await setup.leaseOneTask(BETA, { leaseMs: 2_000 });
        expect(await dueIn(setup)).toBe(2_000);
        expect(await dueIn(setup, { owner: BETA })).toBeNull(); // it runs in the caller
      },
    },
    {
      title: "a task of a session counts when the session can be claimed",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.schedule(held, { session: "s" });
        expect(await dueIn(setup)).toBe(0);
        expect(await dueIn(setup, { sessionOwner: null })).toBeNull();
        await setup.leaseOneTask(BETA, { sessions: { ...sessionsOf(BETA), leaseMs: 4_000 } });
        await setup.schedule(held, { session: "s" });
        expect(await dueIn(setup)).toBe(4_000);
        expect(await dueIn(setup, { sessionOwner: BETA })).toBe(0);
      },
    },
    {
      title: "a paused queue and a queue without a free slot do not count",
      async run(setup) {
        await rule(setup, { concurrency: 1 });
        await setup.holdTasks("a", 3);
        expect(await dueIn(setup)).toBe(0);
        await setup.provider.pauseQueue(CHARGE, "{}");
        expect(await dueIn(setup)).toBeNull();
        await setup.provider.resumeQueue(CHARGE);
        expect(await take(setup, 3)).toHaveLength(1);
        expect(await dueIn(setup)).toBeNull();
      },
    },
    {
      title: "a queue without a free slot counts from the end of a lease of its tasks",
      async run(setup) {
        await rule(setup, { concurrency: 1 });
        await setup.holdTasks("a", 2);
        await setup.leaseOneTask(BETA, { leaseMs: 900 });
        expect(await dueIn(setup)).toBe(900);
      },
    },
    {
      title: "of a queue with a limit per key, only tasks of keys with a free slot count",
      async run(setup) {
        await rule(setup, { perKey: 1 });
        await setup.holdTasks("a", 2, () => ({ queueKey: "busy" }));
        expect(await take(setup, 2)).toHaveLength(1);
        expect(await dueIn(setup)).toBeNull();
        await setup.holdTask("b", { queueKey: "free" });
        expect(await dueIn(setup)).toBe(0);
      },
    },
    {
      title: "a queue whose rate is used up counts from its next admission on",
      async run(setup) {
        await rule(setup, { rate: { count: 1, perMs: 10_000 } });
        await setup.holdTasks("a", 2);
        await setup.leaseOneTask(BETA, { enterWithinMs: 100 });
        expect(await dueIn(setup)).toBe(10_100);
        await setup.environment.advance(10_100);
        await setup.leaseOneTask(BETA);
      },
    },
    {
      title: "the rule of one queue does not concern another",
      async run(setup) {
        await rule(setup, { concurrency: 1 });
        await setup.holdTasks("a", 2);
        await take(setup, 2);
        const held = await setup.hold("b");
        await setup.schedule(held, { name: SHIP });
        expect(await dueIn(setup)).toBeNull();
        expect(await dueIn(setup, { names: [CHARGE, SHIP] })).toBe(0);
      },
    },
    {
      title: "the registered runtimes are returned, exactly like listRuntimes",
      async run(setup) {
        const request = { owner: ALPHA, targets: [], codes: [], names: [] };
        const rest = { tags: "any", sessionOwner: null } as const;
        const { runtimes } = await setup.provider.nextDue({ ...request, ...rest });
        expect(runtimes).toEqual(await setup.provider.listRuntimes());
        expect(runtimes.map(({ id }) => id).toSorted()).toEqual([ALPHA, BETA]);
      },
    },
    {
      title: "a kept message whose time is over is reported until it has expired",
      async run(setup) {
        const look = async (): Promise<boolean> => {
          const request = { owner: "driver", targets: [], codes: [], names: [] };
          const rest = { tags: "any", sessionOwner: null } as const;
          return (await setup.provider.nextDue({ ...request, ...rest })).hasExpired;
        };
        await setup.commit(sendItem({ id: "none", ifMissing: "keep", keepForMs: 1_000 }));
        expect(await look()).toBe(false);
        await setup.environment.advance(1_000);
        expect(await look()).toBe(true);
        await setup.provider.expireKept(10);
        expect(await look()).toBe(false);
      },
    },
  ],
};

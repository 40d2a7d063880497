// Contract of peek: it reports whether work may be due for a runtime, and which runtimes exist. A false
// "yes" is allowed, a false "no" is not.

import { expect } from "vitest";
import type { ContractSubject } from "../contract-case.ts";
import {
  ALPHA,
  BETA,
  CHARGE,
  eventText,
  pauseItem,
  registration,
  resumeItem,
  sendItem,
  startItem,
} from "../fixture.ts";
import type { Setup } from "../setup.ts";

async function peek(setup: Setup, owner = BETA): Promise<{ instances: boolean; tasks: boolean }> {
  const { instances, tasks } = await setup.provider.peek({ owner });
  return { instances, tasks };
}

const NOTHING = { instances: false, tasks: false };

export const peeking: ContractSubject = {
  subject: "peek",
  cases: [
    {
      title: "an idle store has nothing due",
      async run(setup) {
        expect(await peek(setup)).toEqual(NOTHING);
      },
    },
    {
      title:
        "peek returns all registered runtimes, including the caller, exactly like listRuntimes",
      async run(setup) {
        const identity = { bootId: "b", pidNamespace: "n", pid: 7, startTime: "1" };
        await setup.provider.registerRuntime(registration({ id: "third", process: identity }));
        await setup.environment.advance(100);
        await setup.provider.beat("third");
        const { runtimes } = await setup.provider.peek({ owner: ALPHA });
        expect(runtimes).toEqual(await setup.provider.listRuntimes());
        expect(runtimes.map(({ id }) => id).toSorted()).toEqual([ALPHA, BETA, "third"]);
        await setup.die(ALPHA);
        await setup.die(BETA);
        await setup.die("third");
        expect(await setup.provider.peek({ owner: ALPHA })).toMatchObject({ runtimes: [] });
      },
    },
    {
      title: "a start without a lease is due, whatever its name",
      async run(setup) {
        await setup.start("a", { name: "whatever" });
        expect(await peek(setup)).toEqual({ instances: true, tasks: false });
      },
    },
    {
      title: "delayed work is due at its time, and not before",
      async run(setup) {
        await setup.start("later", { delayMs: 1_000 });
        const held = await setup.hold("a");
        await setup.timer(held, { delayMs: 500 }, { release: true });
        expect(await peek(setup)).toEqual(NOTHING);
        await setup.environment.advance(499);
        expect(await peek(setup)).toEqual(NOTHING);
        await setup.environment.advance(1);
        expect(await peek(setup)).toEqual({ instances: true, tasks: false });
        await setup.leaseOnly("a");
        await setup.environment.advance(500);
        expect(await peek(setup)).toMatchObject({ instances: true });
      },
    },
    {
      title: "a new message is due for the runtime that holds the instance",
      async run(setup) {
        await setup.hold("a");
        await setup.commit(sendItem({ id: "a" }));
        expect(await peek(setup, ALPHA)).toMatchObject({ instances: true });
      },
    },
    {
      title:
        "peek reports work whenever a lease call would find some, for every order of priorities and targets",
      async run(setup) {
        const places = [1, 2, 3, 4, 5].flatMap((priority) =>
          ["a", "b", "order", "z"].map((name) => ({ priority, name })),
        );
        for (const { priority, name } of places) {
          await setup.start(`sleeper-${name}-${priority}`, { priority, name, delayMs: 60_000 });
        }
        for (const { priority, name } of places) {
          const id = `due-${name}-${priority}`;
          expect(await peek(setup)).toEqual(NOTHING);
          await setup.start(id, { priority, name });
          expect(await peek(setup)).toMatchObject({ instances: true });
          await setup.leaseOnly(id, ALPHA, { targets: [name] });
          const terminated = {
            kind: "terminate",
            id,
            status: "terminated",
            terminated: "{}",
            childRequest: "{}",
          } as const;
          await setup.commit(terminated);
        }
      },
    },
    {
      title: "an instance with an expired lease is due",
      async run(setup) {
        await setup.hold("a", { leaseMs: 1_000 });
        await setup.commit(sendItem({ id: "a" }));
        await setup.environment.advance(1_001);
        expect(await peek(setup)).toMatchObject({ instances: true });
      },
    },
    {
      title: "an instance with open steps and an expired lease is due, even without a message",
      async run(setup) {
        const held = await setup.hold("a", { leaseMs: 1_000 });
        await setup.turn(held, { events: [eventText()], stepsOpen: true });
        expect(await peek(setup)).toEqual(NOTHING);
        await setup.environment.advance(1_001);
        expect(await peek(setup)).toMatchObject({ instances: true });
        await setup.leaseOnly("a");
      },
    },
    {
      title: "a resumed or unblocked instance with messages is due",
      async run(setup) {
        await setup.start("a");
        await setup.commit(pauseItem("a"));
        await setup.commit(resumeItem("a"));
        expect(await peek(setup)).toMatchObject({ instances: true });
        const { key, token } = await setup.leaseOnly("a", BETA);
        await setup.commit({ kind: "block", key, token, reason: "{}", by: BETA });
        expect(await peek(setup, ALPHA)).toMatchObject({ instances: true });
        await setup.commit({ kind: "unblock", id: "a" });
        expect(await peek(setup, BETA)).toMatchObject({ instances: true });
      },
    },
    {
      title: "instances that cannot be leased do not hide an instance that can",
      async run(setup) {
        const ids = Array.from({ length: 150 }, (_, i) => `paused-${i}`);
        await setup.provider.commit(ids.map((id) => startItem({ id })));
        await setup.provider.commit(ids.map((id) => pauseItem(id)));
        await setup.environment.advance(1);
        await setup.start("a");
        expect(await peek(setup)).toMatchObject({ instances: true });
      },
    },
    {
      title: "a waiting task is due, and a delayed task is due at its time",
      async run(setup) {
        await setup.holdTask("a", { name: "unregistered", priority: 5 });
        expect(await peek(setup)).toEqual({ instances: false, tasks: true });
        const task = await setup.leaseOneTask(ALPHA, { names: ["unregistered"] });
        expect(await peek(setup)).toEqual(NOTHING);
        await setup.commit({ kind: "retry", task, delayMs: 1_000, failure: "{}" });
        expect(await peek(setup)).toEqual(NOTHING);
        await setup.environment.advance(1_000);
        expect(await peek(setup)).toMatchObject({ tasks: true });
      },
    },
    {
      title: "a task is due after its owner died or its lease expired",
      async run(setup) {
        const held = await setup.hold("a", { owner: BETA });
        await setup.schedule(held);
        await setup.leaseOneTask(ALPHA);
        expect(await peek(setup)).toMatchObject({ tasks: false });
        await setup.die(ALPHA);
        expect(await peek(setup)).toMatchObject({ tasks: true });
        await setup.leaseOneTask(BETA, { allowSuspect: true, leaseMs: 1_000 });
        expect(await peek(setup)).toMatchObject({ tasks: false });
        await setup.environment.advance(1_001);
        expect(await peek(setup)).toMatchObject({ tasks: true });
      },
    },
    {
      title: "a waiting task of any name and priority is due among many delayed tasks",
      async run(setup) {
        const held = await setup.hold("a");
        const kinds = [1, 3, 5].flatMap((priority) =>
          ["a", CHARGE, "z"].map((name) => ({ priority, name })),
        );
        for (const kind of kinds) {
          await setup.schedule(held, kind);
          const task = await setup.leaseOneTask(ALPHA, { names: [kind.name] });
          await setup.commit({ kind: "retry", task, delayMs: 60_000, failure: "{}" });
        }
        for (const kind of kinds) {
          expect(await peek(setup)).toEqual(NOTHING);
          const { sequence } = await setup.schedule(held, kind);
          expect(await peek(setup)).toMatchObject({ tasks: true });
          await setup.turn(held, { events: [eventText()], cancelledTasks: [sequence] });
        }
      },
    },
    {
      title: "peek changes nothing",
      async run(setup) {
        await setup.start("a");
        const record = await setup.read("a");
        for (let i = 0; i < 3; i++) await peek(setup);
        expect(await setup.read("a")).toEqual(record);
        expect(await setup.leaseOnly("a")).toMatchObject({ suspicion: 0 });
      },
    },
  ],
};

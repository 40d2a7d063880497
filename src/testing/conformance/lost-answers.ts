// Lost answers: a lease whose answer never came is asked for again under its token, and nothing is stranded.

import { expect } from "vitest";
import type { ContractSubject } from "./contract-case.ts";
import { ALPHA, BETA, eventText, fresh, outcomeText, sendItem, sessionsOf } from "./fixture.ts";

export const lostAnswers: ContractSubject = {
  subject: "lost answers",
  cases: [
    {
      title: "a lease of instances that is asked for again hands over the same, as fresh",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.turn(held, { events: [eventText()], release: true });
        await setup.commit(sendItem({ id: "a" }));
        await setup.start("b");
        const token = fresh();
        const first = await setup.lease(BETA, { token });
        expect(first.instances.map(({ id }) => id).toSorted()).toEqual(["a", "b"]);
        const again = await setup.lease(BETA, { token, again: true });
        const byId = (list: typeof first) =>
          list.instances.toSorted((x, y) => (x.id < y.id ? -1 : 1));
        expect(byId(again)).toEqual(byId(first));
        expect(again.instances.every((instance) => instance.fresh)).toBe(true);
      },
    },
    {
      title: "what is handed over again can be worked on as if the first answer had come",
      async run(setup) {
        await setup.start("a");
        const token = fresh();
        await setup.lease(BETA, { token });
        const { instances } = await setup.lease(BETA, { token, again: true });
        const [leased] = instances;
        expect(leased).toMatchObject({ id: "a", token, suspicion: 0 });
        const { key = -1, messages = [] } = leased ?? {};
        const held = { id: "a", runId: "r", key, execution: 1, token, lastEvent: 0 };
        await setup.turn(held, { events: [eventText()], consumed: messages.map(({ id }) => id) });
        expect(await setup.read("a")).toMatchObject({ status: "running", owner: BETA });
      },
    },
    {
      title: "to ask again counts nothing more against an instance (N4)",
      async run(setup) {
        await setup.start("a");
        const token = fresh();
        await setup.lease(BETA, { token });
        for (let i = 0; i < 5; i++) await setup.lease(BETA, { token, again: true });
        await setup.die(BETA);
        expect(await setup.leaseOnly("a", ALPHA, { allowSuspect: true })).toMatchObject({
          suspicion: 1,
        });
      },
    },
    {
      title: "a request that took nothing takes what there is when it is made again",
      async run(setup) {
        const token = fresh();
        await setup.leaseNothing(BETA, { token });
        await setup.start("a");
        await setup.leaseOnly("a", BETA, { token, again: true });
      },
    },
    {
      title: "to ask again hands over what the request took and no more, though more is due",
      async run(setup) {
        await setup.start("a");
        const token = fresh();
        await setup.leaseOnly("a", BETA, { token });
        await setup.start("b");
        const { instances, more } = await setup.lease(BETA, { token, again: true });
        expect(instances.map(({ id }) => id)).toEqual(["a"]);
        expect(more).toBe(true);
        const next = await setup.lease(BETA);
        expect(next.instances.filter(({ fresh: isNew }) => isNew)).toMatchObject([{ id: "b" }]);
      },
    },
    {
      title: "nobody is handed what another took, whatever token he names",
      async run(setup) {
        const held = await setup.hold("a", { owner: ALPHA });
        await setup.schedule(held);
        const token = fresh();
        await setup.leaseTasks(ALPHA, { token });
        await setup.leaseNothing(BETA, { token: held.token, again: true });
        expect((await setup.leaseTasks(BETA, { token, again: true })).tasks).toEqual([]);
      },
    },
    {
      title: "a runtime that was declared dead is handed nothing again (V1)",
      async run(setup) {
        const held = await setup.hold("a", { owner: ALPHA });
        await setup.schedule(held);
        await setup.start("b");
        const token = fresh();
        await setup.lease(BETA, { token });
        await setup.leaseTasks(BETA, { token });
        await setup.die(BETA);
        await setup.leaseNothing(BETA, { token, again: true });
        expect((await setup.leaseTasks(BETA, { token, again: true })).tasks).toEqual([]);
      },
    },
    {
      title: "a lease of tasks that is asked for again hands over the same, in order",
      async run(setup) {
        const held = await setup.hold("a");
        for (const priority of [3, 1, 2]) await setup.schedule(held, { priority });
        const token = fresh();
        const first = await setup.leaseTasks(BETA, { token });
        expect(first.tasks).toHaveLength(3);
        const again = await setup.leaseTasks(BETA, { token, again: true });
        expect(again.tasks).toEqual(first.tasks);
        const [task] = again.tasks;
        if (task === undefined) return;
        const outcome = outcomeText(task.sequence);
        const result = await setup.commit({ kind: "completion", task, outcome });
        expect(result).toEqual({ kind: "done" });
        expect((await setup.leaseTasks(BETA, { token, again: true })).tasks).toHaveLength(2);
      },
    },
    {
      title: "a request for tasks that took nothing takes what there is when it is made again",
      async run(setup) {
        const held = await setup.hold("a");
        const token = fresh();
        expect((await setup.leaseTasks(BETA, { token })).tasks).toEqual([]);
        await setup.schedule(held);
        await setup.leaseOneTask(BETA, { token, again: true });
      },
    },
    {
      title: "a session's task is handed over again with the hold on its session (SE1)",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.schedule(held, { session: "s" });
        const request = { token: fresh(), sessions: sessionsOf(BETA) };
        const first = await setup.leaseOneTask(BETA, request);
        expect(first.sessionClaim).toBeDefined();
        const again = await setup.leaseOneTask(BETA, { ...request, again: true });
        expect(again).toEqual(first);
      },
    },
  ],
};

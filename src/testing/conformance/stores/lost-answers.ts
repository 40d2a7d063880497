// Contract of lost replies: if the reply to a lease call is lost, the caller repeats the call with the same
// token and gets the same leases.

import { expect } from "vitest";
import type { ContractSubject } from "../contract-case.ts";
import { ALPHA, BETA, eventText, fresh, outcomeText, sendItem, sessionsOf } from "../fixture.ts";

export const lostAnswers: ContractSubject = {
  subject: "lost replies",
  cases: [
    {
      title: "a repeated lease call returns the same instances, marked as fresh",
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
      title: "an instance from a repeated lease call can commit turns",
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
      title: "a repeated lease call does not raise the suspicion (provider.instances.4)",
      async run(setup) {
        await setup.start("a");
        const token = fresh();
        await setup.lease(BETA, { token });
        for (let i = 0; i < 5; i++) await setup.lease(BETA, { token, again: true });
        await setup.die(BETA);
        expect(await setup.leaseSuspect("a", ALPHA)).toMatchObject({
          suspicion: 1,
        });
      },
    },
    {
      title: "if the first call leased nothing, the repeated call leases due instances",
      async run(setup) {
        const token = fresh();
        await setup.leaseNothing(BETA, { token });
        await setup.start("a");
        await setup.leaseOnly("a", BETA, { token, again: true });
      },
    },
    {
      title:
        "a repeated lease call returns only the instances of the first call, even if more are due",
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
      title: "a repeated call with the token of another runtime returns nothing",
      async run(setup) {
        const held = await setup.hold("a", { owner: ALPHA });
        await setup.schedule(held);
        const token = fresh();
        await setup.leaseTasks(ALPHA, { token });
        await setup.leaseNothing(BETA, { token: held.token, again: true });
        await setup.leaseNoTask(BETA, { token, again: true });
      },
    },
    {
      title:
        "a repeated call of a runtime that was declared dead returns nothing (provider.runtimes.1)",
      async run(setup) {
        const held = await setup.hold("a", { owner: ALPHA });
        await setup.schedule(held);
        await setup.start("b");
        const token = fresh();
        await setup.lease(BETA, { token });
        await setup.leaseTasks(BETA, { token });
        await setup.die(BETA);
        await setup.leaseNothing(BETA, { token, again: true });
        await setup.leaseNoTask(BETA, { token, again: true });
      },
    },
    {
      title: "a repeated call for tasks returns the same tasks, in order",
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
      title: "if the first call for tasks leased nothing, the repeated call leases waiting tasks",
      async run(setup) {
        const held = await setup.hold("a");
        const token = fresh();
        await setup.leaseNoTask(BETA, { token });
        await setup.schedule(held);
        await setup.leaseOneTask(BETA, { token, again: true });
      },
    },
    {
      title: "a repeated call for tasks of a session returns the same session claim (sessions.1)",
      async run(setup) {
        await setup.holdTask("a", { session: "s" });
        const request = { token: fresh(), sessions: sessionsOf(BETA) };
        const first = await setup.leaseOneTask(BETA, request);
        expect(first.sessionClaim).toBeDefined();
        const again = await setup.leaseOneTask(BETA, { ...request, again: true });
        expect(again).toEqual(first);
      },
    },
  ],
};

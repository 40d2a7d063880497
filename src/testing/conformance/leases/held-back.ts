// Contract of instances that the caller holds back: pending instances of a target and priority are not leased, and the
// others are (LeaseInstancesRequest.heldBack).

import { expect } from "vitest";
import type { ContractSubject } from "../contract-case.ts";
import { ALPHA, BETA, ORDER, sendItem, startedText, VERSION } from "../fixture.ts";

const CONTINUED = JSON.stringify({ kind: "OrchestrationContinuedAsNew", input: "2" });

export const heldBackInstances: ContractSubject = {
  subject: "held-back instances",
  cases: [
    {
      title: "pending instances with a held-back target and priority are not leased",
      async run(setup) {
        await setup.start("held-back");
        await setup.start("of-another-priority", { priority: 2 });
        const heldBack = [{ target: ORDER, priority: 3 }];
        await setup.leaseOnly("of-another-priority", BETA, { heldBack });
        const { more } = await setup.leaseNothing(ALPHA, { heldBack });
        expect(more).toBe(false);
        await setup.leaseOnly("held-back", ALPHA, { heldBack: [{ target: ORDER, priority: 4 }] });
      },
    },
    {
      title: "an event does not make a held-back pending instance leasable",
      async run(setup) {
        await setup.start("a");
        await setup.commit(sendItem({ id: "a" }));
        await setup.leaseNothing(BETA, { heldBack: [{ target: ORDER, priority: 3 }] });
        const leased = await setup.leaseOnly("a", BETA);
        expect(leased.messages.map(({ kind }) => kind)).toEqual(["start", "event"]);
      },
    },
    {
      title:
        "running instances with a held-back target are leased in order, together with other instances",
      async run(setup) {
        for (const id of ["first", "second"]) {
          const held = await setup.hold(id);
          await setup.turn(held, { release: true });
        }
        await setup.start("pending");
        await setup.commit(sendItem({ id: "second" }));
        await setup.environment.advance(10);
        await setup.start("other", { name: "ship" });
        await setup.environment.advance(10);
        await setup.commit(sendItem({ id: "first" }));
        const heldBack = [ORDER, `${ORDER}@${VERSION}`].map((target) => ({ target, priority: 3 }));
        const targets = [ORDER, `${ORDER}@${VERSION}`, "ship"];
        await setup.leaseOnly("second", ALPHA, { heldBack, targets, limit: 1 });
        const { instances, more } = await setup.lease(BETA, { heldBack, targets });
        expect(instances.map(({ id }) => id)).toEqual(["other", "first"]);
        expect(more).toBe(false);
        expect(await setup.read("pending")).toMatchObject({ owner: null, status: "pending" });
      },
    },
    {
      title: "the next execution of an instance is leased even if its target is held back",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.turn(held, {
          events: [CONTINUED],
          change: { kind: "continued", started: startedText(), version: VERSION, unread: [] },
          release: true,
        });
        const target = `${ORDER}@${VERSION}`;
        const leased = await setup.leaseOnly("a", BETA, { heldBack: [{ target, priority: 3 }] });
        expect(leased).toMatchObject({ execution: 2, fresh: true });
      },
    },
    {
      title: "the owner receives new messages of its instance even if its target is held back",
      async run(setup) {
        await setup.hold("a");
        await setup.commit(sendItem({ id: "a" }));
        const target = `${ORDER}@${VERSION}`;
        const news = await setup.leaseOnly("a", ALPHA, { heldBack: [{ target, priority: 3 }] });
        expect(news).toMatchObject({ fresh: false });
      },
    },
  ],
};

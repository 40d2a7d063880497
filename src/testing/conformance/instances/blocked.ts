// Contract of blocked instances: an instance that cannot continue waits, and the store keeps all its data
// (semantics 5, 6, provider.instances.3, P6).

import { expect } from "vitest";
import type { ContractSubject } from "../contract-case.ts";
import {
  ALPHA,
  BETA,
  eventText,
  heldFrom,
  LEASE_LOST,
  sendItem,
  terminateItem,
  turnItem,
} from "../fixture.ts";

const REASON = '{"code":"NONDETERMINISM","message":"event 3 is a timer"}';

export const blocked: ContractSubject = {
  subject: "blocked",
  cases: [
    {
      title: "a blocked instance shows the reason, is not ended and has no lease (P6)",
      async run(setup) {
        const { key, token } = await setup.hold("a");
        const block = { kind: "block", key, token, reason: REASON, by: ALPHA } as const;
        expect(await setup.commit(block)).toEqual({ kind: "done" });
        expect(await setup.read("a")).toMatchObject({
          blocked: REASON,
          status: "running",
          completedAt: null,
          owner: null,
        });
      },
    },
    {
      title: "a blocked instance is not leased again to the runtime that blocked it (5)",
      async run(setup) {
        await setup.start("a");
        const { key, token } = await setup.leaseOnly("a", ALPHA);
        await setup.commit({ kind: "block", key, token, reason: REASON, by: ALPHA });
        await setup.leaseNothing(ALPHA, { allowSuspect: true });
        await setup.commit(sendItem({ id: "a" }));
        await setup.leaseNothing(ALPHA, { allowSuspect: true });
      },
    },
    {
      title: "messages of a blocked instance stay in its inbox, and new messages are accepted",
      async run(setup) {
        await setup.start("a");
        const leased = await setup.leaseOnly("a", ALPHA);
        const { key, token } = leased;
        await setup.commit({ kind: "block", key, token, reason: REASON, by: ALPHA });
        expect(await setup.commit(sendItem({ id: "a" }))).toEqual({ kind: "done" });
        expect(await setup.inboxKinds(key)).toEqual(["start", "event"]);
      },
    },
    {
      title:
        "blocking an instance with open steps adds a wake message, because no message reports open steps (5, provider.runtimes.3)",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.turn(held, { events: [eventText()], stepsOpen: true });
        const { key, token } = held;
        await setup.commit({ kind: "block", key, token, reason: REASON, by: ALPHA });
        expect(await setup.inboxKinds(key)).toEqual(["wake"]);
        await setup.leaseNothing(ALPHA);
        await setup.leaseOnly("a", BETA);
      },
    },
    {
      title:
        "a lease of a blocked instance returns the reason, and the next commit removes the block",
      async run(setup) {
        const { key, token } = await setup.hold("a");
        await setup.commit({ kind: "block", key, token, reason: REASON, by: ALPHA });
        await setup.commit(sendItem({ id: "a" }));
        const leased = await setup.leaseOnly("a", BETA);
        expect(leased.blocked).toBe(REASON);
        await setup.turn(heldFrom(leased), { events: [eventText()], release: true });
        await setup.commit(sendItem({ id: "a" }));
        expect((await setup.leaseOnly("a", ALPHA)).blocked).toBeNull();
      },
    },
    {
      title: "a block with a wrong token is refused and changes nothing",
      async run(setup) {
        const held = await setup.hold("a");
        const { key } = held;
        const block = {
          kind: "block",
          key,
          token: held.token + 1,
          reason: REASON,
          by: BETA,
        } as const;
        expect(await setup.commit(block)).toEqual(LEASE_LOST);
        expect(await setup.read("a")).toMatchObject({ blocked: null, owner: ALPHA });
        await setup.turn(held, { events: [eventText()] });
      },
    },
    {
      title: "a blocked instance can be terminated",
      async run(setup) {
        const { key, token } = await setup.hold("a");
        await setup.commit({ kind: "block", key, token, reason: REASON, by: ALPHA });
        expect(await setup.commit(terminateItem("a"))).toEqual({ kind: "done" });
        expect(await setup.read("a")).toMatchObject({ status: "terminated" });
      },
    },
    {
      title: "a blocked instance does not prevent other instances from being leased",
      async run(setup) {
        await setup.start("a");
        const { key, token } = heldFrom(await setup.leaseOnly("a", ALPHA));
        await setup.commit({ kind: "block", key, token, reason: REASON, by: ALPHA });
        await setup.start("b");
        await setup.leaseOnly("b", ALPHA, { limit: 1 });
      },
    },
    {
      title: "the activities of a blocked instance continue, and their outcomes wait in the inbox",
      async run(setup) {
        const { held, task: address } = await setup.holdTask("a");
        const { key, token } = held;
        await setup.commit({ kind: "block", key, token, reason: REASON, by: ALPHA });
        const task = await setup.leaseOneTask();
        expect(task.sequence).toBe(address.sequence);
        const outcome = '{"kind":"ActivityCompleted"}';
        expect(await setup.commit({ kind: "completion", task, outcome })).toEqual({ kind: "done" });
        expect(await setup.inboxKinds(key)).toEqual(["activity"]);
      },
    },
    {
      title: "after a block, the token that blocked the instance cannot write",
      async run(setup) {
        const held = await setup.hold("a");
        const { key, token } = held;
        await setup.commit({ kind: "block", key, token, reason: REASON, by: ALPHA });
        const turn = turnItem(held, { events: [eventText()] });
        expect(await setup.commit(turn)).toEqual(LEASE_LOST);
        expect(await setup.provider.renewInstances([held], 1_000)).toEqual([key]);
        expect(await setup.read("a")).toMatchObject({ blocked: REASON, lastEvent: 1 });
      },
    },
  ],
};

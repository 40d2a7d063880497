// Blocks: an instance that cannot go on waits, and nothing of it is lost (semantics 5, 6, N3, P6).

import { expect } from "vitest";
import type { ContractSubject } from "./contract-case.ts";
import { ALPHA, BETA, eventText, heldFrom, sendItem, terminateItem, turnItem } from "./fixture.ts";

const REASON = '{"code":"NONDETERMINISM","message":"event 3 is a timer"}';

export const blocked: ContractSubject = {
  subject: "blocked",
  cases: [
    {
      title: "a blocked instance shows why, has not ended and belongs to nobody (P6)",
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
      title: "a blocked instance is not leased again by the runtime that found it (5)",
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
      title: "what it was told stays in its inbox, and more is taken in",
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
      title: "a block over open steps leaves word for others: no message tells of steps (5, V3)",
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
      title: "a block under another token is refused and blocks nothing",
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
        expect(await setup.commit(block)).toEqual({ kind: "refused", code: "LEASE_LOST" });
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
      title: "blocking one instance keeps no other from being leased",
      async run(setup) {
        await setup.start("a");
        const { key, token } = heldFrom(await setup.leaseOnly("a", ALPHA));
        await setup.commit({ kind: "block", key, token, reason: REASON, by: ALPHA });
        await setup.start("b");
        await setup.leaseOnly("b", ALPHA, { limit: 1 });
      },
    },
    {
      title: "the activities of a blocked instance go on, and their outcomes wait",
      async run(setup) {
        const held = await setup.hold("a");
        const address = await setup.schedule(held);
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
      title: "after a block, the token that blocked writes nothing",
      async run(setup) {
        const held = await setup.hold("a");
        const { key, token } = held;
        await setup.commit({ kind: "block", key, token, reason: REASON, by: ALPHA });
        const turn = turnItem(held, { events: [eventText()] });
        expect(await setup.commit(turn)).toEqual({ kind: "refused", code: "LEASE_LOST" });
        expect(await setup.provider.renewInstances([held], 1_000)).toEqual([key]);
        expect(await setup.read("a")).toMatchObject({ blocked: REASON, lastEvent: 1 });
      },
    },
  ],
};

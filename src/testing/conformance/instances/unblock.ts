// Contract of unblock: it removes the block, and the next runtime that leases the instance tries again
// (semantics 5, 9a).

import { expect } from "vitest";
import type { ContractSubject } from "../contract-case.ts";
import {
  ALPHA,
  BETA,
  eventText,
  heldFrom,
  pauseItem,
  refused,
  registration,
  resumeItem,
  sendItem,
} from "../fixture.ts";
import type { Setup } from "../setup.ts";

const REASON = '{"code":"NONDETERMINISM","message":"event 3 is a timer"}';
const UNBLOCK = { kind: "unblock", id: "a" } as const;
const DONE = { kind: "done" };

/** Creates an instance that ALPHA has blocked, with an empty inbox. */
async function blockHeld(setup: Setup): Promise<void> {
  const { key, token } = await setup.hold("a");
  await setup.commit({ kind: "block", key, token, reason: REASON, by: ALPHA });
}

export const unblock: ContractSubject = {
  subject: "unblock",
  cases: [
    {
      title: "an unblocked instance can be leased again, also by the runtime that blocked it",
      async run(setup) {
        const held = await setup.hold("a");
        const { key, token } = held;
        await setup.commit({ kind: "block", key, token, reason: REASON, by: ALPHA });
        await setup.commit(sendItem({ id: "a" }));
        await setup.leaseNothing(ALPHA);
        expect(await setup.commit({ kind: "unblock", id: "a" })).toEqual({ kind: "done" });
        expect(await setup.read("a")).toMatchObject({ blocked: null, status: "running" });
        expect(await setup.leaseOnly("a", ALPHA)).toMatchObject({ suspicion: 0, lastEvent: 1 });
      },
    },
    {
      title: "an unblock resets the suspicion of the instance (9a)",
      async run(setup) {
        await setup.start("a");
        await setup.provider.registerRuntime(registration({ id: "victim" }));
        await setup.leaseOnly("a", "victim");
        await setup.die("victim");
        const { key, token } = await setup.leaseSuspect("a", ALPHA);
        await setup.commit({ kind: "block", key, token, reason: REASON, by: ALPHA });
        await setup.commit({ kind: "unblock", id: "a" });
        expect(await setup.leaseOnly("a", BETA)).toMatchObject({ suspicion: 0 });
      },
    },
    {
      title:
        "after the clock jumps back, unblocking an instance that has not begun adds no wake message",
      async run(setup) {
        await setup.start("a");
        const { key, token } = await setup.leaseOnly("a", ALPHA);
        await setup.commit({ kind: "block", key, token, reason: REASON, by: ALPHA });
        setup.environment.jumpWallClock(-10_000);
        expect(await setup.commit(UNBLOCK)).toEqual(DONE);
        await setup.environment.advance(10_000); // due by now at the latest
        const { messages } = await setup.leaseOnly("a", BETA);
        expect(messages.map(({ kind }) => kind)).toEqual(["start"]);
      },
    },
    {
      title: "unblocking an instance that does not exist or has ended is refused",
      async run(setup) {
        expect(await setup.commit({ kind: "unblock", id: "missing" })).toEqual(
          refused("INSTANCE_NOT_FOUND"),
        );
        const held = await setup.hold("a");
        await setup.complete(held);
        expect(await setup.commit({ kind: "unblock", id: "a" })).toEqual(
          refused("INSTANCE_FINISHED"),
        );
      },
    },
    {
      title: "an unblocked instance with an empty inbox is due",
      async run(setup) {
        await blockHeld(setup);
        await setup.leaseNothing(BETA);
        expect(await setup.commit(UNBLOCK)).toEqual(DONE);
        const leased = await setup.leaseOnly("a", BETA);
        expect(leased.messages.every(({ kind }) => kind === "wake")).toBe(true);
        const consumed = leased.messages.map(({ id }) => id);
        const { due } = await setup.turn(heldFrom(leased), { events: [eventText()], consumed });
        expect(due).toEqual([]);
      },
    },
    {
      title: "every runtime that had blocked the instance can lease it again",
      async run(setup) {
        await setup.start("a");
        for (const owner of [ALPHA, BETA]) {
          const { key, token } = await setup.leaseOnly("a", owner);
          await setup.commit({ kind: "block", key, token, reason: REASON, by: owner });
          await setup.leaseNothing(owner);
        }
        await setup.commit(UNBLOCK);
        const { key, token } = await setup.leaseOnly("a", ALPHA);
        await setup.commit({ kind: "releaseInstance", key, token });
        await setup.leaseOnly("a", BETA);
      },
    },
    {
      title: "unblocking an instance that is not blocked does not affect a turn in flight",
      async run(setup) {
        const held = await setup.hold("a");
        const record = await setup.read("a");
        expect(await setup.commit(UNBLOCK)).toEqual(DONE);
        expect(await setup.read("a")).toEqual(record);
        const { due } = await setup.turn(held, { events: [eventText()] });
        expect(due).toEqual([]);
      },
    },
    {
      title:
        "unblocking a suspect that was never blocked resets its suspicion (9a, provider.instances.4)",
      async run(setup) {
        await setup.start("a");
        await setup.provider.registerRuntime(registration({ id: "victim" }));
        await setup.leaseOnly("a", "victim");
        await setup.die("victim");
        await setup.leaseNothing(BETA);
        await setup.commit(UNBLOCK);
        expect(await setup.leaseOnly("a", BETA)).toMatchObject({ suspicion: 0 });
      },
    },
    {
      title: "a lease that is held during the unblock still counts (9a)",
      async run(setup) {
        await setup.start("a");
        await setup.provider.registerRuntime(registration({ id: "victim" }));
        await setup.leaseOnly("a", "victim");
        await setup.commit(UNBLOCK);
        await setup.die("victim");
        await setup.leaseNothing(BETA);
        expect(await setup.leaseSuspect("a")).toMatchObject({
          suspicion: 1,
        });
      },
    },
    {
      title:
        "an instance that is blocked and paused is leased after both are removed, in any order",
      async run(setup) {
        await blockHeld(setup);
        await setup.commit(pauseItem("a"));
        await setup.commit(UNBLOCK);
        await setup.leaseNothing(BETA);
        await setup.commit(resumeItem("a"));
        const { key, token } = await setup.leaseOnly("a", BETA);
        await setup.commit({ kind: "block", key, token, reason: REASON, by: BETA });
        await setup.commit(pauseItem("a"));
        await setup.commit(resumeItem("a"));
        await setup.leaseNothing(BETA);
        await setup.commit(UNBLOCK);
        await setup.leaseOnly("a", BETA);
      },
    },
    {
      title: "messages that arrived during the block are delivered in order",
      async run(setup) {
        await blockHeld(setup);
        for (const data of ["1", "2", "3"]) await setup.commit(sendItem({ id: "a", data }));
        await setup.commit(UNBLOCK);
        const { messages } = await setup.leaseOnly("a", BETA);
        const events = messages.filter(({ kind }) => kind === "event");
        expect(events.map(({ data }) => data)).toEqual(["1", "2", "3"]);
      },
    },
    {
      title: "an unblock is reported as due and as changed",
      async run(setup) {
        await blockHeld(setup);
        const due: string[] = [];
        const changed: string[] = [];
        setup.provider.subscribe((news) => {
          due.push(...news.due);
          changed.push(...news.changed);
        });
        await setup.commit(UNBLOCK);
        await setup.environment.settle();
        expect(due).toContain("a");
        expect(changed).toContain("a");
      },
    },
  ],
};

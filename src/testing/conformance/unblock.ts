// Unblock: what keeps an instance is taken away, and whoever may lease it tries again (semantics 5, 9a).

import { expect } from "vitest";
import type { ContractSubject } from "./contract-case.ts";
import {
  ALPHA,
  BETA,
  eventText,
  heldFrom,
  pauseItem,
  registration,
  resumeItem,
  sendItem,
} from "./fixture.ts";
import type { Setup } from "./setup.ts";

const REASON = '{"code":"NONDETERMINISM","message":"event 3 is a timer"}';
const UNBLOCK = { kind: "unblock", id: "a" } as const;
const DONE = { kind: "done" };

/** Blocked by ALPHA, with an empty inbox. */
async function blockHeld(setup: Setup): Promise<void> {
  const { key, token } = await setup.hold("a");
  await setup.commit({ kind: "block", key, token, reason: REASON, by: ALPHA });
}

export const unblock: ContractSubject = {
  subject: "unblock",
  cases: [
    {
      title: "an instance that is unblocked is there to be leased again, by its finder too",
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
      title: "an unblock takes what is held against the instance away (9a)",
      async run(setup) {
        await setup.start("a");
        await setup.provider.registerRuntime(registration({ id: "victim" }));
        await setup.leaseOnly("a", "victim");
        await setup.die("victim");
        const { key, token } = await setup.leaseOnly("a", ALPHA, { allowSuspect: true });
        await setup.commit({ kind: "block", key, token, reason: REASON, by: ALPHA });
        await setup.commit({ kind: "unblock", id: "a" });
        expect(await setup.leaseOnly("a", BETA)).toMatchObject({ suspicion: 0 });
      },
    },
    {
      title: "when the clock goes back, what has not begun is woken by its start alone",
      async run(setup) {
        await setup.start("a");
        const { key, token } = await setup.leaseOnly("a", ALPHA);
        await setup.commit({ kind: "block", key, token, reason: REASON, by: ALPHA });
        setup.environment.jumpWallClock(-10_000);
        expect(await setup.commit(UNBLOCK)).toEqual(DONE);
        await setup.environment.advance(10_000); // a store may also make it due at once
        const { messages } = await setup.leaseOnly("a", BETA);
        expect(messages.map(({ kind }) => kind)).toEqual(["start"]);
      },
    },
    {
      title: "unblocking what does not exist or has ended is refused",
      async run(setup) {
        expect(await setup.commit({ kind: "unblock", id: "nobody" })).toEqual({
          kind: "refused",
          code: "INSTANCE_NOT_FOUND",
        });
        const held = await setup.hold("a");
        await setup.complete(held);
        expect(await setup.commit({ kind: "unblock", id: "a" })).toEqual({
          kind: "refused",
          code: "INSTANCE_FINISHED",
        });
      },
    },
    {
      title:
        "an instance that was blocked with nothing left to tell it is tried again all the same",
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
      title: "everyone who had found it blocked may try again",
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
      title: "unblocking what is not blocked changes nothing of a turn under way",
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
      title: "a suspect that was never blocked is cleared of suspicion (9a, N4)",
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
      title: "the lease that is being tried while it is unblocked still counts (9a)",
      async run(setup) {
        await setup.start("a");
        await setup.provider.registerRuntime(registration({ id: "victim" }));
        await setup.leaseOnly("a", "victim");
        await setup.commit(UNBLOCK);
        await setup.die("victim");
        await setup.leaseNothing(BETA);
        expect(await setup.leaseOnly("a", BETA, { allowSuspect: true })).toMatchObject({
          suspicion: 1,
        });
      },
    },
    {
      title: "an instance that is blocked and paused is leased when both are lifted, in any order",
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
      title: "what was told to it while it was blocked is delivered, in order",
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
      title: "unblocking is news for those who wait for something to do, and for those who watch",
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

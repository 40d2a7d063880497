// Fencing: the token and the last event decide, and time never does (I2, C3, P8).

import { expect } from "vitest";
import type { ContractSubject } from "./contract-case.ts";
import {
  ALPHA,
  BETA,
  claimOf,
  completedText,
  eventText,
  heldFrom,
  outcomeText,
  sendItem,
  turnItem,
} from "./fixture.ts";

const REFUSED = { kind: "refused", code: "LEASE_LOST" };

export const fencing: ContractSubject = {
  subject: "fencing",
  cases: [
    {
      title: "a turn under another token is refused",
      async run(setup) {
        const held = await setup.hold("a");
        for (const token of [held.token + 1, held.token - 1, 0]) {
          expect(await setup.commit(turnItem(held, { token, events: [eventText()] }))).toEqual(
            REFUSED,
          );
        }
        expect(await setup.events(held)).toHaveLength(1);
      },
    },
    {
      title: "a turn that was computed from another last event is refused",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.turn(held, { events: [eventText(), eventText()] });
        for (const lastEvent of [0, 2, 4]) {
          const turn = turnItem(held, { lastEvent, events: [eventText()] });
          expect(await setup.commit(turn)).toEqual(REFUSED);
        }
        expect(await setup.events(held)).toHaveLength(3);
      },
    },
    {
      title: "a turn without events is held to its last event too",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.commit(sendItem({ id: "a" }));
        const [message] = await setup.due(held);
        const turn = turnItem(held, { lastEvent: 0, consumed: [message?.id ?? -1] });
        expect(await setup.commit(turn)).toEqual(REFUSED);
        expect(await setup.provider.readInbox(held.key)).toHaveLength(1);
      },
    },
    {
      title: "a turn of another execution is refused",
      async run(setup) {
        const held = await setup.hold("a");
        for (const execution of [0, 2]) {
          const turn = turnItem(held, { execution, events: [eventText()] });
          expect(await setup.commit(turn)).toEqual(REFUSED);
          expect(await setup.provider.readHistory({ key: held.key, execution })).toEqual([]);
        }
      },
    },
    {
      title: "a turn of an instance that does not exist is refused",
      async run(setup) {
        const held = await setup.hold("a");
        const turn = turnItem(held, { key: held.key + 1_000, events: [eventText()] });
        expect(await setup.commit(turn)).toEqual(REFUSED);
      },
    },
    {
      title: "a turn that is sent twice is written once",
      async run(setup) {
        const held = await setup.hold("a");
        const turn = turnItem(held, { events: [eventText()] });
        expect(await setup.commit(turn)).toMatchObject({ kind: "committed" });
        expect(await setup.commit(turn)).toEqual(REFUSED);
        expect(await setup.events(held)).toHaveLength(2);
      },
    },
    {
      title: "of two turns from one last event, one is written (I4)",
      async run(setup) {
        const held = await setup.hold("a");
        const results = await Promise.all([
          setup.commit(turnItem(held, { events: [eventText('"first"')] })),
          setup.commit(turnItem(held, { events: [eventText('"second"')] })),
        ]);
        expect(results.map((result) => result.kind).toSorted()).toEqual(["committed", "refused"]);
        expect(await setup.events(held)).toHaveLength(2);
      },
    },
    {
      title: "once another runtime has taken over, the old owner writes nothing (P8)",
      async run(setup) {
        const old = await setup.hold("a", { leaseMs: 1_000 });
        await setup.commit(sendItem({ id: "a" }));
        await setup.environment.advance(1_001);
        const taken = heldFrom(await setup.leaseOnly("a", BETA));
        expect(taken.token).not.toBe(old.token);
        expect(await setup.commit(turnItem(old, { events: [eventText()] }))).toEqual(REFUSED);
        await setup.turn(taken, { events: [eventText('"new"')] });
        expect(await setup.commit(turnItem(old, { events: [eventText()] }))).toEqual(REFUSED);
        expect(await setup.events(taken)).toHaveLength(2);
      },
    },
    {
      title: "a lease that ran out and that nobody took still writes: expiry decides nothing (I2)",
      async run(setup) {
        const held = await setup.hold("a", { leaseMs: 1_000 });
        await setup.environment.advance(60_000);
        await setup.turn(held, { events: [eventText()] });
        expect(await setup.events(held)).toHaveLength(2);
      },
    },
    {
      title: "after its owner was declared dead, a token writes nothing, even if nobody took over",
      async run(setup) {
        const held = await setup.hold("a", { owner: ALPHA });
        await setup.die(ALPHA);
        expect(await setup.commit(turnItem(held, { events: [eventText()] }))).toEqual(REFUSED);
        expect(await setup.events(held)).toHaveLength(1);
      },
    },
    {
      title: "after a release, the token that was released writes nothing",
      async run(setup) {
        const held = await setup.hold("a");
        const { key, token } = held;
        expect(await setup.commit({ kind: "releaseInstance", key, token })).toEqual({
          kind: "done",
        });
        expect(await setup.commit(turnItem(held, { events: [eventText()] }))).toEqual(REFUSED);
        expect(await setup.commit({ kind: "releaseInstance", key, token })).toEqual(REFUSED);
      },
    },
    {
      title: "an instance that has ended takes no further turn (N2, I11)",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.complete(held, '"first"');
        const again = turnItem(held, {
          events: [completedText()],
          change: { kind: "ended", status: "failed", output: null, error: "{}" },
        });
        expect(await setup.commit(again)).toEqual(REFUSED);
        expect(await setup.read("a")).toMatchObject({ status: "completed", output: '"first"' });
        expect(await setup.events(held)).toHaveLength(2);
      },
    },
    {
      title: "a release under another token is refused and takes the lease from nobody",
      async run(setup) {
        const held = await setup.hold("a");
        const release = { kind: "releaseInstance", key: held.key, token: held.token + 1 } as const;
        expect(await setup.commit(release)).toEqual(REFUSED);
        expect(await setup.read("a")).toMatchObject({ owner: ALPHA });
        await setup.turn(held, { events: [eventText()] });
      },
    },
    {
      title: "a completion, a retry and a release of a task under another token are refused",
      async run(setup) {
        const held = await setup.hold("a");
        const address = await setup.schedule(held, { lease: { owner: ALPHA, token: 77 } });
        const before = await setup.provider.readTasks(held);
        const task = claimOf(address, 78);
        const outcome = outcomeText(address.sequence);
        expect(await setup.commit({ kind: "completion", task, outcome })).toEqual(REFUSED);
        expect(await setup.commit({ kind: "retry", task, delayMs: 0, failure: "{}" })).toEqual(
          REFUSED,
        );
        expect(await setup.commit({ kind: "releaseTask", task })).toEqual(REFUSED);
        expect(await setup.provider.readTasks(held)).toEqual(before);
        expect(await setup.provider.readInbox(held.key)).toEqual([]);
      },
    },
  ],
};

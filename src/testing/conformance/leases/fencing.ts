// Contract of fencing: the token and the last event decide whether a write succeeds; time does not
// (I2, commit.3, P8).

import { expect } from "vitest";
import type { ContractSubject } from "../contract-case.ts";
import {
  ALPHA,
  BETA,
  claimOf,
  completedText,
  eventText,
  heldFrom,
  LEASE_LOST,
  outcomeText,
  sendItem,
  TASK_LEASE,
  turnItem,
} from "../fixture.ts";

export const fencing: ContractSubject = {
  subject: "fencing",
  cases: [
    {
      title: "a turn with a wrong token is refused",
      async run(setup) {
        const held = await setup.hold("a");
        for (const token of [held.token + 1, held.token - 1, 0]) {
          expect(await setup.commit(turnItem(held, { token, events: [eventText()] }))).toEqual(
            LEASE_LOST,
          );
        }
        expect(await setup.events(held)).toHaveLength(1);
      },
    },
    {
      title: "a turn based on a wrong last event is refused",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.turn(held, { events: [eventText(), eventText()] });
        for (const lastEvent of [0, 2, 4]) {
          const turn = turnItem(held, { lastEvent, events: [eventText()] });
          expect(await setup.commit(turn)).toEqual(LEASE_LOST);
        }
        expect(await setup.events(held)).toHaveLength(3);
      },
    },
    {
      title: "a turn without events must also name the current last event",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.commit(sendItem({ id: "a" }));
        const [message] = await setup.due(held);
        const turn = turnItem(held, { lastEvent: 0, consumed: [message?.id ?? -1] });
        expect(await setup.commit(turn)).toEqual(LEASE_LOST);
        expect(await setup.provider.readInbox(held.key)).toHaveLength(1);
      },
    },
    {
      title: "a turn of a wrong execution is refused",
      async run(setup) {
        const held = await setup.hold("a");
        for (const execution of [0, 2]) {
          const turn = turnItem(held, { execution, events: [eventText()] });
          expect(await setup.commit(turn)).toEqual(LEASE_LOST);
          expect(await setup.provider.readHistory({ key: held.key, execution })).toEqual([]);
        }
      },
    },
    {
      title: "a turn of an instance that does not exist is refused",
      async run(setup) {
        const held = await setup.hold("a");
        const turn = turnItem(held, { key: held.key + 1_000, events: [eventText()] });
        expect(await setup.commit(turn)).toEqual(LEASE_LOST);
      },
    },
    {
      title: "the second copy of a turn is refused",
      async run(setup) {
        const held = await setup.hold("a");
        const turn = turnItem(held, { events: [eventText()] });
        expect(await setup.commit(turn)).toMatchObject({ kind: "committed" });
        expect(await setup.commit(turn)).toEqual(LEASE_LOST);
        expect(await setup.events(held)).toHaveLength(2);
      },
    },
    {
      title: "if two concurrent turns name the same last event, only one is written (I4)",
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
      title: "after a takeover, the old owner cannot write (P8)",
      async run(setup) {
        const old = await setup.hold("a", { leaseMs: 1_000 });
        await setup.commit(sendItem({ id: "a" }));
        await setup.environment.advance(1_001);
        const taken = heldFrom(await setup.leaseOnly("a", BETA));
        expect(taken.token).not.toBe(old.token);
        expect(await setup.commit(turnItem(old, { events: [eventText()] }))).toEqual(LEASE_LOST);
        await setup.turn(taken, { events: [eventText('"new"')] });
        expect(await setup.commit(turnItem(old, { events: [eventText()] }))).toEqual(LEASE_LOST);
        expect(await setup.events(taken)).toHaveLength(2);
      },
    },
    {
      title:
        "a runtime with an expired lease can still write until another runtime takes over the instance (I2)",
      async run(setup) {
        const held = await setup.hold("a", { leaseMs: 1_000 });
        await setup.environment.advance(60_000);
        await setup.turn(held, { events: [eventText()] });
        expect(await setup.events(held)).toHaveLength(2);
      },
    },
    {
      title: "the token of a runtime that was declared dead cannot write, even before a takeover",
      async run(setup) {
        const held = await setup.hold("a", { owner: ALPHA });
        await setup.die(ALPHA);
        expect(await setup.commit(turnItem(held, { events: [eventText()] }))).toEqual(LEASE_LOST);
        expect(await setup.events(held)).toHaveLength(1);
      },
    },
    {
      title: "after a release, the released token cannot write",
      async run(setup) {
        const held = await setup.hold("a");
        const { key, token } = held;
        expect(await setup.commit({ kind: "releaseInstance", key, token })).toEqual({
          kind: "done",
        });
        expect(await setup.commit(turnItem(held, { events: [eventText()] }))).toEqual(LEASE_LOST);
        expect(await setup.commit({ kind: "releaseInstance", key, token })).toEqual(LEASE_LOST);
      },
    },
    {
      title: "an ended instance accepts no further turn (provider.instances.2, I11)",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.complete(held, '"first"');
        const again = turnItem(held, {
          events: [completedText()],
          change: { kind: "ended", status: "failed", output: null, error: "{}" },
        });
        expect(await setup.commit(again)).toEqual(LEASE_LOST);
        expect(await setup.read("a")).toMatchObject({ status: "completed", output: '"first"' });
        expect(await setup.events(held)).toHaveLength(2);
      },
    },
    {
      title: "a release with a wrong token is refused, and the owner keeps its lease",
      async run(setup) {
        const held = await setup.hold("a");
        const release = { kind: "releaseInstance", key: held.key, token: held.token + 1 } as const;
        expect(await setup.commit(release)).toEqual(LEASE_LOST);
        expect(await setup.read("a")).toMatchObject({ owner: ALPHA });
        await setup.turn(held, { events: [eventText()] });
      },
    },
    {
      title: "a completion, a retry and a release of a task with a wrong token are refused",
      async run(setup) {
        const { held, task: address } = await setup.holdTask("a", {
          lease: TASK_LEASE,
        });
        const before = await setup.provider.readTasks(held);
        const task = claimOf(address, 78);
        const outcome = outcomeText(address.sequence);
        expect(await setup.commit({ kind: "completion", task, outcome })).toEqual(LEASE_LOST);
        expect(await setup.commit({ kind: "retry", task, delayMs: 0, failure: "{}" })).toEqual(
          LEASE_LOST,
        );
        expect(await setup.commit({ kind: "releaseTask", task })).toEqual(LEASE_LOST);
        expect(await setup.provider.readTasks(held)).toEqual(before);
        expect(await setup.provider.readInbox(held.key)).toEqual([]);
      },
    },
  ],
};

// Contract of timers: messages of an instance to itself; never early, always delivered (P5).

import { expect } from "vitest";
import type { ContractSubject } from "../contract-case.ts";
import { ALPHA, BETA, completedText, eventText } from "../fixture.ts";

const DAY_MS = 86_400_000;

export const timers: ContractSubject = {
  subject: "timers",
  cases: [
    {
      title: "a timer fires when it is due, and not a millisecond early (P5)",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.timer(held, { delayMs: 1_000 });
        await setup.environment.advance(999);
        expect(await setup.due(held)).toEqual([]);
        await setup.environment.advance(1);
        expect(await setup.due(held)).toMatchObject([{ kind: "timer", sequence: 2, execution: 1 }]);
      },
    },
    {
      title: "a timer of more than 2^31 ms fires when it is due, and not before (P5)",
      async run(setup) {
        const held = await setup.hold("a");
        const delayMs = 2 ** 31 + 12_345;
        await setup.timer(held, { delayMs }, { release: true });
        await setup.environment.advance(12_346);
        await setup.leaseNothing();
        await setup.environment.advance(2 ** 31 - 2);
        expect((await setup.leaseNothing()).nextAt).toBe(setup.environment.now() + 1);
        await setup.environment.advance(1);
        await setup.leaseOnly("a");
      },
    },
    {
      title: "a timer of ten thousand years keeps its due time to the millisecond",
      async run(setup) {
        const held = await setup.hold("a");
        const dueAt = setup.environment.now() + 3_652_500 * DAY_MS + 1;
        await setup.timer(held, { dueAt });
        expect((await setup.provider.readInbox(held.key))[0]?.visibleAt).toBe(dueAt);
      },
    },
    {
      title: "a timer with a due time fires at that time",
      async run(setup) {
        const held = await setup.hold("a");
        const dueAt = setup.environment.now() + DAY_MS;
        await setup.timer(held, { dueAt });
        await setup.environment.advance(DAY_MS - 1);
        expect(await setup.due(held)).toEqual([]);
        await setup.environment.advance(1);
        expect(await setup.due(held)).toMatchObject([{ visibleAt: dueAt }]);
      },
    },
    {
      title: "timers without a delay or with a past due time are in the result of their own turn",
      async run(setup) {
        const held = await setup.hold("a");
        const { due } = await setup.turn(held, {
          events: [eventText(), eventText()],
          timers: [
            { kind: "timer", sequence: 2, delayMs: 0 },
            { kind: "timer", sequence: 3, dueAt: setup.environment.now() - 5_000 },
          ],
        });
        expect(due.map((message) => message.sequence).toSorted()).toEqual([2, 3]);
      },
    },
    {
      title: "each kind of timer is delivered with its kind, sequence and data",
      async run(setup) {
        const held = await setup.hold("a");
        const kinds = ["timer", "deadline", "stepRetry", "cancelTimeout"] as const;
        await setup.turn(held, {
          events: kinds.map(() => eventText()),
          timers: kinds.map((kind, i) => ({
            kind,
            sequence: i + 2,
            delayMs: i,
            data: `"${kind}"`,
          })),
        });
        await setup.environment.advance(10);
        const due = await setup.due(held);
        expect(due).toMatchObject(
          kinds.map((kind, i) => ({ kind, sequence: i + 2, data: `"${kind}"`, execution: 1 })),
        );
      },
    },
    {
      title: "a cancelled timer never fires",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.turn(held, {
          events: [eventText(), eventText()],
          timers: [
            { kind: "timer", sequence: 2, delayMs: 100 },
            { kind: "timer", sequence: 3, delayMs: 100 },
          ],
        });
        await setup.turn(held, { cancelledTimers: [{ kind: "timer", sequence: 2 }] });
        await setup.environment.advance(1_000);
        expect((await setup.due(held)).map((message) => message.sequence)).toEqual([3]);
      },
    },
    {
      title: "a timer that is due and not consumed can be cancelled",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.timer(held, { delayMs: 100 });
        await setup.environment.advance(100);
        const { due } = await setup.turn(held, {
          cancelledTimers: [{ kind: "timer", sequence: 2 }],
        });
        expect(due).toEqual([]);
        expect(await setup.provider.readInbox(held.key)).toEqual([]);
      },
    },
    {
      title: "cancelling a timer does not affect other kinds, sequences and instances",
      async run(setup) {
        const other = await setup.hold("other");
        const held = await setup.hold("a");
        const both = [
          { kind: "timer", sequence: 2, delayMs: 100 },
          { kind: "deadline", sequence: 2, delayMs: 100 },
        ] as const;
        await setup.turn(other, { events: [eventText()], timers: both });
        await setup.turn(held, { events: [eventText()], timers: both });
        await setup.turn(held, { cancelledTimers: [{ kind: "timer", sequence: 2 }] });
        expect(await setup.inboxKinds(held.key)).toEqual(["deadline"]);
        expect(await setup.inboxKinds(other.key)).toHaveLength(2);
      },
    },
    {
      title: "a turn that cancels a missing timer is committed",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.turn(held, {
          events: [eventText()],
          cancelledTimers: [{ kind: "timer", sequence: 99 }],
        });
        expect(await setup.events(held)).toHaveLength(2);
      },
    },
    {
      title: "the timers of an instance are deleted when it ends (messages.1)",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.timer(held, { delayMs: 100 });
        await setup.turn(held, {
          events: [completedText()],
          change: { kind: "ended", status: "completed", output: "1", error: null },
        });
        expect(await setup.provider.readInbox(held.key)).toEqual([]);
        expect((await setup.leaseNothing()).nextAt).toBeNull();
      },
    },
    {
      title: "any runtime can lease an instance without a lease when its timer fires",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.timer(held, { delayMs: 100 }, { release: true });
        await setup.leaseNothing(BETA);
        await setup.environment.advance(100);
        const leased = await setup.leaseOnly("a", BETA);
        expect(leased.messages).toMatchObject([{ kind: "timer", sequence: 2 }]);
      },
    },
    {
      title: "a timer of a leased instance is delivered only to its owner",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.timer(held, { delayMs: 100 });
        await setup.environment.advance(100);
        await setup.leaseNothing(BETA);
        const leased = await setup.leaseOnly("a", ALPHA);
        expect(leased).toMatchObject({ fresh: false, token: held.token });
        expect(leased.messages).toMatchObject([{ kind: "timer", sequence: 2 }]);
      },
    },
    {
      title: "a lease call returns the time at which the next message is due",
      async run(setup) {
        expect((await setup.leaseNothing()).nextAt).toBeNull();
        const now = setup.environment.now();
        for (const [id, delayMs] of [
          ["late", 9_000],
          ["soon", 3_000],
        ] as const) {
          const held = await setup.hold(id);
          const timer = { kind: "timer", sequence: 2, delayMs } as const;
          await setup.turn(held, { events: [eventText()], timers: [timer], release: true });
        }
        expect((await setup.leaseNothing()).nextAt).toBe(now + 3_000);
        await setup.environment.advance(3_000);
        const { instances, nextAt } = await setup.lease();
        expect(instances.map((instance) => instance.id)).toEqual(["soon"]);
        expect(nextAt).toBe(now + 9_000);
      },
    },
    {
      title: "a timer is due after the store's clock jumps past its due time (I3)",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.timer(held, { delayMs: DAY_MS });
        setup.environment.jumpWallClock(DAY_MS);
        expect(await setup.due(held)).toMatchObject([{ kind: "timer", sequence: 2 }]);
      },
    },
    {
      title: "a timer with a fractional delay does not fire early (P5)",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.timer(held, { delayMs: 10.25 });
        await setup.environment.advance(10);
        expect(await setup.due(held)).toEqual([]);
        await setup.environment.advance(1);
        expect(await setup.due(held)).toHaveLength(1);
      },
    },
  ],
};

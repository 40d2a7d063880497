// Contract of detached starts: a turn starts an instance and receives no outcome from it (semantics 7, 21).

import { expect } from "vitest";
import type { ContractSubject } from "../contract-case.ts";
import {
  ALPHA,
  completedText,
  eventText,
  newInstance,
  sendItem,
  terminateItem,
} from "../fixture.ts";

export const detached: ContractSubject = {
  subject: "detached starts",
  cases: [
    {
      title: "a detached instance has no parent and does not end with the instance that started it",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.turn(held, { events: [eventText()], starts: [newInstance({ id: "free" })] });
        expect(await setup.read("free")).toMatchObject({ parent: null, status: "pending" });
        await setup.commit(terminateItem("a"));
        const leased = await setup.leaseOnly("free");
        expect(leased.messages.map((message) => message.kind)).toEqual(["start"]);
      },
    },
    {
      title: "a detached start is carried out by the turn that ends its instance (7)",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.turn(held, {
          events: [eventText(), completedText()],
          starts: [newInstance({ id: "free" })],
          change: { kind: "ended", status: "completed", output: "1", error: null },
        });
        await setup.leaseOnly("free");
      },
    },
    {
      title: "a detached or child start with a delay begins after the delay",
      async run(setup) {
        const held = await setup.hold("a");
        const parent = { ...held, sequence: 2 };
        const starts = [
          { ...newInstance({ id: "child", parent }), delayMs: 1_000 },
          { ...newInstance({ id: "free" }), delayMs: 2_000 },
        ];
        await setup.turn(held, { events: [eventText()], starts });
        await setup.commit(sendItem({ id: "child" }));
        await setup.environment.advance(999);
        await setup.leaseNothing();
        await setup.environment.advance(1);
        const { messages } = await setup.leaseOnly("child");
        expect(messages.map(({ kind }) => kind)).toEqual(["start", "event"]);
        await setup.environment.advance(1_000);
        await setup.leaseOnly("free", ALPHA);
      },
    },
    {
      title: "a detached start with an existing id changes nothing, and its turn is committed",
      async run(setup) {
        await setup.hold("taken");
        const record = await setup.read("taken");
        const held = await setup.hold("a");
        const { due } = await setup.turn(held, {
          events: [eventText()],
          starts: [newInstance({ id: "taken" })],
        });
        expect(due).toEqual([]);
        expect(await setup.read("taken")).toEqual(record);
        expect(await setup.events(held)).toHaveLength(2);
      },
    },
    {
      title: "a repeated detached start creates one instance",
      async run(setup) {
        const held = await setup.hold("a");
        const free = newInstance({ id: "free" });
        await setup.turn(held, { events: [eventText()], starts: [free] });
        const record = await setup.read("free");
        await setup.turn(held, { events: [eventText()], starts: [free] });
        expect(await setup.read("free")).toEqual(record);
        expect(await setup.inboxKinds(record.key)).toEqual(["start"]);
      },
    },
  ],
};

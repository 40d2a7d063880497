// Contract of children: a turn starts a child, and the parent receives the child's outcome (semantics 2, 21).

import { expect } from "vitest";
import type { ContractSubject } from "../contract-case.ts";
import {
  childOutcomeText,
  completedText,
  eventText,
  heldFrom,
  newInstance,
  ORDER,
  outgoing,
  turnItem,
} from "../fixture.ts";

export const children: ContractSubject = {
  subject: "children",
  cases: [
    {
      title: "a child that a turn starts is pending, has a parent link and can be leased",
      async run(setup) {
        const held = await setup.hold("a");
        const parent = { id: "a", runId: held.runId, execution: 1, sequence: 2 };
        const child = newInstance({ id: "a::sub::2", parent, priority: 2, attributes: { k: "v" } });
        await setup.turn(held, { events: [eventText()], starts: [child] });
        expect(await setup.read("a::sub::2")).toMatchObject({
          status: "pending",
          execution: 1,
          runId: child.runId,
          name: ORDER,
          parent,
          priority: 2,
          attributes: { k: "v" },
        });
        const leased = await setup.leaseOnly("a::sub::2");
        expect(leased.messages).toMatchObject([{ kind: "start", data: child.started }]);
      },
    },
    {
      title: "all children of one turn are started",
      async run(setup) {
        const held = await setup.hold("a");
        const ids = Array.from({ length: 20 }, (_, i) => `a::sub::${i + 2}`);
        await setup.turn(held, {
          events: ids.map(() => eventText()),
          starts: ids.map((id, i) => {
            const parent = { id: "a", runId: held.runId, execution: 1, sequence: i + 2 };
            return newInstance({ id, parent });
          }),
        });
        const { instances } = await setup.lease();
        expect(instances.map((instance) => instance.id).toSorted()).toEqual(ids.toSorted());
      },
    },
    {
      title: "the turn that ends a child sends its outcome to the parent in the same commit (I1)",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.startChild(held, "child");
        const child = heldFrom(await setup.leaseOnly("child"));
        const data = childOutcomeText(2);
        const to = { id: held.id, runId: held.runId };
        await setup.turn(child, {
          events: [eventText(), completedText()],
          sends: [outgoing(to, { kind: "child", execution: 1, sequence: 2, data, key: "child/1" })],
          change: { kind: "ended", status: "completed", output: "1", error: null },
        });
        expect(await setup.due(held)).toMatchObject([
          { kind: "child", execution: 1, sequence: 2, data },
        ]);
      },
    },
    {
      title:
        "starting a child with an existing id fails for the parent and does not change the existing instance (2)",
      async run(setup) {
        const existing = await setup.hold("taken");
        const record = await setup.read("taken");
        const held = await setup.hold("a");
        const { due } = await setup.startChild(held, "taken");
        expect(due).toMatchObject([{ kind: "child", execution: 1, sequence: 2 }]);
        expect(JSON.parse(due[0]?.data ?? "null")).toMatchObject({
          kind: "ChildFailed",
          scheduled: 2,
          outcome: "failed",
          failure: { code: "INSTANCE_EXISTS" },
        });
        expect(await setup.read("taken")).toEqual(record);
        expect(await setup.provider.readInbox(existing.key)).toEqual([]);
      },
    },
    {
      title: "starting a child with the id of an ended instance also fails",
      async run(setup) {
        const existing = await setup.hold("taken");
        await setup.complete(existing);
        const held = await setup.hold("a");
        const { due } = await setup.startChild(held, "taken");
        expect(due).toMatchObject([{ kind: "child", sequence: 2 }]);
        expect(await setup.read("taken")).toMatchObject({ status: "completed", execution: 1 });
      },
    },
    {
      title: "a child that fails to start does not affect its siblings",
      async run(setup) {
        await setup.hold("taken");
        const held = await setup.hold("a");
        const parent = { id: "a", runId: held.runId, execution: 1 };
        const { due } = await setup.turn(held, {
          events: [eventText(), eventText(), eventText()],
          starts: [
            newInstance({ id: "before", parent: { ...parent, sequence: 2 } }),
            newInstance({ id: "taken", parent: { ...parent, sequence: 3 } }),
            newInstance({ id: "after", parent: { ...parent, sequence: 4 } }),
          ],
        });
        expect(due.map((message) => message.sequence)).toEqual([3]);
        expect(await setup.read("before")).toMatchObject({ status: "pending" });
        expect(await setup.read("after")).toMatchObject({ status: "pending" });
      },
    },
    {
      title: "repeating the same child start creates nothing (2)",
      async run(setup) {
        const held = await setup.hold("a");
        const parent = { id: "a", runId: held.runId, execution: 1, sequence: 2 };
        const child = newInstance({ id: "child", parent });
        await setup.turn(held, { events: [eventText()], starts: [child] });
        const record = await setup.read("child");
        const { due } = await setup.turn(held, { events: [eventText()], starts: [child] });
        expect(due).toEqual([]);
        expect(await setup.read("child")).toEqual(record);
        expect(await setup.inboxKinds(record.key)).toEqual(["start"]);
      },
    },
    {
      title: "two starts of one id by one parent result in one child and one failure",
      async run(setup) {
        const held = await setup.hold("a");
        const parent = { id: "a", runId: held.runId, execution: 1 };
        const { due } = await setup.turn(held, {
          events: [eventText(), eventText()],
          starts: [
            newInstance({ id: "child", parent: { ...parent, sequence: 2 } }),
            newInstance({ id: "child", parent: { ...parent, sequence: 3 } }),
          ],
        });
        expect(due).toMatchObject([{ kind: "child", sequence: 3 }]);
        expect(await setup.read("child")).toMatchObject({ parent: { sequence: 2 } });
      },
    },
    {
      title: "an instance cannot be its own child",
      async run(setup) {
        const held = await setup.hold("a");
        const { due } = await setup.startChild(held, "a");
        expect(due).toMatchObject([{ kind: "child", sequence: 2 }]);
        expect(await setup.read("a")).toMatchObject({ runId: held.runId, parent: null });
      },
    },
    {
      title: "a child of a refused turn is not started (I1)",
      async run(setup) {
        const held = await setup.hold("a");
        const parent = { id: "a", runId: held.runId, execution: 1, sequence: 2 };
        const starts = [newInstance({ id: "child", parent })];
        const stale = turnItem(held, { token: held.token + 1, events: [eventText()], starts });
        expect(await setup.commit(stale)).toMatchObject({ kind: "refused" });
        expect(await setup.provider.readInstance("child")).toBeNull();
      },
    },
  ],
};

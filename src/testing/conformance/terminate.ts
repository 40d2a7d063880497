// Terminate: an end from outside, at once, whoever holds the instance (semantics 19, 19a).

import { expect } from "vitest";
import type { ContractSubject } from "./contract-case.ts";
import {
  ALPHA,
  BETA,
  claimOf,
  eventText,
  failedText,
  newInstance,
  outcomeText,
  sendItem,
  startItem,
  terminateItem,
  turnItem,
} from "./fixture.ts";

const REFUSED = { kind: "refused", code: "LEASE_LOST" };

export const terminate: ContractSubject = {
  subject: "terminate",
  cases: [
    {
      title: "whoever ends an instance from outside says whether it was terminated or failed",
      async run(setup) {
        await setup.hold("a");
        const terminated = failedText("failed");
        await setup.commit({ ...terminateItem("a"), status: "failed", terminated });
        expect(await setup.read("a")).toMatchObject({ status: "failed", error: terminated });
      },
    },
    {
      title: "a terminated instance has ended when the call returns",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.environment.advance(100);
        const item = terminateItem("a");
        expect(await setup.commit(item)).toEqual({ kind: "done" });
        expect(await setup.read("a")).toMatchObject({
          status: "terminated",
          error: item.terminated,
          output: null,
          owner: null,
          lastEvent: 2,
          completedAt: setup.environment.now(),
        });
        const events = await setup.events(held);
        expect(events.at(-1)).toMatchObject({ kind: "OrchestrationFailed", outcome: "terminated" });
        expect(events.at(-1)).toMatchObject(JSON.parse(item.terminated) as object);
      },
    },
    {
      title: "the owner's turn under way is refused (19a)",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.commit(terminateItem("a"));
        expect(await setup.commit(turnItem(held, { events: [eventText()] }))).toEqual(REFUSED);
        const afterwards = turnItem(held, { lastEvent: 2, events: [eventText()] });
        expect(await setup.commit(afterwards)).toEqual(REFUSED);
        const { key, token } = held;
        expect(await setup.commit({ kind: "releaseInstance", key, token })).toEqual(REFUSED);
        expect(await setup.events(held)).toHaveLength(2);
      },
    },
    {
      title: "its tasks are deleted, waiting or leased, and late outcomes are refused",
      async run(setup) {
        const held = await setup.hold("a");
        const address = await setup.schedule(held, { lease: { owner: ALPHA, token: 77 } });
        await setup.schedule(held);
        await setup.commit(terminateItem("a"));
        expect(await setup.provider.readTasks(held)).toEqual([]);
        expect((await setup.leaseTasks()).tasks).toEqual([]);
        const task = claimOf(address, 77);
        expect(await setup.provider.lostTasks([task])).toHaveLength(1);
        const outcome = outcomeText(address.sequence);
        expect(await setup.commit({ kind: "completion", task, outcome })).toEqual(REFUSED);
        expect(await setup.provider.readInbox(held.key)).toEqual([]);
      },
    },
    {
      title: "its timers and completions are deleted, its unread events stay readable (B1, 18a)",
      async run(setup) {
        const held = await setup.hold("a");
        const task = await setup.schedule(held, { lease: { owner: ALPHA, token: 77 } });
        await setup.turn(held, { timers: [{ kind: "timer", sequence: 9, delayMs: 1_000 }] });
        const outcome = outcomeText(task.sequence);
        await setup.commit({ kind: "completion", task: claimOf(task, 77), outcome });
        await setup.commit(sendItem({ id: "a" }));
        await setup.commit(terminateItem("a"));
        expect(await setup.inboxKinds(held.key)).toEqual(["event"]);
      },
    },
    {
      title: "its children are asked to cancel, those that are abandoned excepted (19a)",
      async run(setup) {
        const held = await setup.hold("a");
        const parent = { id: "a", runId: held.runId, execution: 1, sequence: 2 };
        await setup.turn(held, {
          events: [eventText(), eventText(), eventText()],
          starts: [
            newInstance({ id: "kept company", parent }),
            newInstance({
              id: "abandoned",
              parent: { ...parent, sequence: 3 },
              onParentClose: "abandon",
            }),
            newInstance({ id: "detached" }),
          ],
        });
        const item = terminateItem("a");
        await setup.commit(item);
        const company = await setup.provider.readInbox((await setup.read("kept company")).key);
        expect(company.map((message) => message.kind)).toEqual(["start", "cancel"]);
        expect(company[1]?.data).toBe(item.childRequest);
        expect(await setup.inboxKinds((await setup.read("abandoned")).key)).toEqual(["start"]);
        expect(await setup.inboxKinds((await setup.read("detached")).key)).toEqual(["start"]);
      },
    },
    {
      title: "children that have ended are left as they are",
      async run(setup) {
        const held = await setup.hold("a");
        const parent = { id: "a", runId: held.runId, execution: 1, sequence: 2 };
        const child = await setup.hold("child", { parent });
        await setup.complete(child, '"done"');
        await setup.commit(terminateItem("a"));
        expect(await setup.read("child")).toMatchObject({ status: "completed", output: '"done"' });
        expect(await setup.provider.readInbox(child.key)).toEqual([]);
      },
    },
    {
      title: "the parent of a terminated child is told how it ended",
      async run(setup) {
        const held = await setup.hold("a");
        const parent = { id: "a", runId: held.runId, execution: 1, sequence: 2 };
        await setup.turn(held, {
          events: [eventText()],
          starts: [newInstance({ id: "child", parent })],
        });
        await setup.commit(terminateItem("child"));
        const [message] = await setup.due(held);
        expect(message).toMatchObject({ kind: "child", execution: 1, sequence: 2 });
        expect(JSON.parse(message?.data ?? "null")).toMatchObject({
          kind: "ChildFailed",
          scheduled: 2,
          outcome: "terminated",
          failure: { message: "why" },
        });
      },
    },
    {
      title:
        "an instance that never ran can be terminated, and its history begins with its start (I4)",
      async run(setup) {
        const { key } = await setup.start("a", { delayMs: 60_000 });
        expect(await setup.commit(terminateItem("a"))).toEqual({ kind: "done" });
        expect(await setup.read("a")).toMatchObject({ status: "terminated" });
        expect(await setup.provider.readInbox(key)).toEqual([]);
        const events = await setup.events({ key, execution: 1 });
        expect(events.map((event) => event.kind)).toEqual([
          "OrchestrationStarted",
          "OrchestrationFailed",
        ]);
        expect(await setup.read("a")).toMatchObject({ lastEvent: 2 });
      },
    },
    {
      title: "terminating what does not exist, or has ended, is refused",
      async run(setup) {
        expect(await setup.commit(terminateItem("nobody"))).toEqual({
          kind: "refused",
          code: "INSTANCE_NOT_FOUND",
        });
        const held = await setup.hold("a");
        await setup.commit(terminateItem("a"));
        const record = await setup.read("a");
        await setup.environment.advance(10);
        expect(await setup.commit(terminateItem("a"))).toEqual({
          kind: "refused",
          code: "INSTANCE_FINISHED",
        });
        expect(await setup.read("a")).toEqual(record);
        expect(await setup.events(held)).toHaveLength(2);
      },
    },
    {
      title: "a terminated instance is leased to nobody, and no timer of it wakes anybody",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.turn(held, {
          events: [eventText()],
          timers: [{ kind: "timer", sequence: 2, delayMs: 100 }],
        });
        await setup.commit(terminateItem("a"));
        await setup.environment.advance(1_000);
        await setup.leaseNothing(ALPHA);
        expect((await setup.leaseNothing(BETA)).nextAt).toBeNull();
      },
    },
    {
      title: "a renewal tells the owner of a terminated instance that it is lost",
      async run(setup) {
        const held = await setup.hold("a", { leaseMs: 10_000 });
        await setup.commit(terminateItem("a"));
        expect(await setup.provider.renewInstances([held], 10_000)).toEqual([held.key]);
      },
    },
    {
      title:
        "a terminated child is told neither to a parent that has ended nor to its namesake (N1)",
      async run(setup) {
        const held = await setup.hold("a");
        const parent = { id: "a", runId: held.runId, execution: 1 };
        await setup.turn(held, {
          events: [eventText(), eventText()],
          starts: [
            newInstance({ id: "first", parent: { ...parent, sequence: 2 } }),
            newInstance({ id: "second", parent: { ...parent, sequence: 3 } }),
          ],
        });
        await setup.complete(held);
        expect(await setup.commit(terminateItem("first"))).toEqual({ kind: "done" });
        expect(await setup.provider.readInbox(held.key)).toEqual([]);
        await setup.commit(startItem({ id: "a", onConflict: "restart" }));
        expect(await setup.commit(terminateItem("second"))).toEqual({ kind: "done" });
        expect(await setup.inboxKinds(held.key)).toEqual(["start"]);
      },
    },
    {
      title: "a child that is terminated with no parent left to tell is terminated all the same",
      async run(setup) {
        const parent = { id: "nobody", runId: "run-nobody", execution: 1, sequence: 2 };
        await setup.start("orphan", { parent });
        expect(await setup.commit(terminateItem("orphan"))).toEqual({ kind: "done" });
        expect(await setup.read("orphan")).toMatchObject({ status: "terminated" });
      },
    },
  ],
};

// Contract of terminate: it ends an instance at once, whether or not a runtime has leased it
// (semantics 19, 19a).

import { expect } from "vitest";
import type { ContractSubject } from "../contract-case.ts";
import {
  ALPHA,
  BETA,
  claimOf,
  eventText,
  failedText,
  LEASE_LOST,
  newInstance,
  outcomeText,
  refused,
  sendItem,
  startItem,
  TASK_LEASE,
  terminateItem,
  turnItem,
} from "../fixture.ts";

export const terminate: ContractSubject = {
  subject: "terminate",
  cases: [
    {
      title: "the terminate item determines whether the instance ends as terminated or as failed",
      async run(setup) {
        await setup.hold("a");
        const terminated = failedText("failed");
        await setup.commit({ ...terminateItem("a"), status: "failed", terminated });
        expect(await setup.read("a")).toMatchObject({ status: "failed", error: terminated });
      },
    },
    {
      title: "a terminated instance is ended when the call returns",
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
      title: "a turn of the owner that is in flight is refused (19a)",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.commit(terminateItem("a"));
        expect(await setup.commit(turnItem(held, { events: [eventText()] }))).toEqual(LEASE_LOST);
        const afterwards = turnItem(held, { lastEvent: 2, events: [eventText()] });
        expect(await setup.commit(afterwards)).toEqual(LEASE_LOST);
        const { key, token } = held;
        expect(await setup.commit({ kind: "releaseInstance", key, token })).toEqual(LEASE_LOST);
        expect(await setup.events(held)).toHaveLength(2);
      },
    },
    {
      title:
        "the waiting and leased tasks of a terminated instance are deleted, and late outcomes are refused",
      async run(setup) {
        const { held, task: address } = await setup.holdTask("a", {
          lease: TASK_LEASE,
        });
        await setup.schedule(held);
        await setup.commit(terminateItem("a"));
        expect(await setup.provider.readTasks(held)).toEqual([]);
        await setup.leaseNoTask();
        const task = claimOf(address);
        expect(await setup.provider.lostTasks([task])).toHaveLength(1);
        const outcome = outcomeText(address.sequence);
        expect(await setup.commit({ kind: "completion", task, outcome })).toEqual(LEASE_LOST);
        expect(await setup.provider.readInbox(held.key)).toEqual([]);
      },
    },
    {
      title:
        "the timers and completions of a terminated instance are deleted, and unread events stay readable (messages.1, 18a)",
      async run(setup) {
        const { held, task } = await setup.holdTask("a", { lease: TASK_LEASE });
        await setup.turn(held, { timers: [{ kind: "timer", sequence: 9, delayMs: 1_000 }] });
        const outcome = outcomeText(task.sequence);
        await setup.commit({ kind: "completion", task: claimOf(task), outcome });
        await setup.commit(sendItem({ id: "a" }));
        await setup.commit(terminateItem("a"));
        expect(await setup.inboxKinds(held.key)).toEqual(["event"]);
      },
    },
    {
      title:
        "the children of a terminated instance receive a cancel request, except abandoned ones (19a)",
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
      title: "terminating an instance does not change ended children",
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
      title: "the parent of a terminated child receives the outcome",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.startChild(held, "child");
        await setup.commit(terminateItem("child"));
        expect(await setup.childFailure(held)).toMatchObject({
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
        expect(await setup.eventKinds({ key, execution: 1 })).toEqual([
          "OrchestrationStarted",
          "OrchestrationFailed",
        ]);
        expect(await setup.read("a")).toMatchObject({ lastEvent: 2 });
      },
    },
    {
      title: "terminating an instance that does not exist or has ended is refused",
      async run(setup) {
        expect(await setup.commit(terminateItem("missing"))).toEqual(refused("INSTANCE_NOT_FOUND"));
        const held = await setup.hold("a");
        await setup.commit(terminateItem("a"));
        const record = await setup.read("a");
        await setup.environment.advance(10);
        expect(await setup.commit(terminateItem("a"))).toEqual(refused("INSTANCE_FINISHED"));
        expect(await setup.read("a")).toEqual(record);
        expect(await setup.events(held)).toHaveLength(2);
      },
    },
    {
      title: "a terminated instance is never leased, and its timers do not fire",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.timer(held, { delayMs: 100 });
        await setup.commit(terminateItem("a"));
        await setup.environment.advance(1_000);
        await setup.leaseNothing(ALPHA);
        expect((await setup.leaseNothing(BETA)).nextAt).toBeNull();
      },
    },
    {
      title: "a renewal of a terminated instance returns its lease as lost",
      async run(setup) {
        const held = await setup.hold("a", { leaseMs: 10_000 });
        await setup.commit(terminateItem("a"));
        expect(await setup.provider.renewInstances([held], 10_000)).toEqual([held.key]);
      },
    },
    {
      title:
        "the outcome of a terminated child reaches neither an ended parent nor a restarted parent with the same id (provider.instances.1)",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.startChild(held, "first");
        await setup.startChild(held, "second");
        await setup.complete(held);
        expect(await setup.commit(terminateItem("first"))).toEqual({ kind: "done" });
        expect(await setup.provider.readInbox(held.key)).toEqual([]);
        await setup.commit(startItem({ id: "a", onConflict: "restart" }));
        expect(await setup.commit(terminateItem("second"))).toEqual({ kind: "done" });
        expect(await setup.inboxKinds(held.key)).toEqual(["start"]);
      },
    },
    {
      title: "a child without an existing parent can be terminated",
      async run(setup) {
        const parent = { id: "missing", runId: "run-missing", execution: 1, sequence: 2 };
        await setup.start("orphan", { parent });
        expect(await setup.commit(terminateItem("orphan"))).toEqual({ kind: "done" });
        expect(await setup.read("orphan")).toMatchObject({ status: "terminated" });
      },
    },
  ],
};

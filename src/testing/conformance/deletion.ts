// Deletion: an instance and its descendants with all that is theirs, and nothing comes back (AD3).

import { expect } from "vitest";
import type { ParentLink } from "../../core/history-events.ts";
import type { DeleteResult } from "../../core/provider/index.ts";
import { continueAsNew } from "./continue-as-new.ts";
import type { ContractSubject } from "./contract-case.ts";
import {
  ALPHA,
  BETA,
  claimOf,
  eventText,
  heldFrom,
  keepItem,
  newInstance,
  newTask,
  outcomeText,
  outgoing,
  sendItem,
  startItem,
  stateChange,
  turnItem,
  type Held,
} from "./fixture.ts";
import type { Setup } from "./setup.ts";

const LOST = { kind: "refused", code: "LEASE_LOST" };

function remove(setup: Setup, id: string, force = false): Promise<DeleteResult> {
  return setup.provider.deleteInstance({ id, force });
}

/** A child that is held like its parent. */
async function holdChild(setup: Setup, parent: Held, id: string): Promise<Held> {
  const sequence = parent.lastEvent + 1;
  const link: ParentLink = { id: parent.id, runId: parent.runId, execution: 1, sequence };
  await setup.turn(parent, {
    events: [eventText()],
    starts: [newInstance({ id, parent: link, onParentClose: "abandon" })],
  });
  const leased = await setup.leaseOnly(id, ALPHA);
  const held = heldFrom(leased);
  await setup.turn(held, {
    events: [eventText()],
    version: "1.0.0",
    consumed: leased.messages.map((message) => message.id),
  });
  return held;
}

export const deletion: ContractSubject = {
  subject: "deletion",
  cases: [
    {
      title: "an ended instance is deleted with everything, and the answer says how much",
      async run(setup) {
        const held = await setup.hold("a");
        await continueAsNew(setup, held);
        const state = stateChange({ keyValues: [{ key: "k", value: "1" }] });
        await setup.turn(held, { events: [eventText(), eventText()], state });
        await setup.commit(sendItem({ id: "a" }));
        await setup.complete(held);
        expect(await remove(setup, "a")).toEqual({
          kind: "deleted",
          instances: 1,
          executions: 2,
          events: 5,
          messages: 1,
        });
        const { key } = held;
        expect(await setup.provider.readInstance("a")).toBeNull();
        expect(await setup.provider.readExecutions(key)).toEqual([]);
        expect(await setup.provider.readHistory({ key, execution: 2 })).toEqual([]);
        expect(await setup.provider.readInbox(key)).toEqual([]);
        expect(await setup.provider.readKeyValues("a")).toEqual([]);
        expect(await setup.provider.countInstances({})).toBe(0);
      },
    },
    {
      title: "what does not exist is refused, by force too",
      async run(setup) {
        for (const force of [false, true]) {
          expect(await remove(setup, "nobody", force)).toMatchObject({
            kind: "refused",
            code: "INSTANCE_NOT_FOUND",
          });
        }
        await setup.complete(await setup.hold("a"));
        expect(await remove(setup, "a")).toMatchObject({ kind: "deleted" });
        expect(await remove(setup, "a")).toMatchObject({ code: "INSTANCE_NOT_FOUND" });
      },
    },
    {
      title: "a live instance is refused and named, whether it waits or is held",
      async run(setup) {
        await setup.start("pending");
        const held = await setup.hold("running");
        for (const id of ["pending", "running"]) {
          const result = await remove(setup, id);
          expect(result).toMatchObject({ kind: "refused", code: "INSTANCE_RUNNING" });
          expect(result).toHaveProperty("message", expect.stringContaining(id));
        }
        await setup.turn(held, { events: [eventText()] });
        await setup.leaseOnly("pending");
      },
    },
    {
      title: "an instance with a live descendant is refused, and nothing of the tree is gone",
      async run(setup) {
        const root = await setup.hold("root");
        const child = await holdChild(setup, root, "child");
        await holdChild(setup, child, "grandchild");
        await setup.complete(child);
        await setup.complete(root);
        const result = await remove(setup, "root");
        expect(result).toMatchObject({ kind: "refused", code: "INSTANCE_RUNNING" });
        expect(result).toHaveProperty("message", expect.stringContaining("grandchild"));
        for (const id of ["root", "child", "grandchild"]) await setup.read(id);
        expect(await setup.events(root)).toHaveLength(3);
      },
    },
    {
      title: "a tree is deleted whole, from the root down, and others are left alone",
      async run(setup) {
        const root = await setup.hold("root");
        const first = await holdChild(setup, root, "first");
        const grand = await holdChild(setup, first, "grand");
        const second = await holdChild(setup, root, "second");
        await setup.turn(first, {
          events: [eventText()],
          starts: [newInstance({ id: "detached" })],
        });
        for (const held of [grand, first, second, root]) await setup.complete(held);
        expect(await remove(setup, "root")).toMatchObject({ kind: "deleted", instances: 4 });
        for (const id of ["root", "first", "grand", "second"]) {
          expect(await setup.provider.readInstance(id)).toBeNull();
        }
        expect(await setup.read("detached")).toMatchObject({ status: "pending" });
      },
    },
    {
      title: "a child whose parent exists is refused, and by force deleted alone with its own",
      async run(setup) {
        const root = await setup.hold("root");
        const child = await holdChild(setup, root, "child");
        await setup.complete(child);
        expect(await remove(setup, "child")).toMatchObject({
          kind: "refused",
          code: "INVALID_ARGUMENT",
        });
        await setup.complete(root);
        expect(await remove(setup, "child")).toMatchObject({ code: "INVALID_ARGUMENT" });
        expect(await remove(setup, "child", true)).toMatchObject({ kind: "deleted", instances: 1 });
        expect(await setup.read("root")).toMatchObject({ status: "completed" });
      },
    },
    {
      title: "a child whose parent exists no more is deleted like any other",
      async run(setup) {
        const parent = { id: "gone", runId: "r", execution: 1, sequence: 2 };
        await setup.complete(await setup.hold("orphan", { parent }));
        expect(await remove(setup, "orphan")).toMatchObject({ kind: "deleted", instances: 1 });
      },
    },
    {
      title: "by force a live tree goes, with its tasks, timers and messages",
      async run(setup) {
        const root = await setup.hold("root");
        await setup.schedule(root);
        await setup.turn(root, {
          events: [eventText()],
          timers: [{ kind: "timer", sequence: 3, delayMs: 10 }],
        });
        const child = await holdChild(setup, root, "child");
        await setup.schedule(child);
        await setup.commit(sendItem({ id: "child" }));
        expect(await remove(setup, "root", true)).toMatchObject({
          kind: "deleted",
          instances: 2,
          messages: 2,
        });
        await setup.environment.advance(1_000);
        expect((await setup.leaseTasks()).tasks).toEqual([]);
        expect(await setup.leaseNothing()).toMatchObject({ nextAt: null, more: false });
        expect(await setup.provider.readMetrics()).toMatchObject({
          executions: 0,
          events: 0,
          dueMessages: 0,
          waitingTasks: 0,
        });
      },
    },
    {
      title: "a late commit of the owner is refused and brings nothing back (P8)",
      async run(setup) {
        const held = await setup.hold("a");
        const task = await setup.schedule(held, { lease: { owner: ALPHA, token: 77 } });
        const other = await setup.hold("other");
        await remove(setup, "a", true);
        const { key, token } = held;
        const results = await setup.provider.commit([
          turnItem(held, {
            events: [eventText()],
            tasks: [newTask({ sequence: 9 })],
            timers: [{ kind: "timer", sequence: 8, delayMs: 0 }],
            starts: [newInstance({ id: "child" })],
            sends: [outgoing({ id: "other" })],
            state: stateChange({ keyValues: [{ key: "k", value: "1" }] }),
          }),
          { kind: "completion", task: claimOf(task, 77), outcome: outcomeText(task.sequence) },
          { kind: "retry", task: claimOf(task, 77), delayMs: 0, failure: "{}" },
          { kind: "releaseTask", task: claimOf(task, 77) },
          { kind: "stepOutcome", key, token, execution: 1, sequence: 2, outcome: "{}" },
          { kind: "block", key, token, reason: "{}", by: ALPHA },
          { kind: "releaseInstance", key, token },
        ]);
        expect(results).toEqual(results.map(() => LOST));
        expect(await setup.provider.renewInstances([held], 1_000)).toEqual([key]);
        expect(await setup.provider.lostTasks([claimOf(task, 77)])).toHaveLength(1);
        expect(await setup.provider.readInstance("a")).toBeNull();
        expect(await setup.provider.readInstance("child")).toBeNull();
        expect(await setup.provider.readInbox(other.key)).toEqual([]);
        expect(await setup.provider.readInbox(key)).toEqual([]);
        expect(await setup.provider.readHistory(held)).toEqual([]);
        expect(await setup.provider.readTasks(held)).toEqual([]);
      },
    },
    {
      title: "whatever is sent to it is refused, or kept for the next of that id",
      async run(setup) {
        await setup.hold("a");
        await remove(setup, "a", true);
        const notFound = { kind: "refused", code: "INSTANCE_NOT_FOUND" };
        expect(await setup.commit(sendItem({ id: "a" }))).toEqual(notFound);
        expect(await setup.commit({ kind: "pause", id: "a", info: "{}" })).toEqual(notFound);
        expect(await setup.commit({ kind: "unblock", id: "a" })).toEqual(notFound);
        expect(await setup.commit(keepItem({ id: "a", data: "1" }))).toEqual({ kind: "done" });
        const { key } = await setup.start("a");
        expect(await setup.inboxKinds(key)).toEqual(["start", "event"]);
      },
    },
    {
      title: "its id can be started afresh, under another key, and nothing old reaches it (N1)",
      async run(setup) {
        const old = await setup.hold("a", { requestId: "r" });
        const task = await setup.schedule(old, { lease: { owner: ALPHA, token: 77 } });
        const state = stateChange({
          status: { value: "1" },
          keyValues: [{ key: "k", value: "1" }],
        });
        await setup.turn(old, { state });
        await setup.commit(sendItem({ id: "a", requestId: "s" }));
        await remove(setup, "a", true);
        const fresh = await setup.hold("a", { requestId: "r2" });
        expect(fresh.key).not.toBe(old.key);
        const outcome = outcomeText(task.sequence);
        const late = { kind: "completion", task: claimOf(task, 77), outcome } as const;
        expect(await setup.commit(late)).toEqual(LOST);
        expect(await setup.commit(turnItem(old, { events: [eventText()] }))).toEqual(LOST);
        expect(await setup.provider.readInbox(fresh.key)).toEqual([]);
        expect(await setup.provider.readKeyValues("a")).toEqual([]);
        expect(await setup.read("a")).toMatchObject({
          execution: 1,
          customStatus: null,
          lastEvent: 1,
        });
        expect(await setup.events(fresh)).toHaveLength(1);
      },
    },
    {
      title: "a live parent hears that its live child was deleted, and waits for it no longer",
      async run(setup) {
        const root = await setup.hold("root");
        await holdChild(setup, root, "child");
        await remove(setup, "child", true);
        const [message] = await setup.due(root);
        expect(message).toMatchObject({ kind: "child", execution: 1, sequence: 2 });
        expect(JSON.parse(message?.data ?? "")).toMatchObject({
          kind: "ChildFailed",
          scheduled: 2,
          outcome: "terminated",
        });
      },
    },
    {
      title: "a parent that knows its child's outcome hears nothing more when the child is deleted",
      async run(setup) {
        const root = await setup.hold("root");
        const child = await holdChild(setup, root, "child");
        await setup.complete(child);
        await remove(setup, "child", true);
        expect(await setup.provider.readInbox(root.key)).toEqual([]);
      },
    },
    {
      title: "a child's late outcome for a deleted parent goes nowhere",
      async run(setup) {
        const root = await setup.hold("root");
        const other = await setup.hold("other");
        await setup.complete(root);
        await remove(setup, "root");
        const again = await setup.hold("root");
        await setup.turn(other, {
          events: [eventText()],
          sends: [
            outgoing(
              { id: "root", runId: root.runId },
              { kind: "child", execution: 1, sequence: 2 },
            ),
          ],
        });
        expect(await setup.provider.readInbox(again.key)).toEqual([]);
      },
    },
    {
      title: "a paused, a blocked and a restarted instance are live, and go by force",
      async run(setup) {
        await setup.hold("paused");
        await setup.commit({ kind: "pause", id: "paused", info: "{}" });
        const { key, token } = await setup.hold("blocked");
        await setup.commit({ kind: "block", key, token, reason: "{}", by: ALPHA });
        await setup.complete(await setup.hold("restarted"));
        await setup.commit(startItem({ id: "restarted", onConflict: "restart" }));
        for (const id of ["paused", "blocked", "restarted"]) {
          expect(await remove(setup, id)).toMatchObject({ code: "INSTANCE_RUNNING" });
          expect(await remove(setup, id, true)).toMatchObject({ kind: "deleted", instances: 1 });
        }
        expect(await setup.provider.countInstances({})).toBe(0);
      },
    },
    {
      title: "those who watch an instance hear that it, and each of its descendants, is gone",
      async run(setup) {
        const root = await setup.hold("root");
        await holdChild(setup, root, "child");
        const changed: string[] = [];
        setup.provider.subscribe((news) => changed.push(...news.changed));
        await remove(setup, "root", true);
        await setup.environment.settle();
        expect(changed.toSorted()).toEqual(["child", "root"]);
      },
    },
    {
      title: "a deleted instance on one side cannot be written to on the other",
      needs: ["reopen"],
      async run(setup) {
        const held = await setup.hold("a");
        const other = await setup.another();
        expect(await other.deleteInstance({ id: "a", force: true })).toMatchObject({
          kind: "deleted",
        });
        expect(await setup.commit(turnItem(held, { events: [eventText()] }))).toEqual(LOST);
        await setup.leaseNothing(BETA);
      },
    },
  ],
};

// Contract of deletion: it removes an instance, its descendants and all their data for good (admin.3).

import { expect } from "vitest";
import type { DeleteResult } from "../../../core/provider/index.ts";
import { continueAsNew } from "../instances/continue-as-new.ts";
import type { ContractSubject } from "../contract-case.ts";
import {
  ALPHA,
  BETA,
  claimOf,
  eventText,
  type Held,
  heldFrom,
  keepItem,
  LEASE_LOST,
  newInstance,
  newTask,
  outcomeText,
  outgoing,
  refused,
  sendItem,
  startItem,
  stateChange,
  TASK_LEASE,
  turnItem,
} from "../fixture.ts";
import type { Setup } from "../setup.ts";

function remove(setup: Setup, id: string, force = false): Promise<DeleteResult> {
  return setup.provider.deleteInstance({ id, force });
}

/** Starts a child and leases it. */
async function holdChild(setup: Setup, parent: Held, id: string): Promise<Held> {
  await setup.startChild(parent, id, { onParentClose: "abandon" });
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
      title: "an ended instance is deleted with all its data, and the result contains the numbers",
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
      title: "deleting an instance that does not exist is refused, also with force",
      async run(setup) {
        for (const force of [false, true]) {
          expect(await remove(setup, "missing", force)).toMatchObject(
            refused("INSTANCE_NOT_FOUND"),
          );
        }
        await setup.complete(await setup.hold("a"));
        expect(await remove(setup, "a")).toMatchObject({ kind: "deleted" });
        expect(await remove(setup, "a")).toMatchObject({ code: "INSTANCE_NOT_FOUND" });
      },
    },
    {
      title: "deleting a live instance is refused, and the message names the instance",
      async run(setup) {
        await setup.start("pending");
        const held = await setup.hold("running");
        for (const id of ["pending", "running"]) {
          const result = await remove(setup, id);
          expect(result).toMatchObject(refused("INSTANCE_RUNNING"));
          expect(result).toHaveProperty("message", expect.stringContaining(id));
        }
        await setup.turn(held, { events: [eventText()] });
        await setup.leaseOnly("pending");
      },
    },
    {
      title: "deleting an instance with a live descendant is refused, and the whole tree is kept",
      async run(setup) {
        const root = await setup.hold("root");
        const child = await holdChild(setup, root, "child");
        await holdChild(setup, child, "grandchild");
        await setup.complete(child);
        await setup.complete(root);
        const result = await remove(setup, "root");
        expect(result).toMatchObject(refused("INSTANCE_RUNNING"));
        expect(result).toHaveProperty("message", expect.stringContaining("grandchild"));
        for (const id of ["root", "child", "grandchild"]) await setup.read(id);
        expect(await setup.events(root)).toHaveLength(3);
      },
    },
    {
      title: "deleting a root deletes its whole tree and no other instance",
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
      title:
        "deleting a child with an existing parent is refused, and with force deletes only the child and its descendants",
      async run(setup) {
        const root = await setup.hold("root");
        const child = await holdChild(setup, root, "child");
        await setup.complete(child);
        expect(await remove(setup, "child")).toMatchObject(refused("INVALID_ARGUMENT"));
        await setup.complete(root);
        expect(await remove(setup, "child")).toMatchObject({ code: "INVALID_ARGUMENT" });
        expect(await remove(setup, "child", true)).toMatchObject({ kind: "deleted", instances: 1 });
        expect(await setup.read("root")).toMatchObject({ status: "completed" });
      },
    },
    {
      title: "a child whose parent no longer exists can be deleted",
      async run(setup) {
        const parent = { id: "gone", runId: "r", execution: 1, sequence: 2 };
        await setup.complete(await setup.hold("orphan", { parent }));
        expect(await remove(setup, "orphan")).toMatchObject({ kind: "deleted", instances: 1 });
      },
    },
    {
      title: "force deletes a live tree with its tasks, timers and messages",
      async run(setup) {
        const { held: root } = await setup.holdTask("root");
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
        await setup.leaseNoTask();
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
      title: "a late commit of the owner is refused and does not recreate the instance (P8)",
      async run(setup) {
        const { held, task } = await setup.holdTask("a", { lease: TASK_LEASE });
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
          { kind: "completion", task: claimOf(task), outcome: outcomeText(task.sequence) },
          { kind: "retry", task: claimOf(task), delayMs: 0, failure: "{}" },
          { kind: "releaseTask", task: claimOf(task) },
          { kind: "stepOutcome", key, token, execution: 1, sequence: 2, outcome: "{}" },
          { kind: "block", key, token, reason: "{}", by: ALPHA },
          { kind: "releaseInstance", key, token },
        ]);
        expect(results).toEqual(results.map(() => LEASE_LOST));
        expect(await setup.provider.renewInstances([held], 1_000)).toEqual([key]);
        expect(await setup.provider.lostTasks([claimOf(task)])).toHaveLength(1);
        expect(await setup.provider.readInstance("a")).toBeNull();
        expect(await setup.provider.readInstance("child")).toBeNull();
        expect(await setup.provider.readInbox(other.key)).toEqual([]);
        expect(await setup.provider.readInbox(key)).toEqual([]);
        expect(await setup.provider.readHistory(held)).toEqual([]);
        expect(await setup.provider.readTasks(held)).toEqual([]);
      },
    },
    {
      title:
        "messages to a deleted instance are refused, or kept for the next instance with its id",
      async run(setup) {
        await setup.hold("a");
        await remove(setup, "a", true);
        const notFound = refused("INSTANCE_NOT_FOUND");
        expect(await setup.commit(sendItem({ id: "a" }))).toEqual(notFound);
        expect(await setup.commit({ kind: "pause", id: "a", info: "{}" })).toEqual(notFound);
        expect(await setup.commit({ kind: "unblock", id: "a" })).toEqual(notFound);
        expect(await setup.commit(keepItem({ id: "a", data: "1" }))).toEqual({ kind: "done" });
        const { key } = await setup.start("a");
        expect(await setup.inboxKinds(key)).toEqual(["start", "event"]);
      },
    },
    {
      title:
        "the id of a deleted instance can be used again, with a new key and without any old data (provider.instances.1)",
      async run(setup) {
        const old = await setup.hold("a", { requestId: "r" });
        const task = await setup.schedule(old, { lease: TASK_LEASE });
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
        const late = { kind: "completion", task: claimOf(task), outcome } as const;
        expect(await setup.commit(late)).toEqual(LEASE_LOST);
        expect(await setup.commit(turnItem(old, { events: [eventText()] }))).toEqual(LEASE_LOST);
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
      title: "a live parent receives an outcome when its live child is deleted",
      async run(setup) {
        const root = await setup.hold("root");
        await holdChild(setup, root, "child");
        await remove(setup, "child", true);
        expect(await setup.childFailure(root)).toMatchObject({ outcome: "terminated" });
      },
    },
    {
      title: "a parent that has its child's outcome receives nothing when the child is deleted",
      async run(setup) {
        const root = await setup.hold("root");
        const child = await holdChild(setup, root, "child");
        await setup.complete(child);
        await remove(setup, "child", true);
        expect(await setup.provider.readInbox(root.key)).toEqual([]);
      },
    },
    {
      title: "a late child outcome for a deleted parent is dropped",
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
      title: "paused, blocked and restarted instances are live and can be deleted only with force",
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
      title: "listeners are notified of the deletion of an instance and of each of its descendants",
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
      title: "an instance that one provider has deleted cannot be written through the other",
      needs: ["reopen"],
      async run(setup) {
        const held = await setup.hold("a");
        const other = await setup.another();
        expect(await other.deleteInstance({ id: "a", force: true })).toMatchObject({
          kind: "deleted",
        });
        expect(await setup.commit(turnItem(held, { events: [eventText()] }))).toEqual(LEASE_LOST);
        await setup.leaseNothing(BETA);
      },
    },
  ],
};

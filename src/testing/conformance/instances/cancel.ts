// Contract of cancel: the code of the instance handles the request, unless the instance is blocked
// (semantics 19, 19a).

import { expect } from "vitest";
import type { ContractSubject } from "../contract-case.ts";
import {
  ALPHA,
  cancelItem,
  cancelText,
  claimOf,
  eventText,
  outcomeText,
  outgoing,
  refused,
  TASK_LEASE,
  turnItem,
} from "../fixture.ts";
import type { Setup } from "../setup.ts";

async function blocked(setup: Setup, id: string) {
  const held = await setup.hold(id);
  const task = await setup.schedule(held, { lease: TASK_LEASE });
  const { key, token } = held;
  const reason = '{"code":"NONDETERMINISM"}';
  const block = { kind: "block", key, token, reason, by: ALPHA } as const;
  expect(await setup.commit(block)).toEqual({ kind: "done" });
  return { held, task };
}

export const cancel: ContractSubject = {
  subject: "cancel",
  cases: [
    {
      title: "a cancel request waits in the inbox and does not end the instance",
      async run(setup) {
        const held = await setup.hold("a");
        const item = cancelItem("a");
        expect(await setup.commit(item)).toEqual({ kind: "done" });
        expect(await setup.due(held)).toMatchObject([{ kind: "cancel", data: item.request }]);
        expect(await setup.read("a")).toMatchObject({ status: "running", owner: ALPHA });
        await setup.turn(held, { events: [eventText()] });
      },
    },
    {
      title: "a cancel request makes an instance without a lease due",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.turn(held, { release: true });
        await setup.commit(cancelItem("a"));
        expect((await setup.leaseOnly("a")).messages).toMatchObject([{ kind: "cancel" }]);
      },
    },
    {
      title: "a pending instance receives its start first and then the cancel request",
      async run(setup) {
        await setup.start("a");
        await setup.commit(cancelItem("a"));
        const leased = await setup.leaseOnly("a");
        expect(leased.messages.map((message) => message.kind)).toEqual(["start", "cancel"]);
      },
    },
    {
      title: "cancelling an instance that does not exist or has ended is refused",
      async run(setup) {
        expect(await setup.commit(cancelItem("missing"))).toEqual(refused("INSTANCE_NOT_FOUND"));
        const held = await setup.hold("a");
        await setup.complete(held, '"done"');
        expect(await setup.commit(cancelItem("a"))).toEqual(refused("INSTANCE_FINISHED"));
        expect(await setup.read("a")).toMatchObject({ status: "completed", output: '"done"' });
        expect(await setup.provider.readInbox(held.key)).toEqual([]);
      },
    },
    {
      title: "the instance shows the cancel request after a turn has consumed it",
      async run(setup) {
        const held = await setup.hold("a");
        const item = cancelItem("a");
        await setup.commit(item);
        const consumed = (await setup.due(held)).map((message) => message.id);
        const events = [item.request];
        await setup.turn(held, { events, consumed, cancelRequested: item.request });
        expect(await setup.read("a")).toMatchObject({ cancelRequested: item.request });
        await setup.turn(held, { events: [eventText()] });
        expect(await setup.read("a")).toMatchObject({ cancelRequested: item.request });
      },
    },
    {
      title: "a repeated cancel is stored once",
      async run(setup) {
        const held = await setup.hold("a");
        const item = cancelItem("a");
        await setup.commit(item);
        expect(await setup.commit(item)).toEqual({ kind: "done" });
        expect(await setup.inboxKinds(held.key)).toEqual(["cancel"]);
      },
    },
    {
      title: "a turn's cancel reaches the child it names",
      async run(setup) {
        const child = await setup.hold("child");
        const held = await setup.hold("a");
        const data = cancelText("the parent lost interest");
        const sent = outgoing({ id: "child" }, { kind: "cancel", data, key: "cancel" });
        await setup.turn(held, { events: [eventText()], sends: [sent] });
        expect(await setup.due(child)).toMatchObject([{ kind: "cancel", data }]);
      },
    },
    {
      title: "a turn that cancels a child that has not begun gets its outcome at once",
      async run(setup) {
        const held = await setup.hold("a");
        const parent = { id: "a", runId: held.runId, execution: 1, sequence: 2 };
        await setup.start("child", { parent, delayMs: 5_000 });
        const data = cancelText("the parent lost interest");
        const sent = outgoing({ id: "child" }, { kind: "cancel", data, key: "cancel" });
        const { due } = await setup.turn(held, { events: [eventText()], sends: [sent] });
        expect(due).toMatchObject([{ kind: "child", sequence: 2 }]);
        expect(await setup.read("child")).toMatchObject({ status: "cancelled" });
      },
    },
    {
      title: "a blocked instance is cancelled at once, without running its code (19a)",
      async run(setup) {
        const { held } = await blocked(setup, "a");
        const item = cancelItem("a");
        expect(await setup.commit(item)).toEqual({ kind: "done" });
        expect(await setup.read("a")).toMatchObject({
          status: "cancelled",
          error: item.cancelled,
          output: null,
          completedAt: setup.environment.now(),
        });
        const events = await setup.events(held);
        expect(events.at(-1)).toMatchObject({ kind: "OrchestrationFailed", outcome: "cancelled" });
        expect(await setup.read("a")).toMatchObject({ lastEvent: events.length });
        await setup.leaseNothing();
      },
    },
    {
      title: "cancelling a blocked instance deletes its tasks (19a)",
      async run(setup) {
        const { held, task } = await blocked(setup, "a");
        await setup.commit(cancelItem("a"));
        expect(await setup.provider.readTasks(held)).toEqual([]);
        const completion = {
          kind: "completion",
          task: claimOf(task),
          outcome: outcomeText(task.sequence),
        } as const;
        expect(await setup.commit(completion)).toMatchObject({ kind: "refused" });
        expect(await setup.commit(turnItem(held, { events: [eventText()] }))).toMatchObject({
          kind: "refused",
        });
      },
    },
    {
      title: "cancelling a delayed instance does not start it early",
      async run(setup) {
        await setup.start("a", { delayMs: 5_000 });
        expect(await setup.commit(cancelItem("a"))).toEqual({ kind: "done" });
        await setup.leaseNothing();
        await setup.environment.advance(5_000);
        const { status } = await setup.read("a");
        if (status === "cancelled") return;
        const leased = await setup.leaseOnly("a");
        expect(leased.messages.map((message) => message.kind)).toEqual(["start", "cancel"]);
      },
    },
    {
      title: "the parent of a blocked child that is cancelled receives the outcome",
      async run(setup) {
        const held = await setup.hold("parent");
        const parent = { id: "parent", runId: held.runId, execution: 1, sequence: 2 };
        const { key, token } = await setup.hold("child", { parent });
        await setup.commit({ kind: "block", key, token, reason: "{}", by: ALPHA });
        await setup.commit(cancelItem("child"));
        expect(await setup.childFailure(held)).toMatchObject({ outcome: "cancelled" });
      },
    },
  ],
};

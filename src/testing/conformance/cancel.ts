// Cancel: a request that the instance's own code answers, unless it is blocked (semantics 19, 19a).

import { expect } from "vitest";
import type { ContractSubject } from "./contract-case.ts";
import {
  ALPHA,
  cancelItem,
  cancelText,
  claimOf,
  eventText,
  outcomeText,
  outgoing,
  turnItem,
} from "./fixture.ts";
import type { Setup } from "./setup.ts";

async function blocked(setup: Setup, id: string) {
  const held = await setup.hold(id);
  const task = await setup.schedule(held, { lease: { owner: ALPHA, token: 77 } });
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
      title: "a cancel request waits in the inbox and ends nothing by itself",
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
      title: "a cancel request wakes an instance that nobody holds",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.turn(held, { release: true });
        await setup.commit(cancelItem("a"));
        expect((await setup.leaseOnly("a")).messages).toMatchObject([{ kind: "cancel" }]);
      },
    },
    {
      title: "a pending instance is told of its start first and of the cancel request after",
      async run(setup) {
        await setup.start("a");
        await setup.commit(cancelItem("a"));
        const leased = await setup.leaseOnly("a");
        expect(leased.messages.map((message) => message.kind)).toEqual(["start", "cancel"]);
      },
    },
    {
      title: "a cancel of an instance that does not exist or has ended is refused",
      async run(setup) {
        expect(await setup.commit(cancelItem("nobody"))).toEqual({
          kind: "refused",
          code: "INSTANCE_NOT_FOUND",
        });
        const held = await setup.hold("a");
        await setup.complete(held, '"done"');
        expect(await setup.commit(cancelItem("a"))).toEqual({
          kind: "refused",
          code: "INSTANCE_FINISHED",
        });
        expect(await setup.read("a")).toMatchObject({ status: "completed", output: '"done"' });
        expect(await setup.provider.readInbox(held.key)).toEqual([]);
      },
    },
    {
      title: "the turn that takes a cancel request leaves it on the instance for all to see",
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
      title: "a cancel that is repeated waits once",
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
      title: "a blocked instance is cancelled at once, its code not run (19a)",
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
      title: "a blocked instance that is cancelled takes its tasks with it (19a)",
      async run(setup) {
        const { held, task } = await blocked(setup, "a");
        await setup.commit(cancelItem("a"));
        expect(await setup.provider.readTasks(held)).toEqual([]);
        const completion = {
          kind: "completion",
          task: claimOf(task, 77),
          outcome: outcomeText(task.sequence),
        } as const;
        expect(await setup.commit(completion)).toMatchObject({ kind: "refused" });
        expect(await setup.commit(turnItem(held, { events: [eventText()] }))).toMatchObject({
          kind: "refused",
        });
      },
    },
    {
      title: "a cancel of an instance that is to begin later does not make it begin early",
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
      title: "the parent of a blocked child that is cancelled is told",
      async run(setup) {
        const held = await setup.hold("parent");
        const parent = { id: "parent", runId: held.runId, execution: 1, sequence: 2 };
        const { key, token } = await setup.hold("child", { parent });
        await setup.commit({ kind: "block", key, token, reason: "{}", by: ALPHA });
        await setup.commit(cancelItem("child"));
        const [message] = await setup.due(held);
        expect(message).toMatchObject({ kind: "child", execution: 1, sequence: 2 });
        expect(JSON.parse(message?.data ?? "null")).toMatchObject({
          kind: "ChildFailed",
          scheduled: 2,
          outcome: "cancelled",
        });
      },
    },
  ],
};

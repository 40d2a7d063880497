// Contract of settle: after a commit threw, it returns the outcome of each item (I14, commit.2).

import { expect } from "vitest";
import type { ContractSubject } from "../contract-case.ts";
import {
  ALPHA,
  BETA,
  cancelItem,
  claimOf,
  eventText,
  fresh,
  outcomeText,
  sendItem,
  startItem,
  TASK_LEASE,
  terminateItem,
  turnItem,
} from "../fixture.ts";
import type { CommitItem } from "../../../core/provider/index.ts";

export const settling: ContractSubject = {
  subject: "settle",
  cases: [
    {
      title: "an item of any kind that was not written settles as null and can be sent again",
      async run(setup) {
        const held = await setup.hold("a");
        const { key, token } = held;
        const task = claimOf(await setup.schedule(held, { lease: TASK_LEASE }), 77);
        const items: CommitItem[] = [
          startItem({ id: "new", requestId: "s" }),
          turnItem(held, { events: [eventText()] }),
          { kind: "completion", task, outcome: outcomeText(task.sequence) },
          { kind: "retry", task, delayMs: 5, failure: "{}" },
          { kind: "releaseTask", task },
          { kind: "stepOutcome", key, token, execution: 1, sequence: 2, outcome: "{}" },
          sendItem({ id: "a" }),
          { kind: "pause", id: "a", info: "{}" },
          cancelItem("a"),
          { kind: "block", key, token, reason: "{}", by: ALPHA },
          { kind: "releaseInstance", key, token },
          terminateItem("a"),
        ];
        const record = await setup.read("a");
        for (const item of items) {
          expect(await setup.provider.settle(item), item.kind).toBeNull();
        }
        expect(await setup.read("a")).toEqual(record);
        expect(await setup.provider.readInstance("new")).toBeNull();
        const [first, second] = items;
        if (first === undefined || second === undefined) return;
        const results = await setup.provider.commit([first, second]);
        expect(results).toMatchObject([{ kind: "started" }, { kind: "committed" }]);
      },
    },
    {
      title: "a written start settles with its key and execution",
      async run(setup) {
        const item = startItem({ id: "a", requestId: "r" });
        const result = await setup.commit(item);
        expect(await setup.provider.settle(item)).toEqual(result);
      },
    },
    {
      title: "a written start with a lease settles with its start message",
      async run(setup) {
        const lease = { owner: ALPHA, token: fresh() };
        const item = startItem({ id: "a", requestId: "r", lease });
        const result = await setup.commit(item);
        expect(await setup.provider.settle(item)).toEqual(result);
      },
    },
    {
      title: "a start settles by its request id, whatever happened to the instance since",
      async run(setup) {
        const item = startItem({ id: "a", requestId: "r" });
        const first = await setup.commit(item);
        await setup.commit(terminateItem("a"));
        expect(await setup.provider.settle(item)).toMatchObject({ ...first, leased: null });
        await setup.commit(startItem({ id: "a", requestId: "s", onConflict: "restart" }));
        expect(await setup.provider.settle(item)).toMatchObject({ ...first, leased: null });
      },
    },
    {
      title: "a start of another caller with the same id does not settle as the caller's start",
      async run(setup) {
        await setup.commit(startItem({ id: "a", requestId: "theirs" }));
        const settled = await setup.provider.settle(startItem({ id: "a", requestId: "mine" }));
        expect(settled?.kind ?? "refused").toBe("refused");
      },
    },
    {
      title: "a written turn settles as committed, with the messages that are due now",
      async run(setup) {
        const held = await setup.hold("a");
        const item = turnItem(held, { events: [eventText()] });
        await setup.commit(item);
        await setup.commit(sendItem({ id: "a", data: '"since"' }));
        const settled = await setup.provider.settle(item);
        expect(settled).toMatchObject({ kind: "committed", due: [{ data: '"since"' }] });
      },
    },
    {
      title: "a turn that ended or released its instance settles as committed, without messages",
      async run(setup) {
        const ended = await setup.hold("ended");
        const released = await setup.hold("released");
        const items = [
          turnItem(ended, {
            events: [eventText()],
            change: { kind: "ended", status: "completed", output: "1", error: null },
          }),
          turnItem(released, { events: [eventText()], release: true }),
        ];
        await setup.commit(sendItem({ id: "released" }));
        await setup.provider.commit(items);
        for (const item of items) {
          expect(await setup.provider.settle(item)).toEqual({ kind: "committed", due: [] });
        }
      },
    },
    {
      title: "a turn that continued as new settles as committed, with the next start",
      async run(setup) {
        const held = await setup.hold("a");
        const item = turnItem(held, {
          events: [eventText()],
          change: { kind: "continued", started: '{"n":2}', version: "1.0.0", unread: [] },
        });
        const result = await setup.commit(item);
        expect(await setup.provider.settle(item)).toEqual(result);
      },
    },
    {
      title: "a turn does not settle by another turn of the same instance (I14)",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.turn(held, { events: [eventText()] });
        const next = turnItem(held, { events: [eventText()] });
        expect(await setup.provider.settle(next)).toBeNull();
        await setup.commit(next);
        held.lastEvent += 1;
        expect(await setup.provider.settle(turnItem(held, { events: [eventText()] }))).toBeNull();
      },
    },
    {
      title: "a turn that was written before a termination settles as committed",
      async run(setup) {
        const held = await setup.hold("a");
        const item = turnItem(held, { events: [eventText()] });
        await setup.commit(item);
        await setup.commit(terminateItem("a"));
        expect(await setup.provider.settle(item)).toEqual({ kind: "committed", due: [] });
      },
    },
    {
      title: "a turn that was not written before a termination does not settle as committed",
      async run(setup) {
        const held = await setup.hold("a");
        const item = turnItem(held, { events: [eventText()] });
        await setup.commit(terminateItem("a"));
        const settled = await setup.provider.settle(item);
        expect(settled?.kind ?? "refused").toBe("refused");
      },
    },
    {
      title: "a written completion settles as done, whether consumed or not",
      async run(setup) {
        const { held } = await setup.holdTask("a");
        const task = await setup.leaseOneTask();
        const item = { kind: "completion", task, outcome: outcomeText(task.sequence) } as const;
        await setup.commit(item);
        expect(await setup.provider.settle(item)).toEqual({ kind: "done" });
        const consumed = (await setup.due(held)).map((message) => message.id);
        await setup.turn(held, { events: [item.outcome], consumed });
        expect(await setup.provider.settle(item)).toEqual({ kind: "done" });
      },
    },
    {
      title: "a written send settles as done, even after it was received and the instance ended",
      async run(setup) {
        const held = await setup.hold("a");
        const item = sendItem({ id: "a" });
        await setup.commit(item);
        expect(await setup.provider.settle(item)).toEqual({ kind: "done" });
        const consumed = (await setup.due(held)).map((message) => message.id);
        await setup.turn(held, { events: [eventText()], consumed });
        await setup.complete(held);
        expect(await setup.provider.settle(item)).toEqual({ kind: "done" });
      },
    },
    {
      title: "a written cancel settles as done, even after it was received and the instance ended",
      async run(setup) {
        const held = await setup.hold("a");
        const item = cancelItem("a");
        await setup.commit(item);
        const consumed = (await setup.due(held)).map((message) => message.id);
        const cancelRequested = item.request;
        await setup.turn(held, { events: [item.request], consumed, cancelRequested });
        expect(await setup.provider.settle(item)).toEqual({ kind: "done" });
        await setup.complete(held);
        expect(await setup.provider.settle(item)).toEqual({ kind: "done" });
      },
    },
    {
      title:
        "a completion that was not written does not settle as done after a takeover of its task",
      async run(setup) {
        await setup.holdTask("a");
        const task = await setup.leaseOneTask(ALPHA, { leaseMs: 1_000 });
        const item = { kind: "completion", task, outcome: outcomeText(task.sequence) } as const;
        await setup.environment.advance(1_001);
        await setup.leaseOneTask(BETA, { allowSuspect: true });
        expect((await setup.provider.settle(item))?.kind ?? "refused").toBe("refused");
      },
    },
    {
      title:
        "a block that was not written does not settle as done after a takeover of its instance",
      async run(setup) {
        const { key, token } = await setup.hold("a", { leaseMs: 1_000 });
        await setup.commit(sendItem({ id: "a" }));
        const item = { kind: "block", key, token, reason: '{"code":"X"}', by: ALPHA } as const;
        await setup.environment.advance(1_001);
        await setup.leaseOnly("a", BETA);
        expect((await setup.provider.settle(item))?.kind ?? "refused").toBe("refused");
      },
    },
  ],
};

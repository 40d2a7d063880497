// Conflicts: what a start does when its id is taken (semantics 1, I11).

import { expect } from "vitest";
import type { ContractSubject } from "./contract-case.ts";
import {
  ALPHA,
  BETA,
  cancelItem,
  cancelText,
  claimOf,
  eventText,
  failedText,
  fresh,
  newInstance,
  outcomeText,
  sendItem,
  startItem,
  turnItem,
} from "./fixture.ts";
import { continueAsNew } from "./continue-as-new.ts";

const EXISTS = { kind: "refused", code: "INSTANCE_EXISTS" };
const RUNNING = { kind: "refused", code: "INSTANCE_RUNNING" };

export const conflicts: ContractSubject = {
  subject: "restart and conflicts",
  cases: [
    {
      title: "fail: a taken id refuses the start, whether its instance runs or has ended",
      async run(setup) {
        const held = await setup.hold("a");
        const record = await setup.read("a");
        expect(await setup.commit(startItem({ id: "a" }))).toEqual(EXISTS);
        expect(await setup.read("a")).toEqual(record);
        await setup.complete(held);
        expect(await setup.commit(startItem({ id: "a" }))).toEqual(EXISTS);
        expect(await setup.read("a")).toMatchObject({ status: "completed", execution: 1 });
      },
    },
    {
      title: "useExisting: the instance is answered as it stands, and what was given is ignored",
      async run(setup) {
        const held = await setup.hold("a");
        const record = await setup.read("a");
        const item = startItem({
          id: "a",
          name: "other",
          onConflict: "useExisting",
          attributes: { ignored: "yes" },
          lease: { owner: BETA, token: fresh() },
        });
        expect(await setup.commit(item)).toEqual({ kind: "existing", key: held.key, execution: 1 });
        expect(await setup.read("a")).toEqual(record);
        expect(await setup.provider.readInbox(held.key)).toEqual([]);
        await setup.turn(held, { events: [eventText()] });
      },
    },
    {
      title: "useExisting: an instance that has ended is answered too",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.complete(held);
        const item = startItem({ id: "a", onConflict: "useExisting" });
        expect(await setup.commit(item)).toEqual({ kind: "existing", key: held.key, execution: 1 });
        expect(await setup.read("a")).toMatchObject({ status: "completed" });
      },
    },
    {
      title: "every policy starts the instance when the id is free",
      async run(setup) {
        for (const onConflict of ["fail", "useExisting", "restart", "terminateExisting"] as const) {
          const id = `free-${onConflict}`;
          expect(await setup.commit(startItem({ id, onConflict }))).toMatchObject({
            kind: "started",
            execution: 1,
          });
        }
      },
    },
    {
      title: "restart: refused while the instance has not ended, and nothing is changed",
      async run(setup) {
        const held = await setup.hold("a");
        const { key } = await setup.start("pending");
        const records = [await setup.read("a"), await setup.read("pending")];
        expect(await setup.commit(startItem({ id: "a", onConflict: "restart" }))).toEqual(RUNNING);
        const pending = startItem({ id: "pending", onConflict: "restart" });
        expect(await setup.commit(pending)).toEqual(RUNNING);
        expect([await setup.read("a"), await setup.read("pending")]).toEqual(records);
        expect(await setup.provider.readInbox(key)).toHaveLength(1);
        await setup.turn(held, { events: [eventText()] });
      },
    },
    {
      title: "restart: an instance that has ended begins execution n + 1, as new (I11)",
      async run(setup) {
        const held = await setup.hold("a", { attributes: { old: "1" } });
        await setup.commit(sendItem({ id: "a" }));
        await setup.complete(held, '"first"');
        await setup.environment.advance(10);
        const item = startItem({
          id: "a",
          onConflict: "restart",
          name: "order",
          version: "2.0.0",
          attributes: { renewed: "1" },
        });
        expect(await setup.commit(item)).toMatchObject({
          kind: "started",
          key: held.key,
          execution: 2,
          leased: null,
        });
        expect(await setup.read("a")).toMatchObject({
          key: held.key,
          runId: item.runId,
          version: "2.0.0",
          status: "pending",
          execution: 2,
          lastEvent: 0,
          output: null,
          error: null,
          completedAt: null,
          cancelRequested: null,
          attributes: { renewed: "1" },
        });
        const inbox = await setup.provider.readInbox(held.key);
        expect(inbox).toMatchObject([{ kind: "start", execution: 2, data: item.started }]);
      },
    },
    {
      title: "restart: the execution before stays readable (I11)",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.complete(held, '"first"');
        const before = await setup.provider.readHistory(held);
        await setup.commit(startItem({ id: "a", onConflict: "restart" }));
        expect(await setup.provider.readHistory(held)).toEqual(before);
        expect(await setup.provider.readHistory({ key: held.key, execution: 2 })).toEqual([]);
      },
    },
    {
      title: "restart: execution numbers go on after a continue as new",
      async run(setup) {
        const held = await setup.hold("a");
        await continueAsNew(setup, held);
        await continueAsNew(setup, held);
        await setup.complete(held);
        expect(await setup.commit(startItem({ id: "a", onConflict: "restart" }))).toMatchObject({
          kind: "started",
          execution: 4,
        });
      },
    },
    {
      title: "restart: can be born leased like any start",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.complete(held);
        const again = await setup.hold("a", { onConflict: "restart", owner: BETA });
        expect(again).toMatchObject({ key: held.key, execution: 2, lastEvent: 1 });
        expect(await setup.read("a")).toMatchObject({ status: "running", owner: BETA });
      },
    },
    {
      title: "terminateExisting: a live execution is terminated and the next begins",
      async run(setup) {
        const held = await setup.hold("a");
        const item = startItem({ id: "a", onConflict: "terminateExisting" });
        expect(await setup.commit(item)).toMatchObject({
          kind: "started",
          key: held.key,
          execution: 2,
        });
        expect((await setup.events(held)).at(-1)).toMatchObject({
          kind: "OrchestrationFailed",
          outcome: "terminated",
        });
        expect(await setup.read("a")).toMatchObject({
          status: "pending",
          execution: 2,
          runId: item.runId,
          error: null,
          lastEvent: 0,
        });
        await setup.leaseOnly("a", BETA);
      },
    },
    {
      title: "terminateExisting: the old owner's turn is refused, and its tasks are gone (19a)",
      async run(setup) {
        const held = await setup.hold("a");
        const address = await setup.schedule(held, { lease: { owner: ALPHA, token: 77 } });
        await setup.commit(startItem({ id: "a", onConflict: "terminateExisting" }));
        expect(await setup.commit(turnItem(held, { events: [eventText()] }))).toMatchObject({
          kind: "refused",
        });
        const task = claimOf(address, 77);
        const outcome = outcomeText(address.sequence);
        expect(await setup.commit({ kind: "completion", task, outcome })).toMatchObject({
          kind: "refused",
        });
        expect(await setup.provider.readTasks(held)).toEqual([]);
        expect(await setup.inboxKinds(held.key)).toEqual(["start"]);
      },
    },
    {
      title: "terminateExisting: the mailbox of the next execution is empty (I11)",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.commit(sendItem({ id: "a" }));
        await setup.turn(held, { timers: [{ kind: "timer", sequence: 9, delayMs: 1 }] });
        await setup.commit(startItem({ id: "a", onConflict: "terminateExisting" }));
        await setup.environment.advance(10);
        const leased = await setup.leaseOnly("a", BETA);
        expect(leased.messages.map((message) => message.kind)).toEqual(["start"]);
      },
    },
    {
      title: "terminateExisting: children that are not abandoned are asked to cancel (19a)",
      async run(setup) {
        const held = await setup.hold("a");
        const parent = { id: "a", runId: held.runId, execution: 1 };
        await setup.turn(held, {
          events: [eventText(), eventText()],
          starts: [
            newInstance({ id: "child", parent: { ...parent, sequence: 2 } }),
            newInstance({
              id: "abandoned",
              parent: { ...parent, sequence: 3 },
              onParentClose: "abandon",
            }),
          ],
        });
        await setup.commit(startItem({ id: "a", onConflict: "terminateExisting" }));
        expect(await setup.inboxKinds((await setup.read("child")).key)).toEqual([
          "start",
          "cancel",
        ]);
        expect(await setup.inboxKinds((await setup.read("abandoned")).key)).toEqual(["start"]);
      },
    },
    {
      title: "terminateExisting: an instance that has ended is left as it ended, and restarted",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.complete(held, '"first"');
        const item = startItem({ id: "a", onConflict: "terminateExisting" });
        expect(await setup.commit(item)).toMatchObject({ kind: "started", execution: 2 });
        const events = await setup.events(held);
        expect(events.map((event) => event.kind)).toEqual([
          "OrchestrationStarted",
          "OrchestrationCompleted",
        ]);
      },
    },
    {
      title: "terminateExisting: a block is not inherited",
      async run(setup) {
        const held = await setup.hold("a");
        const { key, token } = held;
        await setup.commit({ kind: "block", key, token, reason: '{"code":"X"}', by: ALPHA });
        await setup.commit(startItem({ id: "a", onConflict: "terminateExisting" }));
        expect(await setup.read("a")).toMatchObject({ blocked: null });
        await setup.leaseOnly("a", ALPHA);
      },
    },
    {
      title: "of two starts that race, one wins (1)",
      async run(setup) {
        const items = [startItem({ id: "a" }), startItem({ id: "a" }), startItem({ id: "a" })];
        const results = await Promise.all(items.map((item) => setup.commit(item)));
        expect(results.filter((result) => result.kind === "started")).toHaveLength(1);
        expect(results.filter((result) => result.kind === "refused")).toHaveLength(2);
        const winner = items[results.findIndex((result) => result.kind === "started")];
        expect(await setup.read("a")).toMatchObject({ runId: winner?.runId });
      },
    },
    {
      title: "of two restarts that race, one wins",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.complete(held);
        const results = await setup.provider.commit([
          startItem({ id: "a", onConflict: "restart" }),
          startItem({ id: "a", onConflict: "restart" }),
        ]);
        expect(results).toMatchObject([{ kind: "started", execution: 2 }, RUNNING]);
      },
    },
    {
      title: "restart: how the execution before was cancelled is not held against the next",
      async run(setup) {
        const held = await setup.hold("a");
        const request = cancelText("enough");
        const error = failedText("cancelled");
        await setup.turn(held, {
          events: [request, error],
          cancelRequested: request,
          change: { kind: "ended", status: "cancelled", output: null, error },
        });
        expect(await setup.read("a")).toMatchObject({ cancelRequested: request, error });
        await setup.commit(startItem({ id: "a", onConflict: "restart" }));
        expect(await setup.read("a")).toMatchObject({ cancelRequested: null, error: null });
        expect(await setup.commit(cancelItem("a"))).toEqual({ kind: "done" });
        expect(await setup.inboxKinds(held.key)).toEqual(["start", "cancel"]);
      },
    },
  ],
};

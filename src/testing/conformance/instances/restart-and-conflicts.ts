// Contract of start conflicts: the result of a start whose id already exists (semantics 1, I11).

import { expect } from "vitest";
import type { ContractSubject } from "../contract-case.ts";
import {
  ALPHA,
  BETA,
  cancelItem,
  cancelText,
  claimOf,
  eventText,
  failedText,
  fresh,
  outcomeText,
  refused,
  sendItem,
  startItem,
  TASK_LEASE,
  turnItem,
} from "../fixture.ts";
import { continueAsNew } from "./continue-as-new.ts";

const EXISTS = refused("INSTANCE_EXISTS");
const RUNNING = refused("INSTANCE_RUNNING");

export const conflicts: ContractSubject = {
  subject: "restart and conflicts",
  cases: [
    {
      title: "fail: a start with an existing id is refused, whether the instance runs or has ended",
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
      title:
        "useExisting: the existing instance is returned unchanged, and the fields of the start are ignored",
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
      title: "useExisting: an ended instance is also returned",
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
      title: "restart: an ended instance begins execution n + 1 with reset fields (I11)",
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
      title: "restart: the previous execution stays readable (I11)",
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
      title: "restart: execution numbers continue after continueAsNew",
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
      title: "restart: the instance can be created leased, like any start",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.complete(held);
        const again = await setup.hold("a", { onConflict: "restart", owner: BETA });
        expect(again).toMatchObject({ key: held.key, execution: 2, lastEvent: 1 });
        expect(await setup.read("a")).toMatchObject({ status: "running", owner: BETA });
      },
    },
    {
      title: "terminateExisting: the running execution is terminated and the next one begins",
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
      title:
        "terminateExisting: the turn of the old owner is refused, and its tasks are deleted (19a)",
      async run(setup) {
        const { held, task: address } = await setup.holdTask("a", {
          lease: TASK_LEASE,
        });
        await setup.commit(startItem({ id: "a", onConflict: "terminateExisting" }));
        expect(await setup.commit(turnItem(held, { events: [eventText()] }))).toMatchObject({
          kind: "refused",
        });
        const task = claimOf(address);
        const outcome = outcomeText(address.sequence);
        expect(await setup.commit({ kind: "completion", task, outcome })).toMatchObject({
          kind: "refused",
        });
        expect(await setup.provider.readTasks(held)).toEqual([]);
        expect(await setup.inboxKinds(held.key)).toEqual(["start"]);
      },
    },
    {
      title: "terminateExisting: the inbox of the next execution is empty (I11)",
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
      title:
        'terminateExisting: children without onParentClose "abandon" receive a cancel request (19a)',
      async run(setup) {
        const held = await setup.hold("a");
        await setup.startChild(held, "child");
        await setup.startChild(held, "abandoned", { onParentClose: "abandon" });
        await setup.commit(startItem({ id: "a", onConflict: "terminateExisting" }));
        expect(await setup.inboxKinds((await setup.read("child")).key)).toEqual([
          "start",
          "cancel",
        ]);
        expect(await setup.inboxKinds((await setup.read("abandoned")).key)).toEqual(["start"]);
      },
    },
    {
      title:
        "terminateExisting: an ended execution is kept unchanged, and the instance is restarted",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.complete(held, '"first"');
        const item = startItem({ id: "a", onConflict: "terminateExisting" });
        expect(await setup.commit(item)).toMatchObject({ kind: "started", execution: 2 });
        expect(await setup.eventKinds(held)).toEqual([
          "OrchestrationStarted",
          "OrchestrationCompleted",
        ]);
      },
    },
    {
      title: "terminateExisting: the next execution is not blocked",
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
      title: "if several starts of one id race, only one succeeds (1)",
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
      title: "if two restarts of one id race, only one succeeds",
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
      title:
        "restart: the next execution does not inherit the cancel request and error of the previous one",
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

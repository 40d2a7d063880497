// Contract of metrics: numbers for the whole store and for one instance.

import { expect } from "vitest";
import type { StoreMetrics } from "../../../core/provider/index.ts";
import { continueAsNew } from "../instances/continue-as-new.ts";
import type { ContractSubject } from "../contract-case.ts";
import {
  ALPHA,
  cancelItem,
  eventText,
  failedText,
  pauseItem,
  sendItem,
  startItem,
  stateChange,
  TASK_LEASE,
  terminateItem,
} from "../fixture.ts";

const NO_INSTANCES: StoreMetrics["instances"] = {
  pending: 0,
  running: 0,
  completed: 0,
  failed: 0,
  cancelled: 0,
  terminated: 0,
};
const NOTHING: StoreMetrics = {
  instances: NO_INSTANCES,
  paused: 0,
  blocked: 0,
  executions: 0,
  events: 0,
  dueMessages: 0,
  keptMessages: 0,
  expiredMessages: 0,
  waitingTasks: 0,
  runningTasks: 0,
  strandedLeases: 0,
};

export const metrics: ContractSubject = {
  subject: "metrics",
  cases: [
    {
      title: "all metrics of an empty store are zero",
      async run(setup) {
        expect(await setup.provider.readMetrics()).toEqual(NOTHING);
      },
    },
    {
      title: "instances are counted by status",
      async run(setup) {
        await setup.start("pending");
        for (const id of ["r1", "r2"]) await setup.hold(id);
        for (const id of ["c1", "c2", "c3"]) await setup.complete(await setup.hold(id));
        await setup.turn(await setup.hold("failed"), {
          events: [failedText("failed")],
          change: { kind: "ended", status: "failed", output: null, error: failedText("failed") },
        });
        await setup.start("cancelled", { delayMs: 1_000 });
        await setup.commit(cancelItem("cancelled"));
        await setup.hold("terminated");
        await setup.commit(terminateItem("terminated"));
        const { instances } = await setup.provider.readMetrics();
        expect(instances).toEqual({
          pending: 1,
          running: 2,
          completed: 3,
          failed: 1,
          cancelled: 1,
          terminated: 1,
        });
      },
    },
    {
      title: "paused and blocked instances are counted separately, in addition to their status",
      async run(setup) {
        await setup.start("pending");
        await setup.commit(pauseItem("pending"));
        const { key, token } = await setup.hold("running");
        await setup.commit({ kind: "block", key, token, reason: "{}", by: ALPHA });
        await setup.commit(pauseItem("running"));
        expect(await setup.provider.readMetrics()).toMatchObject({
          instances: { ...NO_INSTANCES, pending: 1, running: 1 },
          paused: 2,
          blocked: 1,
        });
        await setup.commit(terminateItem("running"));
        await setup.commit({ kind: "resume", id: "pending" });
        expect(await setup.provider.readMetrics()).toMatchObject({ paused: 0, blocked: 0 });
      },
    },
    {
      title: "executions and events are counted across all instances, including ended executions",
      async run(setup) {
        const held = await setup.hold("a"); // 1 event
        await setup.turn(held, { events: [eventText(), eventText()] }); // 3
        await continueAsNew(setup, held); // 4
        await setup.turn(held, { events: [eventText()] }); // 5
        await setup.complete(held); // 6
        await setup.commit(startItem({ id: "a", onConflict: "restart" }));
        await setup.hold("b"); // 7
        const { executions, events } = await setup.provider.readMetrics();
        expect({ executions, events }).toEqual({ executions: 4, events: 7 });
      },
    },
    {
      title: "pruned and deleted executions are not counted",
      async run(setup) {
        const held = await setup.hold("a"); // 1
        await continueAsNew(setup, held); // 2
        await continueAsNew(setup, held); // 3
        await setup.turn(held, { events: [eventText(), eventText()] }); // 5
        await setup.complete(await setup.hold("b")); // 7
        await setup.provider.pruneExecutions({ id: "a" });
        expect(await setup.provider.readMetrics()).toMatchObject({ executions: 2, events: 4 });
        await setup.provider.deleteInstance({ id: "b", force: false });
        expect(await setup.provider.readMetrics()).toMatchObject({
          instances: { ...NO_INSTANCES, running: 1 },
          executions: 1,
          events: 2,
        });
      },
    },
    {
      title: "a message counts as due if it is visible and its instance has not ended",
      async run(setup) {
        await setup.start("a", { name: "one" });
        await setup.start("later", { name: "two", delayMs: 1_000 });
        const held = await setup.hold("held", { priority: 1 });
        await setup.timer(held, { delayMs: 2_000 });
        for (let sent = 0; sent < 3; sent++) await setup.commit(sendItem({ id: "held" }));
        const due = async () => (await setup.provider.readMetrics()).dueMessages;
        expect(await due()).toBe(4);
        await setup.environment.advance(1_000);
        expect(await due()).toBe(5);
        await setup.environment.advance(1_000);
        expect(await due()).toBe(6);
        await setup.complete(held);
        expect(await due()).toBe(2);
      },
    },
    {
      title: "a task counts as waiting if it can be leased, and as running if it is leased",
      async run(setup) {
        const { held } = await setup.holdTask("a");
        await setup.schedule(held);
        await setup.schedule(held, { lease: TASK_LEASE });
        const figures = async () => {
          const { waitingTasks, runningTasks } = await setup.provider.readMetrics();
          return [waitingTasks, runningTasks];
        };
        expect(await figures()).toEqual([2, 1]);
        const { tasks } = await setup.leaseTasks(ALPHA, { limit: 1 });
        expect(await figures()).toEqual([1, 2]);
        const [task] = tasks;
        if (task === undefined) throw new Error("One task must be leased; got none.");
        await setup.commit({ kind: "retry", task, delayMs: 1_000, failure: "{}" });
        expect(await figures()).toEqual([1, 1]);
        await setup.environment.advance(1_000);
        expect(await figures()).toEqual([2, 1]);
      },
    },
    {
      title:
        "the statistics of an instance cover its newest execution, its unread events and its key-values",
      async run(setup) {
        const held = await setup.hold("a");
        await continueAsNew(setup, held);
        await setup.turn(held, { events: [eventText('"ä"'), eventText("2")] });
        const keyValues = [
          { key: "k", value: '"ä"' },
          { key: "l", value: "12" },
        ];
        await setup.turn(held, { events: [eventText("3")], state: stateChange({ keyValues }) });
        for (const data of ["4", "5"]) await setup.commit(sendItem({ id: "a", data }));
        const rows = await setup.provider.readHistory(held);
        const bytes = rows.reduce((sum, { data }) => sum + Buffer.byteLength(data), 0);
        expect(await setup.provider.readStatistics(held.key)).toEqual({
          events: 3,
          bytes,
          unread: 2,
          keys: 2,
          keyBytes: 6,
        });
      },
    },
    {
      title: "starts and cancel requests in the inbox do not count as unread messages",
      async run(setup) {
        const { key } = await setup.start("a");
        await setup.commit(cancelItem("a"));
        expect(await setup.provider.readStatistics(key)).toEqual({
          events: 0,
          bytes: 0,
          unread: 0,
          keys: 0,
          keyBytes: 0,
        });
      },
    },
    {
      title:
        "an ended instance has statistics, including unread messages, and a missing instance has zeros",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.commit(sendItem({ id: "a" }));
        await setup.complete(held);
        const { key } = held;
        expect(await setup.provider.readStatistics(key)).toMatchObject({ events: 2, unread: 1 });
        expect(await setup.provider.readStatistics(key + 1_000)).toMatchObject({ events: 0 });
      },
    },
  ],
};

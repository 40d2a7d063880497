// Contract of turns: the store writes all changes of a turn, or none (I1, commit.1).

import { expect } from "vitest";
import type { ContractSubject } from "../contract-case.ts";
import {
  ALPHA,
  BETA,
  claimOf,
  completedText,
  eventText,
  fresh,
  LEASE_LOST,
  newInstance,
  newTask,
  outcomeText,
  outgoing,
  scheduledText,
  sendItem,
  TASK_LEASE,
  turnItem,
} from "../fixture.ts";

export const turnAtomicity: ContractSubject = {
  subject: "turn atomicity",
  cases: [
    {
      title:
        "a turn writes events, tasks, timers, children and sends, and consumes its message (I1)",
      async run(setup) {
        const other = await setup.hold("other");
        const held = await setup.hold("a");
        await setup.commit(sendItem({ id: "a" }));
        const [message] = await setup.due(held);
        await setup.turn(held, {
          events: [eventText(), scheduledText(), eventText(), eventText()],
          consumed: [message?.id ?? -1],
          tasks: [newTask({ sequence: 3 })],
          timers: [{ kind: "timer", sequence: 4, delayMs: 1_000 }],
          starts: [newInstance({ id: "child" })],
          sends: [outgoing({ id: "other" })],
        });
        expect(await setup.events(held)).toHaveLength(5);
        expect(await setup.provider.readTasks(held)).toHaveLength(1);
        expect(await setup.inboxKinds(held.key)).toEqual(["timer"]);
        expect(await setup.read("child")).toMatchObject({ status: "pending" });
        expect(await setup.inboxKinds(other.key)).toEqual(["event"]);
        expect(await setup.read("a")).toMatchObject({ lastEvent: 5, status: "running" });
      },
    },
    {
      title: "a turn cannot consume a message of another instance (messages.1)",
      async run(setup) {
        const held = await setup.hold("a");
        const other = await setup.hold("other");
        await setup.commit(sendItem({ id: "other" }));
        const [message] = await setup.due(other);
        await setup.turn(held, { events: [eventText()], consumed: [message?.id ?? -1] });
        expect(await setup.inboxKinds(other.key)).toEqual(["event"]);
      },
    },
    {
      title: "a refused turn writes nothing, whatever it contains (I1, I2)",
      async run(setup) {
        const other = await setup.hold("other");
        const { held, task: born } = await setup.holdTask("a", {
          lease: TASK_LEASE,
        });
        await setup.turn(held, { timers: [{ kind: "timer", sequence: 9, delayMs: 1_000 }] });
        await setup.commit(sendItem({ id: "a" }));
        const inbox = await setup.provider.readInbox(held.key);
        const tasks = await setup.provider.readTasks(held);
        const record = await setup.read("a");
        const refused = await setup.commit(
          turnItem(held, {
            token: held.token + 1,
            version: "9.9.9",
            events: [eventText(), completedText()],
            consumed: inbox.map((message) => message.id),
            finished: [claimOf(born)],
            tasks: [newTask({ sequence: 50 })],
            cancelledTasks: [born.sequence],
            timers: [{ kind: "timer", sequence: 51, delayMs: 1_000 }],
            cancelledTimers: [{ kind: "timer", sequence: 9 }],
            starts: [newInstance({ id: "child" })],
            sends: [outgoing({ id: "other" })],
            change: { kind: "ended", status: "completed", output: "1", error: null },
            cancelRequested: "{}",
            stepsOpen: true,
            release: true,
          }),
        );
        expect(refused).toEqual(LEASE_LOST);
        expect(await setup.provider.readInbox(held.key)).toEqual(inbox);
        expect(await setup.provider.readTasks(held)).toEqual(tasks);
        expect(await setup.read("a")).toEqual(record);
        expect(await setup.events(held)).toHaveLength(2);
        expect(await setup.provider.readInstance("child")).toBeNull();
        expect(await setup.provider.readInbox(other.key)).toEqual([]);
      },
    },
    {
      title: "a turn deletes the rows of the tasks it finishes",
      async run(setup) {
        const { held, task } = await setup.holdTask("a", { lease: TASK_LEASE });
        const kept = await setup.schedule(held);
        await setup.turn(held, {
          events: [outcomeText(task.sequence)],
          finished: [claimOf(task)],
        });
        const rows = await setup.provider.readTasks(held);
        expect(rows.map((row) => row.sequence)).toEqual([kept.sequence]);
        expect(await setup.provider.readInbox(held.key)).toEqual([]);
      },
    },
    {
      title: "a turn is refused if it finishes a lost task, and its other tasks are not changed",
      async run(setup) {
        const { held, task: own } = await setup.holdTask("a", {
          lease: TASK_LEASE,
        });
        const lost = await setup.schedule(held, { lease: { owner: ALPHA, token: 78 } });
        const before = await setup.provider.readTasks(held);
        const refused = await setup.commit(
          turnItem(held, {
            events: [outcomeText(own.sequence), outcomeText(lost.sequence)],
            finished: [claimOf(own), claimOf(lost, 79)],
            starts: [newInstance({ id: "child" })],
          }),
        );
        expect(refused).toEqual(LEASE_LOST);
        expect(await setup.provider.readTasks(held)).toEqual(before);
        expect(await setup.provider.readInstance("child")).toBeNull();
        expect(await setup.events(held)).toHaveLength(3);
      },
    },
    {
      title:
        "after a turn is refused for a lost task, the owner can commit a turn without that task",
      async run(setup) {
        const { held, task: own } = await setup.holdTask("a", {
          lease: TASK_LEASE,
        });
        const refused = turnItem(held, { events: [eventText()], finished: [claimOf(own, 76)] });
        expect(await setup.commit(refused)).toMatchObject({ kind: "refused" });
        await setup.turn(held, {
          events: [outcomeText(own.sequence)],
          finished: [claimOf(own)],
        });
        expect(await setup.provider.readTasks(held)).toEqual([]);
      },
    },
    {
      title: "a turn without events writes no history, and a turn with events can follow",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.commit(sendItem({ id: "a" }));
        const [message] = await setup.due(held);
        await setup.turn(held, { consumed: [message?.id ?? -1] });
        expect(await setup.read("a")).toMatchObject({ lastEvent: 1 });
        expect(await setup.provider.readInbox(held.key)).toEqual([]);
        await setup.turn(held, { events: [eventText()] });
        expect(await setup.events(held)).toHaveLength(2);
      },
    },
    {
      title: "a task that is scheduled and cancelled in one turn is deleted (commit.4)",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.turn(held, {
          events: [scheduledText(), scheduledText()],
          tasks: [newTask({ sequence: 2 }), newTask({ sequence: 3 })],
          cancelledTasks: [2],
        });
        const rows = await setup.provider.readTasks(held);
        expect(rows.map((row) => row.sequence)).toEqual([3]);
      },
    },
    {
      title: "a turn that cancels a missing task is committed",
      async run(setup) {
        const { held, task } = await setup.holdTask("a");
        await setup.turn(held, { events: [eventText()], cancelledTasks: [40, 41] });
        const rows = await setup.provider.readTasks(held);
        expect(rows.map((row) => row.sequence)).toEqual([task.sequence]);
      },
    },
    {
      title: "a turn consumes only the messages it names (messages.1)",
      async run(setup) {
        const held = await setup.hold("a");
        for (const data of ["1", "2", "3"]) await setup.commit(sendItem({ id: "a", data }));
        const due = await setup.due(held);
        await setup.turn(held, { events: [eventText()], consumed: [due[1]?.id ?? -1] });
        const left = await setup.provider.readInbox(held.key);
        expect(left.map((message) => message.data)).toEqual(["1", "3"]);
      },
    },
    {
      title: "the result of a turn contains the messages that became due while it ran",
      async run(setup) {
        const held = await setup.hold("a");
        expect((await setup.turn(held, { events: [eventText()] })).due).toEqual([]);
        await setup.commit(sendItem({ id: "a", data: "1" }));
        await setup.commit(sendItem({ id: "a", data: "2" }));
        const { due } = await setup.turn(held, { events: [eventText()] });
        expect(due).toEqual(await setup.provider.readInbox(held.key));
        expect(due.map((message) => message.data)).toEqual(["1", "2"]);
      },
    },
    {
      title: "the result of a turn contains at most messagesMax messages, the oldest first",
      async run(setup) {
        const held = await setup.hold("a");
        for (const data of ["1", "2", "3", "4"]) await setup.commit(sendItem({ id: "a", data }));
        const { due } = await setup.turn(held, { events: [eventText()], messagesMax: 2 });
        expect(due.map((message) => message.data)).toEqual(["1", "2"]);
      },
    },
    {
      title: "the result of a turn contains no consumed messages and no messages that are not due",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.commit(sendItem({ id: "a", data: "1" }));
        await setup.commit(sendItem({ id: "a", data: "2" }));
        const [first] = await setup.due(held);
        const { due } = await setup.turn(held, {
          events: [eventText(), eventText()],
          consumed: [first?.id ?? -1],
          timers: [{ kind: "timer", sequence: 3, delayMs: 10 }],
        });
        expect(due.map((message) => message.data)).toEqual(["2"]);
      },
    },
    {
      title:
        "a turn that releases its lease returns no messages, and another runtime can lease the rest",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.commit(sendItem({ id: "a", data: "1" }));
        const { due } = await setup.turn(held, { events: [eventText()], release: true });
        expect(due).toEqual([]);
        expect(await setup.read("a")).toMatchObject({ owner: null });
        const leased = await setup.leaseOnly("a", BETA);
        expect(leased.messages.map((message) => message.data)).toEqual(["1"]);
        expect(leased.lastEvent).toBe(2);
      },
    },
    {
      title: "a turn that does not release keeps its lease",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.turn(held, { events: [eventText()] });
        await setup.commit(sendItem({ id: "a" }));
        expect(await setup.read("a")).toMatchObject({ owner: ALPHA });
        await setup.leaseNothing(BETA);
      },
    },
    {
      title: "a turn that ends its instance records the outcome and returns no messages",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.commit(sendItem({ id: "a" }));
        await setup.environment.advance(250);
        const result = await setup.turn(held, {
          events: [completedText('{"ok":true}')],
          change: { kind: "ended", status: "completed", output: '{"ok":true}', error: null },
        });
        expect(result.due).toEqual([]);
        expect(await setup.read("a")).toMatchObject({
          status: "completed",
          output: '{"ok":true}',
          error: null,
          owner: null,
          lastEvent: 2,
          completedAt: setup.environment.now(),
          updatedAt: setup.environment.now(),
        });
      },
    },
    {
      title: "each terminal status is read back with its error",
      async run(setup) {
        for (const status of ["failed", "cancelled", "terminated"] as const) {
          const held = await setup.hold(`ends-${status}`);
          const error = `{"kind":"OrchestrationFailed","n":${fresh()}}`;
          const change = { kind: "ended", status, output: null, error } as const;
          await setup.turn(held, { events: [error], change });
          expect(await setup.read(held.id)).toMatchObject({ status, error, output: null });
        }
      },
    },
  ],
};

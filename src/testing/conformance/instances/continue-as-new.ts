// Contract of continue-as-new: one commit ends an execution and begins the next (semantics 18a, 21).

import { expect } from "vitest";
import type { KeptMessage } from "../../../core/provider/index.ts";
import type { ContractSubject } from "../contract-case.ts";
import {
  ALPHA,
  BETA,
  cancelItem,
  claimOf,
  eventText,
  type Held,
  LEASE_LOST,
  newInstance,
  outcomeText,
  outgoing,
  sendItem,
  startedText,
  TASK_LEASE,
  type TurnFields,
  turnItem,
  VERSION,
} from "../fixture.ts";
import type { Setup } from "../setup.ts";

const CONTINUED = JSON.stringify({ kind: "OrchestrationContinuedAsNew", input: "2" });

/** Ends the execution of a leased instance and begins the next. */
export async function continueAsNew(
  setup: Setup,
  held: Held,
  options: {
    unread?: readonly KeptMessage[];
    version?: string;
    started?: string;
  } & TurnFields = {},
) {
  const {
    unread = [],
    version = VERSION,
    started = startedText({ input: "2" }),
    ...rest
  } = options;
  return setup.turn(held, {
    ...rest,
    events: [...(rest.events ?? []), CONTINUED],
    version: null,
    change: { kind: "continued", started, version, unread },
  });
}

export const continuing: ContractSubject = {
  subject: "continue as new",
  cases: [
    {
      title: "the next execution begins at once, and the result of the turn contains its start",
      async run(setup) {
        const held = await setup.hold("a");
        const started = startedText({ input: '"second"' });
        const { due } = await continueAsNew(setup, held, { started });
        expect(due).toMatchObject([{ kind: "start", execution: 2, data: started }]);
        const record = await setup.read("a");
        expect(record).toMatchObject({
          execution: 2,
          lastEvent: 0,
          owner: ALPHA,
          runId: held.runId,
        });
        expect(["pending", "running"]).toContain(record.status);
        expect(record.completedAt).toBeNull();
      },
    },
    {
      title: "the lease is kept, and its token commits the first turn of the next execution",
      async run(setup) {
        const held = await setup.hold("a");
        const { due } = await continueAsNew(setup, held);
        const consumed = due.map((message) => message.id);
        await setup.turn(held, { events: [startedText()], consumed });
        expect(await setup.read("a")).toMatchObject({
          execution: 2,
          lastEvent: 1,
          status: "running",
        });
        expect(await setup.events(held)).toHaveLength(1);
        expect(await setup.provider.readInbox(held.key)).toEqual([]);
      },
    },
    {
      title: "the ended execution stays readable and accepts no further turn (I11)",
      async run(setup) {
        const held = await setup.hold("a");
        await continueAsNew(setup, held);
        const first = { ...held, execution: 1, lastEvent: 2 };
        expect(await setup.commit(turnItem(first, { events: [eventText()] }))).toEqual(LEASE_LOST);
        expect(await setup.eventKinds(first)).toEqual([
          "OrchestrationStarted",
          "OrchestrationContinuedAsNew",
        ]);
      },
    },
    {
      title: "after a turn that continues and releases, any runtime can lease the next execution",
      async run(setup) {
        const held = await setup.hold("a");
        const { due } = await continueAsNew(setup, held, { release: true });
        expect(due).toEqual([]);
        const leased = await setup.leaseOnly("a", BETA);
        expect(leased).toMatchObject({ execution: 2, lastEvent: 0, history: [], fresh: true });
        expect(leased.messages).toMatchObject([{ kind: "start", execution: 2 }]);
      },
    },
    {
      title: "after the clock jumps back, the start of the next execution is still delivered first",
      async run(setup) {
        const held = await setup.hold("a");
        await continueAsNew(setup, held, { release: true });
        setup.environment.jumpWallClock(-10_000);
        await setup.commit(sendItem({ id: "a" }));
        await setup.commit(cancelItem("a"));
        await setup.environment.advance(10_000); // due by now at the latest
        const { messages } = await setup.leaseOnly("a", BETA);
        expect(messages.map(({ kind }) => kind)).toEqual(["start", "cancel", "event"]);
      },
    },
    {
      title: "the next execution has the version that the turn sets",
      async run(setup) {
        const held = await setup.hold("a");
        await continueAsNew(setup, held, { version: "2.0.0", release: true });
        expect(await setup.read("a")).toMatchObject({ version: "2.0.0" });
        await setup.leaseNothing();
        await setup.leaseOnly("a", BETA, { targets: ["order@2.0.0"] });
      },
    },
    {
      title: "the next execution has the same name, parent, attributes and priority (21)",
      async run(setup) {
        const parent = { id: "p", runId: "run-p", execution: 1, sequence: 4 };
        const held = await setup.hold("a", { parent, attributes: { k: "v" }, priority: 2 });
        await continueAsNew(setup, held);
        expect(await setup.read("a")).toMatchObject({
          name: "order",
          parent,
          attributes: { k: "v" },
          priority: 2,
        });
      },
    },
    {
      title: "unread messages are put back in order, after the start (18a)",
      async run(setup) {
        const held = await setup.hold("a");
        for (const data of ["1", "2", "3"]) await setup.commit(sendItem({ id: "a", data }));
        const received = await setup.due(held);
        const unread = received.map(({ name, data, key }) => ({ name: name ?? "", data, key }));
        const { due } = await continueAsNew(setup, held, {
          events: received.map((message) => eventText(message.data)),
          consumed: received.map((message) => message.id),
          unread,
        });
        expect(due.map((message) => message.kind)).toEqual(["start", "event", "event", "event"]);
        expect(due.slice(1).map((message) => message.data)).toEqual(["1", "2", "3"]);
      },
    },
    {
      title:
        "unread messages are put back with their keys, so a repeated send is recognized (messages.3)",
      async run(setup) {
        const held = await setup.hold("a");
        const item = sendItem({ id: "a", requestId: "once" });
        await setup.commit(item);
        const received = await setup.due(held);
        const unread = received.map(({ name, data, key }) => ({ name: name ?? "", data, key }));
        const consumed = received.map((message) => message.id);
        await continueAsNew(setup, held, { events: [eventText()], consumed, unread });
        expect(await setup.commit(item)).toEqual({ kind: "done" });
        const events = (await setup.due(held)).filter((message) => message.kind === "event");
        expect(events.map((message) => message.key)).toEqual([received[0]?.key]);
      },
    },
    {
      title: "an event that arrives while the turn runs is received by the next execution (P4)",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.commit(sendItem({ id: "a", data: '"meanwhile"' }));
        const { due } = await continueAsNew(setup, held);
        expect(due.map((message) => message.kind).toSorted()).toEqual(["event", "start"]);
      },
    },
    {
      title: "unread messages come before later messages of the same name (P7)",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.commit(sendItem({ id: "a", data: '"older"' }));
        const received = await setup.due(held);
        const unread = received.map(({ name, data, key }) => ({ name: name ?? "", data, key }));
        await setup.environment.advance(5);
        await setup.commit(sendItem({ id: "a", data: '"newer"' }));
        await setup.commit(sendItem({ id: "a", data: '"still newer"' }));
        await setup.environment.advance(5);
        await continueAsNew(setup, held, {
          events: [eventText('"older"')],
          consumed: received.map((message) => message.id),
          unread,
        });
        await setup.commit(sendItem({ id: "a", data: '"newest"' }));
        const events = (await setup.due(held)).filter((message) => message.kind === "event");
        expect(events.map((message) => message.data)).toEqual([
          '"older"',
          '"newer"',
          '"still newer"',
          '"newest"',
        ]);
        expect(events.every((message) => message.execution === null)).toBe(true);
      },
    },
    {
      title: "the start of the next execution is delivered first, however many messages wait (I4)",
      async run(setup) {
        const held = await setup.hold("a");
        for (const data of ["1", "2", "3"]) await setup.commit(sendItem({ id: "a", data }));
        await setup.environment.advance(5);
        const { due } = await continueAsNew(setup, held, { messagesMax: 2 });
        expect(due.map((message) => message.kind)).toEqual(["start", "event"]);
      },
    },
    {
      title:
        "a cancel that arrives while the turn runs is delivered directly after the start, however many messages wait (4b)",
      async run(setup) {
        const held = await setup.hold("a");
        for (const data of ["1", "2", "3"]) await setup.commit(sendItem({ id: "a", data }));
        const received = await setup.due(held);
        const unread = received.map(({ name, data, key }) => ({ name: name ?? "", data, key }));
        await setup.commit(sendItem({ id: "a", data: "4" }));
        await setup.environment.advance(5);
        await setup.commit(cancelItem("a"));
        for (let execution = 2; execution <= 4; execution++) {
          const { due } = await continueAsNew(setup, held, {
            events: execution === 2 ? received.map((message) => eventText(message.data)) : [],
            consumed: execution === 2 ? received.map((message) => message.id) : [],
            unread: execution === 2 ? unread : [],
            messagesMax: 2,
          });
          expect(due.map((message) => message.kind).slice(0, 2)).toEqual(["start", "cancel"]);
          expect(due[1]).toMatchObject({ execution });
        }
      },
    },
    {
      title: "a cancel that arrives while the turn runs reaches the next execution (P4)",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.commit(cancelItem("a"));
        const { due } = await continueAsNew(setup, held);
        expect(due.map((message) => message.kind).toSorted()).toEqual(["cancel", "start"]);
      },
    },
    {
      title:
        "timers and outcomes of the ended execution are deleted with it (messages.1, messages.4)",
      async run(setup) {
        const { held, task } = await setup.holdTask("a", { lease: TASK_LEASE });
        await setup.turn(held, { timers: [{ kind: "timer", sequence: 9, delayMs: 100 }] });
        const outcome = outcomeText(task.sequence);
        await setup.commit({ kind: "completion", task: claimOf(task), outcome });
        await continueAsNew(setup, held);
        expect(await setup.inboxKinds(held.key)).toEqual(["start"]);
        await setup.environment.advance(1_000);
        expect((await setup.due(held)).map((message) => message.kind)).toEqual(["start"]);
      },
    },
    {
      title: "queued tasks of an execution that continued or ended are never leased (21)",
      async run(setup) {
        const { held: continued } = await setup.holdTask("continued");
        await continueAsNew(setup, continued);
        const { held: ended } = await setup.holdTask("ended");
        await setup.complete(ended);
        expect(await setup.leaseTasks()).toEqual({ tasks: [], more: false, nextAt: null });
      },
    },
    {
      title: "a late outcome of the ended execution is refused (21)",
      async run(setup) {
        const { held, task } = await setup.holdTask("a", { lease: TASK_LEASE });
        await continueAsNew(setup, held, { cancelledTasks: [task.sequence] });
        const outcome = outcomeText(task.sequence);
        const completion = { kind: "completion", task: claimOf(task), outcome } as const;
        expect(await setup.commit(completion)).toMatchObject({ kind: "refused" });
        expect(await setup.inboxKinds(held.key)).toEqual(["start"]);
      },
    },
    {
      title: "a late child outcome keeps the number of its old execution (21)",
      async run(setup) {
        const held = await setup.hold("a");
        const child = await setup.hold("child");
        await continueAsNew(setup, held);
        const to = { id: "a", runId: held.runId };
        await setup.turn(child, {
          events: [eventText()],
          sends: [outgoing(to, { kind: "child", execution: 1, sequence: 2, key: "child/1" })],
        });
        const late = (await setup.due(held)).filter((message) => message.kind === "child");
        expect(late.filter((message) => message.execution !== 1)).toEqual([]);
      },
    },
    {
      title: "the sends and detached starts of the last turn of an execution are carried out (21)",
      async run(setup) {
        const receiver = await setup.hold("receiver");
        const held = await setup.hold("a");
        await continueAsNew(setup, held, {
          events: [eventText()],
          sends: [outgoing({ id: "receiver" })],
          starts: [newInstance({ id: "free" })],
        });
        expect(await setup.due(receiver)).toHaveLength(1);
        expect(await setup.read("free")).toMatchObject({ status: "pending" });
      },
    },
    {
      title: "all executions of a chain are listed, and the instance shows the newest",
      async run(setup) {
        const held = await setup.hold("a");
        for (let execution = 2; execution <= 25; execution++) {
          const { due } = await continueAsNew(setup, held);
          const consumed = due.map((message) => message.id);
          await setup.turn(held, { events: [startedText()], consumed });
          expect(held.execution).toBe(execution);
        }
        expect(await setup.read("a")).toMatchObject({ execution: 25, lastEvent: 1 });
        const executions = await setup.provider.readExecutions(held.key);
        expect(executions.map(({ execution }) => execution)).toEqual(
          Array.from({ length: 25 }, (_, i) => i + 1),
        );
      },
    },
  ],
};

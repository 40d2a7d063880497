// Contract of first turns: a start may bring the first turn of its instance, and one commit writes both (commit.5).

import { expect } from "vitest";
import type { StartItem, StartResult, TurnItem } from "../../../core/provider/index.ts";
import type { ContractSubject } from "../contract-case.ts";
import {
  ALPHA,
  BETA,
  claimOf,
  completedText,
  eventText,
  fresh,
  heldFrom,
  newInstance,
  newTask,
  outgoing,
  refused,
  scheduledText,
  sendItem,
  startItem,
  stateChange,
  TASK_LEASE,
  type TurnFields,
  turnItem,
  VERSION,
} from "../fixture.ts";
import type { Setup } from "../setup.ts";

type StartFields = Partial<StartItem> & { readonly id: string; readonly owner?: string };

/** A start with a lease that brings its first turn. */
function startWithTurn(
  { environment }: Setup,
  { owner = ALPHA, ...start }: StartFields,
  fields: TurnFields = {},
): StartItem & { readonly firstTurn: TurnItem } {
  const lease = { owner, token: fresh() };
  const item = startItem({ ...start, lease });
  const { id, runId } = item;
  const held = { id, runId, key: 0, execution: 1, token: lease.token, lastEvent: 0 };
  const { events = [], ...rest } = fields;
  const turn = {
    version: VERSION,
    at: environment.now(),
    waitingEvents: "ready",
    ...rest,
  } as const;
  return { ...item, firstTurn: turnItem(held, { ...turn, events: [item.started, ...events] }) };
}

/** Turns that write every column of an instance. */
const SHAPES: readonly TurnFields[] = [
  {},
  { version: null },
  { stepsOpen: true },
  { stepsOpen: true, keepsSuspicion: true },
  { cancelRequested: '{"reason":"late"}', stepsOpen: true },
  { events: [eventText()], timers: [{ kind: "timer", sequence: 2, delayMs: 0 }], release: true },
  {
    events: [completedText("7")],
    change: { kind: "ended", status: "completed", output: "7", error: null },
  },
  {
    events: [eventText()],
    change: { kind: "ended", status: "failed", output: null, error: '{"message":"no"}' },
  },
];

function written(result: StartResult): Extract<StartResult, { kind: "started" }> {
  expect(result).toMatchObject({ kind: "started", execution: 1, leased: null });
  if (result.kind !== "started") throw new Error("The start was refused.");
  expect(result.due, "the messages that are due after the first turn").toBeDefined();
  return result;
}

export const firstTurns: ContractSubject = {
  subject: "first turns",
  cases: [
    {
      title: "one commit writes the instance, its first turn and no start message (commit.5)",
      async run(setup) {
        const other = await setup.hold("other");
        const lease = TASK_LEASE;
        const item = startWithTurn(
          setup,
          { id: "a" },
          {
            events: [scheduledText(), eventText(), eventText(), eventText()],
            tasks: [newTask({ sequence: 2, lease })],
            timers: [{ kind: "timer", sequence: 3, delayMs: 1_000 }],
            starts: [newInstance({ id: "child" })],
            sends: [outgoing({ id: "other" })],
            state: stateChange({ status: { value: '"busy"' } }),
          },
        );
        const { key, due } = written(await setup.commit(item));
        expect(due).toEqual([]);
        const record = await setup.read("a");
        expect(record).toMatchObject({
          ...{ key, status: "running", version: VERSION, execution: 1, lastEvent: 5, owner: ALPHA },
          customStatus: '"busy"',
        });
        const { token } = item.firstTurn;
        const held = { id: "a", runId: item.runId, key, execution: 1, token, lastEvent: 5 };
        expect(await setup.events(held)).toHaveLength(5);
        expect(await setup.provider.readTasks(held)).toMatchObject([{ sequence: 2, owner: ALPHA }]);
        expect(await setup.inboxKinds(key)).toEqual(["timer"]);
        expect(await setup.read("child")).toMatchObject({ status: "pending" });
        expect(await setup.inboxKinds(other.key)).toEqual(["event"]);
        await setup.turn(held, { finished: [claimOf({ ...held, sequence: 2 }, 77)] });
        await setup.complete(held);
      },
    },
    {
      title: "messages that a first turn causes are due after it",
      async run(setup) {
        await setup.hold("taken");
        const place = startItem({ id: "a" });
        const parent = { id: "a", runId: place.runId, execution: 1, sequence: 2 };
        for (const [kind, fields] of [
          ["timer", { timers: [{ kind: "timer", sequence: 2, delayMs: 0 }] }],
          ["child", { starts: [newInstance({ id: "taken", parent })] }],
        ] as const) {
          const item = startWithTurn(
            setup,
            { id: `a-${kind}` },
            { events: [eventText()], ...fields },
          );
          const { due } = written(await setup.commit(item));
          expect(due?.map((message) => message.kind)).toEqual([kind]);
        }
      },
    },
    {
      title: "a first turn can end its instance",
      async run(setup) {
        const item = startWithTurn(
          setup,
          { id: "a" },
          {
            events: [completedText("7")],
            change: { kind: "ended", status: "completed", output: "7", error: null },
          },
        );
        written(await setup.commit(item));
        const record = await setup.read("a");
        expect(record).toMatchObject({
          status: "completed",
          output: "7",
          owner: null,
          lastEvent: 2,
        });
        expect(record.completedAt).not.toBeNull();
        expect((await setup.lease(BETA)).instances).toEqual([]);
      },
    },
    {
      title: "a first turn can release its lease, and a timer makes the instance due later",
      async run(setup) {
        const item = startWithTurn(
          setup,
          { id: "a" },
          {
            events: [eventText()],
            timers: [{ kind: "timer", sequence: 2, delayMs: 1_000 }],
            release: true,
          },
        );
        const { key } = written(await setup.commit(item));
        expect(await setup.read("a")).toMatchObject({ status: "running", owner: null });
        expect((await setup.lease(BETA)).instances).toEqual([]);
        await setup.environment.advance(1_001);
        const [leased] = (await setup.lease(BETA)).instances;
        expect(leased).toMatchObject({ key, lastEvent: 2, suspicion: 0 });
        expect(leased?.history).toHaveLength(1);
      },
    },
    {
      title: "a first turn clears the suspicion of its lease",
      async run(setup) {
        const item = startWithTurn(setup, { id: "a", owner: BETA });
        written(await setup.commit(item));
        await setup.commit(sendItem({ id: "a" }));
        await setup.provider.removeRuntime(BETA);
        const [leased] = (await setup.lease(ALPHA)).instances;
        expect(leased).toMatchObject({ id: "a", suspicion: 0, lastEvent: 1 });
      },
    },
    {
      title: "a first turn leaves its instance as the same turn would leave it after the start",
      async run(setup) {
        for (const [index, fields] of SHAPES.entries()) {
          const together = startWithTurn(setup, { id: `together-${index}` }, fields);
          written(await setup.commit(together));
          const lease = { owner: ALPHA, token: fresh() };
          const item = startItem({ id: `apart-${index}`, lease });
          const result = await setup.commit(item);
          if (result.kind !== "started") throw new Error("The start was refused.");
          const { id, runId } = item;
          const place = { key: result.key, execution: 1, token: lease.token, lastEvent: 0 };
          const { events = [], ...rest } = fields;
          await setup.turn(
            { id, runId, ...place },
            {
              version: VERSION,
              waitingEvents: "ready",
              consumed: result.leased === null ? [] : [result.leased.id],
              ...rest,
              events: [item.started, ...events],
            },
          );
          const { key: _, ...expected } = await setup.read(id);
          const record = await setup.read(together.id);
          expect(record).toMatchObject({ ...expected, id: together.id, runId: together.runId });
        }
        await setup.provider.removeRuntime(ALPHA);
        const { instances } = await setup.lease(BETA, { limit: 100 });
        const suspicions = (which: string): number[] =>
          instances
            .filter(({ id }) => id.startsWith(which))
            .toSorted((a, b) => a.id.localeCompare(b.id))
            .map(({ suspicion }) => suspicion);
        expect(suspicions("together")).toEqual(suspicions("apart"));
      },
    },
    {
      title: "if the id exists, neither the start nor its turn is written",
      async run(setup) {
        const held = await setup.hold("a");
        const before = await setup.read("a");
        const item = startWithTurn(
          setup,
          { id: "a" },
          {
            events: [scheduledText()],
            tasks: [newTask({ sequence: 2 })],
            starts: [newInstance({ id: "child" })],
          },
        );
        expect(await setup.commit(item)).toEqual(refused("INSTANCE_EXISTS"));
        expect(await setup.read("a")).toEqual(before);
        expect(await setup.provider.readTasks(held)).toEqual([]);
        expect(await setup.provider.readInstance("child")).toBeNull();
      },
    },
    {
      title: "a conflict policy other than fail ignores the turn",
      async run(setup) {
        await setup.hold("used");
        const using = startWithTurn(setup, { id: "used", onConflict: "useExisting" });
        expect(await setup.commit(using)).toMatchObject({ kind: "existing", execution: 1 });
        const ended = await setup.hold("ended");
        await setup.complete(ended);
        const restarting = startWithTurn(setup, { id: "ended", onConflict: "restart" });
        const result = await setup.commit(restarting);
        expect(result).toMatchObject({ kind: "started", execution: 2 });
        expect(result).toHaveProperty("leased.kind", "start");
        expect(result).not.toHaveProperty("due");
        expect(await setup.read("ended")).toMatchObject({ status: "pending", lastEvent: 0 });
      },
    },
    {
      title: "without a lease the start is written alone",
      async run(setup) {
        const unknown = startWithTurn(setup, { id: "a", owner: "runtime-unknown" });
        const delayed = startWithTurn(setup, { id: "b", delayMs: 1_000 });
        for (const item of [unknown, delayed]) {
          const result = await setup.commit(item);
          expect(result).toMatchObject({ kind: "started", leased: null });
          expect(result).not.toHaveProperty("due");
          const record = await setup.read(item.id);
          expect(record).toMatchObject({ status: "pending", lastEvent: 0, owner: null });
          expect(await setup.inboxKinds(record.key)).toEqual(["start"]);
        }
        const [leased] = (await setup.lease(BETA)).instances;
        expect(leased).toMatchObject({ id: "a", lastEvent: 0 });
      },
    },
    {
      title: "early messages and the events of the start are due after the first turn",
      async run(setup) {
        await setup.commit(sendItem({ id: "a", name: "early", ifMissing: "keep" }));
        const given = [{ name: "given", data: "1", key: null }];
        const item = startWithTurn(setup, { id: "a", events: given });
        const { due } = written(await setup.commit(item));
        expect(due?.map(({ name }) => name)).toEqual(["early", "given"]);
      },
    },
    {
      title: "an event that follows its start in a group is due after the first turn",
      async run(setup) {
        const item = startWithTurn(setup, { id: "a" });
        const send = sendItem({ id: "a", name: "next" });
        const [result, sent] = await setup.provider.commit([item, send]);
        expect(sent).toEqual({ kind: "done" });
        const { key } = await setup.read("a");
        expect(await setup.inboxKinds(key)).toContain("event");
        expect(result).toMatchObject({ kind: "started", key });
      },
    },
    {
      title: "in a group, a start that is refused does not affect the others",
      async run(setup) {
        await setup.hold("taken");
        const items = ["a", "taken", "b"].map((id) =>
          startWithTurn(
            setup,
            { id },
            { events: [scheduledText()], tasks: [newTask({ sequence: 2 })] },
          ),
        );
        const results = await setup.provider.commit(items);
        expect(results[1]).toEqual(refused("INSTANCE_EXISTS"));
        for (const [index, id] of [
          [0, "a"],
          [2, "b"],
        ] as const) {
          const result = results[index];
          const record = await setup.read(id);
          expect(record.owner).toBe(ALPHA);
          // A store may ignore the turns of a group that it has to write item by item.
          const isWritten = result?.kind === "started" && result.due !== undefined;
          expect(record.lastEvent).toBe(isWritten ? 2 : 0);
          expect(await setup.inboxKinds(record.key)).toEqual(isWritten ? [] : ["start"]);
          const tasks = await setup.provider.readTasks({ key: record.key, execution: 1 });
          expect(tasks).toHaveLength(isWritten ? 1 : 0);
        }
      },
    },
    {
      title: "a repeated request returns the first start, and no second turn is written",
      async run(setup) {
        const item = startWithTurn(setup, { id: "a", requestId: "r" });
        const { key } = written(await setup.commit(item));
        const again = startWithTurn(setup, { id: "a", requestId: "r", runId: item.runId });
        expect(await setup.commit(again)).toMatchObject({ kind: "started", key, execution: 1 });
        expect(await setup.read("a")).toMatchObject({ lastEvent: 1 });
      },
    },
    {
      title: "settle finds a start with its first turn (I14)",
      async run(setup) {
        const item = startWithTurn(setup, { id: "a" });
        expect(await setup.provider.settle(item)).toBeNull();
        const { key } = written(await setup.commit(item));
        expect(await setup.provider.settle(item)).toEqual({
          ...{ kind: "started", key, execution: 1, leased: null, due: [] },
        });
        const ended = startWithTurn(
          setup,
          { id: "b" },
          {
            events: [completedText("1")],
            change: { kind: "ended", status: "completed", output: "1", error: null },
          },
        );
        written(await setup.commit(ended));
        expect(await setup.provider.settle(ended)).toMatchObject({ kind: "started", due: [] });
      },
    },
    {
      title: "settle does not report the first turn after another runtime has continued",
      async run(setup) {
        const item = startWithTurn(setup, { id: "a", owner: BETA }, { stepsOpen: true });
        written(await setup.commit(item));
        await setup.provider.removeRuntime(BETA);
        const [leased] = (await setup.lease(ALPHA)).instances;
        if (leased === undefined) throw new Error("The instance was not leased.");
        await setup.turn(heldFrom(leased), { events: [eventText()] });
        const settled = await setup.provider.settle(item);
        expect(settled).toMatchObject({ kind: "started", leased: null });
        expect(settled).not.toHaveProperty("due");
      },
    },
  ],
};

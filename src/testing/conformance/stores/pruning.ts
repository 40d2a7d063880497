// Contract of pruning: it removes the histories of old executions, and nothing else (admin.4).

import { expect } from "vitest";
import { continueAsNew } from "../instances/continue-as-new.ts";
import type { ContractSubject } from "../contract-case.ts";
import { eventText, heldFrom, sendItem, startItem, stateChange, type Held } from "../fixture.ts";
import type { Setup } from "../setup.ts";

/**
 * Creates an instance in its fifth execution. The earlier ones have two events each and ended 10 ms apart.
 */
async function holdFifth(setup: Setup, id = "a"): Promise<Held> {
  const held = await setup.hold(id);
  for (let i = 0; i < 4; i++) {
    await setup.environment.advance(10);
    const events = i === 0 ? [] : [eventText()];
    await continueAsNew(setup, held, { events, at: setup.environment.now() });
  }
  await setup.turn(held, { events: [eventText(), eventText(), eventText()] });
  return held;
}

async function executions(setup: Setup, { key }: Held): Promise<number[]> {
  const records = await setup.provider.readExecutions(key);
  return records.map(({ execution }) => execution);
}

export const pruning: ContractSubject = {
  subject: "pruning",
  cases: [
    {
      title:
        "without options, all executions except the newest are deleted, and the result contains the numbers",
      async run(setup) {
        const held = await holdFifth(setup);
        expect(await executions(setup, held)).toEqual([1, 2, 3, 4, 5]);
        expect(await setup.provider.pruneExecutions({ id: "a" })).toEqual({
          instances: 0,
          executions: 4,
          events: 8,
          messages: 0,
        });
        expect(await executions(setup, held)).toEqual([5]);
        expect(await setup.events(held)).toHaveLength(3);
        for (let execution = 1; execution < 5; execution++) {
          expect(await setup.provider.readHistory({ key: held.key, execution })).toEqual([]);
        }
      },
    },
    {
      title: "keepLast counts the current execution",
      async run(setup) {
        for (const [keepLast, left] of [
          [6, [1, 2, 3, 4, 5]],
          [5, [1, 2, 3, 4, 5]],
          [3, [3, 4, 5]],
          [1, [5]],
          [0, [5]],
        ] as const) {
          const id = `keep-${keepLast}`;
          const held = await holdFifth(setup, id);
          const removed = await setup.provider.pruneExecutions({ id, keepLast });
          expect(removed).toMatchObject({ executions: 5 - left.length });
          expect(await executions(setup, held)).toEqual(left);
        }
      },
    },
    {
      title: "completedBefore deletes only executions that ended before that time",
      async run(setup) {
        const begin = setup.environment.now();
        const held = await holdFifth(setup);
        const prune = (completedBefore: number) =>
          setup.provider.pruneExecutions({ id: "a", completedBefore });
        expect(await prune(begin + 10)).toMatchObject({ executions: 0 });
        expect(await prune(begin + 21)).toMatchObject({ executions: 2 });
        expect(await executions(setup, held)).toEqual([3, 4, 5]);
        expect(await prune(begin + 1_000_000)).toMatchObject({ executions: 2 });
        expect(await executions(setup, held)).toEqual([5]);
      },
    },
    {
      title: "an execution must match both keepLast and completedBefore",
      async run(setup) {
        const begin = setup.environment.now();
        const held = await holdFifth(setup);
        const completedBefore = begin + 21;
        await setup.provider.pruneExecutions({ id: "a", keepLast: 4, completedBefore });
        expect(await executions(setup, held)).toEqual([2, 3, 4, 5]);
        await setup.provider.pruneExecutions({ id: "a", keepLast: 1, completedBefore });
        expect(await executions(setup, held)).toEqual([3, 4, 5]);
      },
    },
    {
      title: "pruning returns null for a missing instance, and zeros if there is nothing to prune",
      async run(setup) {
        expect(await setup.provider.pruneExecutions({ id: "missing" })).toBeNull();
        await setup.start("a");
        expect(await setup.provider.pruneExecutions({ id: "a" })).toEqual({
          instances: 0,
          executions: 0,
          events: 0,
          messages: 0,
        });
      },
    },
    {
      title: "pruning again with the same options deletes nothing",
      async run(setup) {
        await holdFifth(setup);
        await setup.provider.pruneExecutions({ id: "a", keepLast: 2 });
        const again = await setup.provider.pruneExecutions({ id: "a", keepLast: 2 });
        expect(again).toMatchObject({ executions: 0, events: 0 });
      },
    },
    {
      title: "pruning does not affect a turn in flight",
      async run(setup) {
        const held = await holdFifth(setup);
        const record = await setup.read("a");
        await setup.provider.pruneExecutions({ id: "a" });
        expect(await setup.read("a")).toEqual(record);
        await setup.turn(held, { events: [eventText()] });
        await continueAsNew(setup, held);
        expect(await executions(setup, held)).toEqual([5]);
        expect(held.execution).toBe(6);
      },
    },
    {
      title: "pruning keeps key-values, status and messages (admin.4)",
      async run(setup) {
        const held = await setup.hold("a");
        const keyValues = [{ key: "k", value: "1" }];
        await setup.turn(held, { state: stateChange({ status: { value: '"s"' }, keyValues }) });
        await setup.commit(sendItem({ id: "a" }));
        await continueAsNew(setup, held);
        const inbox = await setup.provider.readInbox(held.key);
        expect(await setup.provider.pruneExecutions({ id: "a" })).toMatchObject({ executions: 1 });
        expect(await setup.provider.readInbox(held.key)).toEqual(inbox);
        expect(await setup.read("a")).toMatchObject({
          customStatus: '"s"',
          customStatusVersion: 1,
        });
        expect(await setup.provider.readKeyValue("a", "k")).toMatchObject({ value: "1" });
      },
    },
    {
      title:
        "the last execution of an ended instance is kept, and earlier executions of a restarted one are deleted",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.complete(held);
        expect(await setup.provider.pruneExecutions({ id: "a" })).toMatchObject({ executions: 0 });
        expect(await setup.events(held)).toHaveLength(2);
        await setup.commit(startItem({ id: "a", onConflict: "restart" }));
        expect(await setup.provider.pruneExecutions({ id: "a" })).toMatchObject({
          executions: 1,
          events: 2,
        });
        const leased = await setup.leaseOnly("a");
        expect(leased).toMatchObject({ execution: 2, lastEvent: 0, history: [] });
        const { messages } = leased;
        await setup.turn(heldFrom(leased), {
          events: [messages[0]?.data ?? ""],
          consumed: messages.map(({ id }) => id),
        });
        expect(await executions(setup, held)).toEqual([2]);
      },
    },
    {
      title: "pruning does not affect other instances, even with the same id prefix",
      async run(setup) {
        await holdFifth(setup, "a");
        const other = await holdFifth(setup, "aa");
        await setup.provider.pruneExecutions({ id: "a" });
        expect(await executions(setup, other)).toEqual([1, 2, 3, 4, 5]);
      },
    },
    {
      title: "a repeated start returns its execution, even if that execution is pruned",
      async run(setup) {
        const held = await setup.hold("a", { requestId: "r" });
        await setup.complete(held);
        await setup.commit(startItem({ id: "a", requestId: "s", onConflict: "restart" }));
        await setup.provider.pruneExecutions({ id: "a" });
        expect(await setup.commit(startItem({ id: "a", requestId: "r" }))).toMatchObject({
          kind: "started",
          execution: 1,
        });
      },
    },
    {
      title: "an execution with an unreadable end is not pruned by time (provider.3)",
      needs: ["corruptHistory"],
      async run(setup) {
        const held = await setup.hold("a");
        await continueAsNew(setup, held);
        const { key } = held;
        await setup.tamper.corruptHistory({ key, execution: 1, first: 2, text: "not json" });
        const completedBefore = setup.environment.now() + 1_000;
        await setup.provider.pruneExecutions({ id: "a", completedBefore });
        expect(await executions(setup, held)).toEqual([1]);
        await setup.provider.pruneExecutions({ id: "a" });
        expect(await executions(setup, held)).toEqual([]);
      },
    },
  ],
};

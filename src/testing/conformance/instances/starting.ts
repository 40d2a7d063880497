// Contract of starts: one commit creates an instance and its start message (semantics 1).

import { expect } from "vitest";
import type { ContractSubject } from "../contract-case.ts";
import {
  ALPHA,
  BETA,
  fresh,
  ORDER,
  sendItem,
  startedText,
  startItem,
  VERSION,
} from "../fixture.ts";
import type { Setup } from "../setup.ts";

/** Instance "a" can be leased after that time, and not a millisecond earlier. */
async function becomesDue(setup: Setup, afterMs: number): Promise<void> {
  await setup.environment.advance(afterMs - 1);
  await setup.leaseNothing();
  await setup.environment.advance(1);
  await setup.leaseOnly("a");
}

export const starting: ContractSubject = {
  subject: "starting",
  cases: [
    {
      title: "a started instance is pending at once, and its start waits in the inbox",
      async run(setup) {
        const item = startItem({ id: "a" });
        const result = await setup.commit(item);
        expect(result).toMatchObject({ kind: "started", execution: 1, leased: null });
        const record = await setup.read("a");
        expect(record).toMatchObject({
          status: "pending",
          execution: 1,
          lastEvent: 0,
          owner: null,
        });
        const inbox = await setup.provider.readInbox(record.key);
        expect(inbox).toHaveLength(1);
        expect(inbox[0]).toMatchObject({ kind: "start", execution: 1, data: item.started });
      },
    },
    {
      title: "all fields of a start are read back",
      async run(setup) {
        const parent = { id: "p", runId: "run-p", execution: 3, sequence: 17 };
        const result = await setup.start("a", {
          runId: "run-a",
          name: "ship",
          version: "2.1.0",
          priority: 1,
          parent,
          attributes: { customer: "ada", "odd key": "" },
        });
        expect(await setup.read("a")).toEqual({
          key: result.key,
          id: "a",
          runId: "run-a",
          name: "ship",
          version: "2.1.0",
          execution: 1,
          status: "pending",
          output: null,
          error: null,
          blocked: null,
          paused: null,
          customStatus: null,
          customStatusVersion: 0,
          cancelRequested: null,
          parent,
          attributes: { customer: "ada", "odd key": "" },
          priority: 1,
          lastEvent: 0,
          copiedUntil: 0,
          owner: null,
          createdAt: setup.environment.now(),
          updatedAt: setup.environment.now(),
          completedAt: null,
        });
      },
    },
    {
      title: "an instance that was never started reads as null",
      async run(setup) {
        await setup.start("a");
        expect(await setup.provider.readInstance("b")).toBeNull();
        expect(await setup.provider.readInstance("A")).toBeNull();
      },
    },
    {
      title: "an instance without a version gets its version from the first turn",
      async run(setup) {
        const held = await setup.hold("a", { version: null });
        expect(await setup.read("a")).toMatchObject({ version: VERSION });
        await setup.turn(held, { events: [startedText()] });
        expect(await setup.read("a")).toMatchObject({ version: VERSION });
      },
    },
    {
      title: "the first turn changes a pending instance to running",
      async run(setup) {
        const held = await setup.hold("a");
        expect(await setup.read("a")).toMatchObject({ status: "running", lastEvent: 1 });
        expect(await setup.provider.readInbox(held.key)).toEqual([]);
      },
    },
    {
      title: "a start with a lease returns its message, and only the owner holds the instance",
      async run(setup) {
        const token = fresh();
        const item = startItem({ id: "a", lease: { owner: ALPHA, token } });
        const result = await setup.commit(item);
        expect(result).toMatchObject({ kind: "started", leased: { kind: "start", execution: 1 } });
        if (result.kind !== "started") return;
        expect(result.leased).toEqual((await setup.provider.readInbox(result.key))[0]);
        expect(result.leased?.data).toBe(item.started);
        expect(await setup.read("a")).toMatchObject({ owner: ALPHA });
        await setup.leaseNothing(BETA);
      },
    },
    {
      title: "a start without a lease is available to any runtime",
      async run(setup) {
        const item = startItem({ id: "a", name: ORDER });
        await setup.commit(item);
        const leased = await setup.leaseOnly("a", BETA);
        expect(leased).toMatchObject({ fresh: true, execution: 1, lastEvent: 0, history: [] });
        expect(leased.messages).toHaveLength(1);
        expect(leased.messages[0]).toMatchObject({ kind: "start", data: item.started });
      },
    },
    {
      title: "a delayed start is due after its delay by the store's clock (I3)",
      async run(setup) {
        const { key } = await setup.start("a", { delayMs: 5_000 });
        const dueAt = setup.environment.now() + 5_000;
        expect((await setup.leaseNothing()).nextAt).toBe(dueAt);
        expect(await setup.read("a")).toMatchObject({ status: "pending" });
        expect((await setup.provider.readInbox(key))[0]?.visibleAt).toBe(dueAt);
        await becomesDue(setup, 5_000);
      },
    },
    {
      title: "a start with a due time is due at that time",
      async run(setup) {
        await setup.start("a", { dueAt: setup.environment.now() + 60_000 });
        await becomesDue(setup, 60_000);
      },
    },
    {
      title: "a start with a due time in the past is due at once",
      async run(setup) {
        await setup.start("a", { dueAt: 1_000 });
        await setup.leaseOnly("a");
      },
    },
    {
      title: "a delayed start with a lease is not delivered early",
      async run(setup) {
        const lease = { owner: ALPHA, token: fresh() };
        const result = await setup.start("a", { delayMs: 5_000, lease });
        expect(result.leased).toBeNull();
        await setup.environment.advance(5_000);
        const { instances } = await setup.lease(ALPHA);
        expect(instances).toHaveLength(1);
        expect(instances[0]?.messages[0]).toMatchObject({ kind: "start" });
      },
    },
    {
      title: "an event that arrives before a delayed start does not start the instance early",
      async run(setup) {
        await setup.start("a", { delayMs: 5_000 });
        await setup.commit(sendItem({ id: "a" }));
        await setup.leaseNothing();
        await setup.environment.advance(5_000);
        const leased = await setup.leaseOnly("a");
        expect(leased.messages.map((message) => message.kind).toSorted()).toEqual([
          "event",
          "start",
        ]);
      },
    },
    {
      title: "many starts get distinct keys and keep their own data",
      async run(setup) {
        const items = Array.from({ length: 100 }, (_, i) =>
          startItem({ id: `many-${i}`, started: startedText({ input: `${i}` }) }),
        );
        const results = await setup.provider.commit(items);
        const keys = results.map((result) => (result.kind === "started" ? result.key : -1));
        expect(new Set(keys).size).toBe(100);
        for (const [i, key] of keys.entries()) {
          expect((await setup.provider.readInbox(key))[0]?.data).toBe(items[i]?.started);
        }
      },
    },
  ],
};

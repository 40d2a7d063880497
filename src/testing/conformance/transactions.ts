// Transactions that a store shares with its user: what is written there is there if he commits (semantics 31–33).

import { expect } from "vitest";
import type { StepOutcomeItem, TransactionStore } from "../../core/provider/index.ts";
import type { ContractSubject } from "./contract-case.ts";
import { ALPHA, BETA, sendItem, startItem, terminateItem, type Held } from "./fixture.ts";
import type { Setup } from "./setup.ts";

const NEEDS = ["begin"] as const;
const DONE = { kind: "done" };
const INVALID = { code: "INVALID_ARGUMENT" };

/** The part of the contract that a store may be without. */
function sharedBy({ provider }: Setup): TransactionStore {
  const { transactions, writeWithin, transact } = provider;
  if (transactions === undefined || writeWithin === undefined || transact === undefined) {
    throw new Error("what begins transactions offers writeWithin and transact");
  }
  return {
    transactions,
    writeWithin: writeWithin.bind(provider),
    transact: transact.bind(provider),
  };
}

function outcomeOf({ key, token, execution }: Held): StepOutcomeItem {
  const outcome = '{"kind":"StepCompleted","scheduled":2,"output":"1","attempts":1}';
  return { kind: "stepOutcome", key, token, execution, sequence: 2, outcome };
}

/** A step's function that starts an instance in its own transaction, and answers with this. */
function stepThatStarts(setup: Setup, id: string, item: StepOutcomeItem | null) {
  const store = sharedBy(setup);
  return (transaction: unknown): StepOutcomeItem | null | Promise<StepOutcomeItem | null> => {
    const written = store.writeWithin(transaction, [startItem({ id })]);
    return store.transactions === "asynchronous" ? written.then(() => item) : item;
  };
}

export const sharedTransactions: ContractSubject = {
  subject: "shared transactions",
  cases: [
    {
      title: "a start within a transaction exists once it is committed, and is due then",
      needs: NEEDS,
      async run(setup) {
        const { transaction, commit } = await setup.begin();
        const [result] = await sharedBy(setup).writeWithin(transaction, [startItem({ id: "a" })]);
        expect(result).toMatchObject({ kind: "started", execution: 1, leased: null });
        expect(await setup.provider.readInstance("a")).toBeNull();
        await setup.leaseNothing();
        await commit();
        expect(await setup.read("a")).toMatchObject({ status: "pending", owner: null });
        const leased = await setup.leaseOnly("a");
        expect(leased.messages.map(({ kind }) => kind)).toEqual(["start"]);
      },
    },
    {
      title: "no lease is given within a transaction, whoever asks for one (TX1)",
      needs: NEEDS,
      async run(setup) {
        const { transaction, commit } = await setup.begin();
        const item = startItem({ id: "a", lease: { owner: ALPHA, token: 7 } });
        const [result] = await sharedBy(setup).writeWithin(transaction, [item]);
        expect(result).toMatchObject({ kind: "started", leased: null });
        await commit();
        expect(await setup.read("a")).toMatchObject({ owner: null });
      },
    },
    {
      title: "what is rolled back was never there: no instance, no message, no request id",
      needs: NEEDS,
      async run(setup) {
        const held = await setup.hold("a");
        const start = startItem({ id: "b", requestId: "r" });
        const send = sendItem({ id: "a", requestId: "s" });
        const { transaction, rollback } = await setup.begin();
        await sharedBy(setup).writeWithin(transaction, [start, send]);
        await rollback();
        expect(await setup.provider.readInstance("b")).toBeNull();
        expect(await setup.provider.readInbox(held.key)).toEqual([]);
        await setup.leaseNothing();
        expect(await setup.commit(start)).toMatchObject({ kind: "started" });
        expect(await setup.commit(send)).toEqual(DONE);
        expect(await setup.inboxKinds(held.key)).toEqual(["event"]);
      },
    },
    {
      title:
        "an event sent within a transaction is due to its receiver's owner once it is committed",
      needs: NEEDS,
      async run(setup) {
        const held = await setup.hold("a");
        const { transaction, commit } = await setup.begin();
        const item = sendItem({ id: "a", name: "paid", data: '"yes"' });
        expect(await sharedBy(setup).writeWithin(transaction, [item])).toEqual([DONE]);
        await setup.leaseNothing(ALPHA);
        await commit();
        const news = await setup.leaseOnly("a", ALPHA);
        expect(news).toMatchObject({ fresh: false, token: held.token });
        expect(news.messages).toMatchObject([{ kind: "event", name: "paid", data: '"yes"' }]);
      },
    },
    {
      title: "events of one transaction and those sent behind it are received in their order (P7)",
      needs: NEEDS,
      async run(setup) {
        const held = await setup.hold("a");
        const event = (data: string) => sendItem({ id: "a", name: "n", data });
        const { transaction, commit } = await setup.begin();
        await sharedBy(setup).writeWithin(transaction, [event("1"), event("2")]);
        await commit();
        await setup.commit(event("3"));
        const messages = await setup.due(held);
        expect(messages.map(({ data }) => data)).toEqual(["1", "2", "3"]);
      },
    },
    {
      title: "a turn of its receiver's is committed while a transaction that wrote to it is open",
      needs: [...NEEDS, "concurrentWrites"],
      async run(setup) {
        const held = await setup.hold("a");
        const { transaction, commit } = await setup.begin();
        await sharedBy(setup).writeWithin(transaction, [sendItem({ id: "a" })]);
        await setup.turn(held, { events: ['{"kind":"TimerFired","scheduled":1}'] });
        await setup.commit(sendItem({ id: "a" }));
        await commit();
        expect(await setup.inboxKinds(held.key)).toEqual(["event", "event"]);
      },
    },
    {
      title:
        "a taken id, a missing receiver and an ended one are refused, and the transaction goes on",
      needs: NEEDS,
      async run(setup) {
        await setup.start("taken");
        await setup.hold("ended");
        await setup.commit(terminateItem("ended"));
        const { transaction, commit } = await setup.begin();
        const results = await sharedBy(setup).writeWithin(transaction, [
          startItem({ id: "taken" }),
          startItem({ id: "taken", onConflict: "useExisting" }),
          sendItem({ id: "missing" }),
          sendItem({ id: "ended" }),
          startItem({ id: "new" }),
        ]);
        expect(results).toMatchObject([
          { kind: "refused", code: "INSTANCE_EXISTS" },
          { kind: "existing", execution: 1 },
          { kind: "refused", code: "INSTANCE_NOT_FOUND" },
          { kind: "refused", code: "INSTANCE_FINISHED" },
          { kind: "started" },
        ]);
        await commit();
        expect(await setup.read("new")).toMatchObject({ status: "pending" });
      },
    },
    {
      title:
        "what is no open transaction is refused as INVALID_ARGUMENT, before anything is written",
      needs: NEEDS,
      async run(setup) {
        const store = sharedBy(setup);
        const { transaction, commit } = await setup.begin();
        await commit();
        for (const wrong of [transaction, {}, null, "tx"]) {
          const written = store.writeWithin(wrong, [startItem({ id: "a" })]);
          await expect(written).rejects.toMatchObject(INVALID);
        }
        expect(await setup.provider.readInstance("a")).toBeNull();
      },
    },
    {
      title: "a step's outcome is committed with what its function wrote (TX2)",
      needs: NEEDS,
      async run(setup) {
        const held = await setup.hold("a");
        const item = outcomeOf(held);
        const work = stepThatStarts(setup, "b", item);
        expect(await sharedBy(setup).transact(work)).toEqual(DONE);
        expect(await setup.read("b")).toMatchObject({ status: "pending" });
        expect(await setup.due(held)).toMatchObject([{ kind: "step", data: item.outcome }]);
        expect(await setup.provider.settle(item)).toEqual(DONE);
      },
    },
    {
      title: "a function that says no leaves neither its rows nor an outcome (TX3)",
      needs: NEEDS,
      async run(setup) {
        const held = await setup.hold("a");
        const work = stepThatStarts(setup, "b", null);
        expect(await sharedBy(setup).transact(work)).toEqual({ kind: "rolledBack" });
        expect(await setup.provider.readInstance("b")).toBeNull();
        expect(await setup.provider.readInbox(held.key)).toEqual([]);
      },
    },
    {
      title: "who lost the instance meanwhile is refused, and his rows go too (P8)",
      needs: NEEDS,
      async run(setup) {
        const held = await setup.hold("a", { leaseMs: 1_000 });
        await setup.commit(sendItem({ id: "a" }));
        await setup.environment.advance(1_001);
        await setup.leaseOnly("a", BETA);
        const work = stepThatStarts(setup, "b", outcomeOf(held));
        const refused = { kind: "refused", code: "LEASE_LOST" };
        expect(await sharedBy(setup).transact(work)).toEqual(refused);
        expect(await setup.provider.readInstance("b")).toBeNull();
        expect(await setup.inboxKinds(held.key)).toEqual(["event"]);
      },
    },
  ],
};

// Contract of user transactions: writes of Perdure within a user transaction exist only if the user commits
// (semantics 31–33).

import { expect } from "vitest";
import type { StepOutcomeItem, TransactionStore } from "../../../core/provider/index.ts";
import type { ContractSubject } from "../contract-case.ts";
import {
  ALPHA,
  BETA,
  type Held,
  LEASE_LOST,
  refused,
  sendItem,
  startItem,
  terminateItem,
} from "../fixture.ts";
import type { Setup } from "../setup.ts";

const NEEDS = ["begin"] as const;
const DONE = { kind: "done" };
const INVALID = { code: "INVALID_ARGUMENT" };

/** The transaction methods, which are optional for a provider. */
function sharedBy({ provider }: Setup): TransactionStore {
  const { transactions, writeWithin, transact } = provider;
  if (transactions === undefined || writeWithin === undefined || transact === undefined) {
    throw new Error("A provider that offers begin must have writeWithin and transact.");
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

/** A step function that starts an instance in its transaction and returns the given item. */
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
      title: "a start in a user transaction exists and is due after the transaction commits",
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
      title:
        "a start in a user transaction gets no lease, even if it requests one (provider.transactions.1)",
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
      title: "a rollback removes the instance, the message and the request id",
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
      title: "an event in a user transaction is due for the owner of its receiver after the commit",
      needs: NEEDS,
      async run(setup) {
        const held = await setup.hold("a");
        // Several times: a store that moves the event by itself may do so at any point of the lease call.
        for (let round = 1; round <= 40; round += 1) {
          const { transaction, commit } = await setup.begin();
          const item = sendItem({ id: "a", name: "paid", data: `${round}` });
          expect(await sharedBy(setup).writeWithin(transaction, [item])).toEqual([DONE]);
          await setup.leaseNothing(ALPHA);
          await commit();
          const news = await setup.leaseOnly("a", ALPHA);
          expect(news).toMatchObject({ fresh: false, token: held.token });
          expect(news.messages).toMatchObject([{ kind: "event", name: "paid", data: `${round}` }]);
          await setup.turn(held, { consumed: news.messages.map(({ id }) => id) });
        }
      },
    },
    {
      title: "events of a user transaction and later events are delivered in order (P7)",
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
      title: "a turn of the receiver is committed while a transaction that sent to it is open",
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
        "a start with an existing id and an event to a missing or ended instance are refused, and the transaction continues",
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
          refused("INSTANCE_EXISTS"),
          { kind: "existing", execution: 1 },
          refused("INSTANCE_NOT_FOUND"),
          refused("INSTANCE_FINISHED"),
          { kind: "started" },
        ]);
        await commit();
        expect(await setup.read("new")).toMatchObject({ status: "pending" });
      },
    },
    {
      title:
        "an argument that is not an open transaction is refused with INVALID_ARGUMENT before any write",
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
      title:
        "a step outcome is committed together with the writes of its function (provider.transactions.2)",
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
      title:
        "a function that returns null leaves neither its writes nor an outcome (provider.transactions.3)",
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
      title:
        "if the lease is lost, the step outcome is refused and the writes of the function are rolled back (P8)",
      needs: NEEDS,
      async run(setup) {
        const held = await setup.hold("a", { leaseMs: 1_000 });
        await setup.commit(sendItem({ id: "a" }));
        await setup.environment.advance(1_001);
        await setup.leaseOnly("a", BETA);
        const work = stepThatStarts(setup, "b", outcomeOf(held));
        const refused = LEASE_LOST;
        expect(await sharedBy(setup).transact(work)).toEqual(refused);
        expect(await setup.provider.readInstance("b")).toBeNull();
        expect(await setup.inboxKinds(held.key)).toEqual(["event"]);
      },
    },
  ],
};

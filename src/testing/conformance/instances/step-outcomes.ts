// Contract of step outcomes: the outcome of an inline step waits in the inbox if no turn can record it
// (semantics 17, 19a).

import { expect } from "vitest";
import type { StepOutcomeItem } from "../../../core/provider/index.ts";
import { continueAsNew } from "./continue-as-new.ts";
import type { ContractSubject } from "../contract-case.ts";
import {
  ALPHA,
  BETA,
  eventText,
  type Held,
  heldFrom,
  LEASE_LOST,
  pauseItem,
  resumeItem,
  sendItem,
  terminateItem,
} from "../fixture.ts";

const DONE = { kind: "done" };

function stepItem(
  held: Held,
  sequence = 2,
  fields: Partial<StepOutcomeItem> = {},
): StepOutcomeItem {
  const { key, token, execution } = held;
  const outcome = `{"kind":"StepCompleted","scheduled":${sequence},"output":"1","attempts":1}`;
  return { kind: "stepOutcome", key, token, execution, sequence, outcome, ...fields };
}

export const stepOutcomes: ContractSubject = {
  subject: "step outcomes",
  cases: [
    {
      title: "a step outcome is accepted only from the lease holder, and stored once",
      async run(setup) {
        const held = await setup.hold("a");
        const { key, token } = held;
        const item = { kind: "stepOutcome", key, execution: 1, sequence: 3, outcome: "1" } as const;
        for (const stale of [
          { ...item, token: token + 1 },
          { ...item, token, execution: 2 },
        ]) {
          expect(await setup.commit(stale)).toEqual(LEASE_LOST);
        }
        expect(await setup.provider.readInbox(key)).toEqual([]);
        await setup.commit({ ...item, token });
        await setup.commit({ ...item, token });
        expect(await setup.inboxKinds(key)).toEqual(["step"]);
      },
    },
    {
      title: "a step outcome waits as a message of its execution, with its sequence and text",
      async run(setup) {
        const held = await setup.hold("a");
        const item = stepItem(held, 2);
        expect(await setup.commit(item)).toEqual(DONE);
        expect(await setup.due(held)).toMatchObject([
          { kind: "step", execution: 1, sequence: 2, name: null, data: item.outcome },
        ]);
      },
    },
    {
      title: "the outcomes of several steps wait in the order in which they were committed",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.provider.commit([3, 2, 4].map((sequence) => stepItem(held, sequence)));
        const due = await setup.due(held);
        expect(due.map(({ sequence }) => sequence)).toEqual([3, 2, 4]);
      },
    },
    {
      title: "a step outcome is accepted while the instance is paused (19a)",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.commit(pauseItem("a"));
        expect(await setup.commit(stepItem(held))).toEqual(DONE);
        expect(await setup.inboxKinds(held.key)).toEqual(["step"]);
        expect(await setup.read("a")).toMatchObject({ owner: ALPHA, status: "running" });
      },
    },
    {
      title: "the next owner receives the step outcome, and a turn consumes it (I6)",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.turn(held, { events: [eventText()], stepsOpen: true });
        await setup.commit(pauseItem("a"));
        const { key, token } = held;
        await setup.provider.commit([stepItem(held), { kind: "releaseInstance", key, token }]);
        await setup.commit(resumeItem("a"));
        const leased = await setup.leaseOnly("a", BETA);
        const step = leased.messages.find(({ kind }) => kind === "step");
        expect(step).toMatchObject({ sequence: 2 });
        await setup.turn(heldFrom(leased), {
          events: [eventText()],
          consumed: leased.messages.map(({ id }) => id),
        });
        expect(await setup.provider.readInbox(key)).toEqual([]);
      },
    },
    {
      title: "a step outcome without a valid lease is refused, and nothing is written (P8)",
      async run(setup) {
        const held = await setup.hold("a", { leaseMs: 1_000 });
        await setup.commit(sendItem({ id: "a" }));
        await setup.environment.advance(1_001);
        await setup.leaseOnly("a", BETA);
        expect(await setup.commit(stepItem(held))).toEqual(LEASE_LOST);
        const ended = await setup.hold("ended");
        await setup.commit(terminateItem("ended"));
        expect(await setup.commit(stepItem(ended))).toEqual(LEASE_LOST);
        const released = await setup.hold("released");
        await setup.turn(released, { release: true });
        expect(await setup.commit(stepItem(released))).toEqual(LEASE_LOST);
        expect(await setup.inboxKinds(held.key)).toEqual(["event"]);
        expect(await setup.provider.readInbox(ended.key)).toEqual([]);
        expect(await setup.provider.readInbox(released.key)).toEqual([]);
      },
    },
    {
      title:
        "a step outcome with an expired lease is accepted until another runtime takes over the instance (I2)",
      async run(setup) {
        const held = await setup.hold("a", { leaseMs: 1_000 });
        await setup.environment.advance(5_000);
        expect(await setup.commit(stepItem(held))).toEqual(DONE);
      },
    },
    {
      title:
        "a step outcome of an earlier execution is refused, and waiting outcomes do not reach the next execution (messages.4)",
      async run(setup) {
        const held = await setup.hold("a");
        const old = stepItem(held, 2);
        await setup.commit(stepItem(held, 3));
        await continueAsNew(setup, held);
        expect(await setup.commit(old)).toEqual(LEASE_LOST);
        expect(await setup.inboxKinds(held.key)).toEqual(["start"]);
        expect(await setup.commit(stepItem(held, 2))).toEqual(DONE);
        expect(await setup.provider.readInbox(held.key)).toMatchObject([
          { kind: "start" },
          { kind: "step", execution: 2 },
        ]);
      },
    },
    {
      title: "a stored step outcome settles as done, and one that was not written as null (I14)",
      async run(setup) {
        const held = await setup.hold("a");
        const item = stepItem(held);
        expect(await setup.provider.settle(item)).toBeNull();
        await setup.commit(item);
        expect(await setup.provider.settle(item)).toEqual(DONE);
        expect(await setup.provider.settle(stepItem(held, 3))).toBeNull();
      },
    },
  ],
};

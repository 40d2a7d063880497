// Contract of the states of queues: declared rules and pauses.

import { expect } from "vitest";
import type { ContractSubject } from "../contract-case.ts";
import { ALPHA, BETA, CHARGE } from "../fixture.ts";
import { rule, SHIP } from "./queue-steps.ts";

const RULE = { concurrency: 2 };
const PAUSE = '{"reason":"repair","at":1}';

export const queueStates: ContractSubject = {
  subject: "states of queues",
  cases: [
    {
      title: "a store without rules and pauses lists no queue, and peek names none",
      async run({ provider }) {
        await provider.declareQueues(ALPHA, [{ name: CHARGE, rule: null }]);
        expect(await provider.readQueueStates()).toEqual([]);
        expect(await provider.peek({ owner: ALPHA })).not.toHaveProperty("ruled");
      },
    },
    {
      title: "declared rules are listed by name with all their members (provider.queues.1)",
      async run({ provider }) {
        const full = { concurrency: 3, perKey: 1, rate: { count: 5, perMs: 60_000 }, fair: true };
        const replaced = await provider.declareQueues(ALPHA, [
          { name: SHIP, rule: { fair: true } },
          { name: CHARGE, rule: { ...full, fair: true } },
          { name: "other", rule: null },
        ]);
        expect(replaced).toEqual([]);
        expect(await provider.readQueueStates()).toEqual([
          { name: CHARGE, rule: full, paused: null },
          { name: SHIP, rule: { fair: true }, paused: null },
        ]);
        expect((await provider.peek({ owner: ALPHA })).ruled).toEqual([CHARGE, SHIP]);
      },
    },
    {
      title:
        "a declaration that replaces the rule of another runtime is reported (provider.queues.1)",
      async run(setup) {
        const { provider } = setup;
        await rule(setup, RULE);
        const declare = (owner: string, next: typeof RULE | null) =>
          provider.declareQueues(owner, [{ name: CHARGE, rule: next }]);
        expect(await declare(BETA, { concurrency: 2 })).toEqual([]);
        expect(await declare(BETA, { concurrency: 5 })).toEqual([
          { name: CHARGE, previous: RULE, declaredBy: ALPHA, isLive: true },
        ]);
        expect(await declare(BETA, null)).toEqual([]); // its own rule
        expect(await provider.readQueueStates()).toEqual([]);
        await setup.die(BETA);
        expect(await declare(ALPHA, RULE)).toEqual([
          { name: CHARGE, previous: null, declaredBy: BETA, isLive: false },
        ]);
        expect(await provider.readQueueStates()).toEqual([
          { name: CHARGE, rule: RULE, paused: null },
        ]);
      },
    },
    {
      title:
        "an equal declaration takes the place of a runtime that is gone, so that a later replacement names a live runtime (provider.queues.1)",
      async run(setup) {
        const { provider } = setup;
        await provider.declareQueues(BETA, [{ name: CHARGE, rule: RULE }]);
        await setup.die(BETA);
        await rule(setup, RULE);
        const replaced = await provider.declareQueues("runtime-gamma", [
          { name: CHARGE, rule: null },
        ]);
        expect(replaced).toEqual([
          { name: CHARGE, previous: RULE, declaredBy: ALPHA, isLive: true },
        ]);
      },
    },
    {
      title: "the first pause of a queue counts, and a resume ends it (provider.queues.6)",
      async run(setup) {
        const { provider } = setup;
        await provider.pauseQueue(CHARGE, PAUSE);
        await provider.pauseQueue(CHARGE, '{"at":2}');
        const states = [{ name: CHARGE, rule: null, paused: PAUSE }];
        expect(await provider.readQueueStates()).toEqual(states);
        expect((await provider.peek({ owner: ALPHA })).ruled).toEqual([CHARGE]);
        await rule(setup, RULE);
        expect(await provider.readQueueStates()).toEqual([
          { name: CHARGE, rule: RULE, paused: PAUSE },
        ]);
        await provider.resumeQueue(CHARGE);
        await provider.resumeQueue("unknown");
        expect(await provider.readQueueStates()).toEqual([
          { name: CHARGE, rule: RULE, paused: null },
        ]);
      },
    },
  ],
};

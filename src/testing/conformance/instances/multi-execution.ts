// Contract of executions: each execution of an instance has a separate history, separate tasks and separate
// messages (I11, messages.4, provider.tasks.1).

import { expect } from "vitest";
import { continueAsNew } from "./continue-as-new.ts";
import type { ContractSubject } from "../contract-case.ts";
import {
  ALPHA,
  BETA,
  claimOf,
  completedText,
  eventText,
  newTask,
  outcomeText,
  sendItem,
  startedText,
  startItem,
} from "../fixture.ts";

export const multiExecution: ContractSubject = {
  subject: "multiple executions",
  cases: [
    {
      title: "each execution has a separate history, numbered from 1 without gaps (I4)",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.turn(held, { events: [eventText('"one"')] });
        await continueAsNew(setup, held);
        await setup.turn(held, { events: [startedText(), eventText('"two"')] });
        const first = await setup.events({ key: held.key, execution: 1 });
        const second = await setup.events({ key: held.key, execution: 2 });
        expect(first.map((event) => event.sequence)).toEqual([1, 2, 3]);
        expect(second.map((event) => event.sequence)).toEqual([1, 2]);
        expect(first[1]).toMatchObject({ data: '"one"' });
        expect(second[1]).toMatchObject({ data: '"two"' });
      },
    },
    {
      title: "a cold lease returns only the history of the newest execution",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.turn(held, { events: [eventText(), eventText()] });
        const { due } = await continueAsNew(setup, held);
        const consumed = due.map((message) => message.id);
        await setup.turn(held, { events: [startedText()], consumed, release: true });
        await setup.commit(sendItem({ id: "a" }));
        const leased = await setup.leaseOnly("a", BETA);
        expect(leased).toMatchObject({ execution: 2, lastEvent: 1 });
        expect(leased.history).toEqual(
          await setup.provider.readHistory({ key: held.key, execution: 2 }),
        );
        expect(leased.history).toHaveLength(1);
      },
    },
    {
      title: "tasks of two executions with the same sequence are separate tasks (provider.tasks.1)",
      async run(setup) {
        const { held, task: old } = await setup.holdTask("a", {
          lease: { owner: ALPHA, token: 71 },
        });
        await continueAsNew(setup, held, { cancelledTasks: [old.sequence] });
        await setup.turn(held, { events: [startedText()] });
        const task = newTask({ sequence: old.sequence, lease: { owner: ALPHA, token: 72 } });
        await setup.turn(held, { events: [eventText()], tasks: [task] });
        const late = { ...claimOf(old, 71), execution: 1 };
        const outcome = outcomeText(old.sequence);
        expect(await setup.commit({ kind: "completion", task: late, outcome })).toMatchObject({
          kind: "refused",
        });
        expect(await setup.provider.readTasks({ key: held.key, execution: 1 })).toEqual([]);
        expect(await setup.provider.readTasks(held)).toMatchObject([{ sequence: old.sequence }]);
      },
    },
    {
      title: "timers of two executions with the same sequence are separate timers",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.turn(held, { timers: [{ kind: "timer", sequence: 2, delayMs: 100 }] });
        await continueAsNew(setup, held);
        await setup.turn(held, {
          events: [startedText(), eventText()],
          timers: [{ kind: "timer", sequence: 2, delayMs: 500 }],
        });
        await setup.environment.advance(499);
        expect((await setup.due(held)).filter((message) => message.kind === "timer")).toEqual([]);
        await setup.environment.advance(1);
        const fired = (await setup.due(held)).filter((message) => message.kind === "timer");
        expect(fired).toMatchObject([{ execution: 2, sequence: 2 }]);
      },
    },
    {
      title: "the executions of an instance are listed with their last events",
      async run(setup) {
        const held = await setup.hold("a");
        await continueAsNew(setup, held);
        await setup.turn(held, { events: [startedText()] });
        await setup.complete(held, '"second"');
        const restarted = await setup.hold("a", { onConflict: "restart" });
        await setup.turn(restarted, { events: [eventText()] });
        const executions = await setup.provider.readExecutions(held.key);
        expect(executions.map(({ execution, lastEvent }) => [execution, lastEvent])).toEqual([
          [1, 2],
          [2, 2],
          [3, 2],
        ]);
        const kinds = executions.map(({ lastBody }) => JSON.parse(lastBody) as { kind: string });
        expect(kinds.map(({ kind }) => kind)).toEqual([
          "OrchestrationContinuedAsNew",
          "OrchestrationCompleted",
          "EventReceived",
        ]);
        expect(kinds[1]).toEqual(JSON.parse(completedText('"second"')));
      },
    },
    {
      title: "a restart does not change earlier executions (provider.instances.2)",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.complete(held, '"first"');
        const history = await setup.provider.readHistory(held);
        const [before] = await setup.provider.readExecutions(held.key);
        await setup.environment.advance(1_000);
        await setup.commit(startItem({ id: "a", onConflict: "restart" }));
        await setup.commit(startItem({ id: "a", onConflict: "terminateExisting" }));
        expect(await setup.provider.readHistory(held)).toEqual(history);
        expect((await setup.provider.readExecutions(held.key))[0]).toEqual(before);
        expect(await setup.read("a")).toMatchObject({ execution: 3 });
      },
    },
  ],
};

// Contract of waiting work: the oldest waiting work of each kind, and the load of each runtime.

import { expect } from "vitest";
import type { ContractSubject } from "../contract-case.ts";
import { ALPHA, BETA, CHARGE, ORDER, pauseItem, sendItem, VERSION } from "../fixture.ts";
import type { Setup } from "../setup.ts";

/** One line per kind of waiting work, with its age. */
async function lines(setup: Setup): Promise<string[]> {
  const now = setup.environment.now();
  const waiting = await setup.provider.readWaiting();
  const shown = waiting.map((kind) => {
    const age = now - kind.oldestAt;
    return kind.kind === "task"
      ? `task ${kind.name}[${kind.tags.toSorted().join()}] ${age}`
      : `instance ${kind.target} ${age}`;
  });
  return shown.toSorted();
}

export const waiting: ContractSubject = {
  subject: "waiting work",
  cases: [
    {
      title: "an empty store has no waiting work and no load",
      async run(setup) {
        expect(await setup.provider.readWaiting()).toEqual([]);
        expect(await setup.provider.readLoads()).toEqual([]);
      },
    },
    {
      title: "waiting tasks are listed by name and tags, with the age of the oldest task",
      async run(setup) {
        const { held } = await setup.holdTask("a", { priority: 5 });
        await setup.environment.advance(100);
        await setup.schedule(held, { priority: 1 });
        await setup.schedule(held, { tags: ["gpu", "eu"] });
        await setup.schedule(held, { name: "ship", session: "s" });
        await setup.environment.advance(50);
        expect(await lines(setup)).toEqual([
          `task ${CHARGE}[] 150`,
          `task ${CHARGE}[eu,gpu] 50`,
          "task ship[] 50",
        ]);
      },
    },
    {
      title: "leased and delayed tasks are not listed as waiting",
      async run(setup) {
        await setup.holdTask("a");
        const task = await setup.leaseOneTask();
        expect(await lines(setup)).toEqual([]);
        await setup.commit({ kind: "retry", task, delayMs: 1_000, failure: "{}" });
        expect(await lines(setup)).toEqual([]);
        await setup.environment.advance(1_001);
        expect(await lines(setup)).toEqual([`task ${CHARGE}[] 1`]);
      },
    },
    {
      title: "waiting instances are listed by target, with and without a version",
      async run(setup) {
        await setup.start("a", { version: null });
        await setup.start("b", { version: "2.0.0" });
        await setup.environment.advance(10);
        await setup.start("c", { version: null, priority: 1 });
        expect(await lines(setup)).toEqual([`instance ${ORDER} 10`, `instance ${ORDER}@2.0.0 10`]);
      },
    },
    {
      title:
        "an instance that is leased, paused, blocked, delayed or ended is not listed as waiting",
      async run(setup) {
        await setup.start("later", { delayMs: 1_000 });
        await setup.start("paused");
        await setup.commit(pauseItem("paused"));
        const held = await setup.hold("held");
        await setup.commit(sendItem({ id: "held" }));
        const blocked = await setup.hold("blocked");
        await setup.commit(sendItem({ id: "blocked" }));
        const { key, token } = blocked;
        await setup.commit({ kind: "block", key, token, reason: "{}", by: BETA });
        const over = await setup.hold("over");
        await setup.commit(sendItem({ id: "over" }));
        await setup.complete(over);
        expect(await lines(setup)).toEqual([]);
        await setup.commit({ kind: "releaseInstance", key: held.key, token: held.token });
        expect(await lines(setup)).toEqual([`instance ${ORDER}@${VERSION} 0`]);
      },
    },
    {
      title: "loads count the instances and tasks that each runtime holds",
      async run(setup) {
        const a = await setup.hold("a");
        await setup.hold("b");
        await setup.hold("c", { owner: BETA });
        await setup.schedule(a);
        await setup.schedule(a);
        await setup.schedule(a);
        await setup.leaseTasks(BETA, { limit: 2 });
        expect(await setup.provider.readLoads()).toEqual([
          { owner: ALPHA, instances: 2, tasks: 0 },
          { owner: BETA, instances: 1, tasks: 2 },
        ]);
      },
    },
  ],
};

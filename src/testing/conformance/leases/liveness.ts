// Contract of liveness: heartbeats of runtimes, and the leases of runtimes that were declared dead
// (provider.runtimes.1–provider.runtimes.3, P9).

import { expect } from "vitest";
import type { ContractSubject } from "../contract-case.ts";
import {
  ALPHA,
  BETA,
  CHARGE,
  eventText,
  fresh,
  GAMMA,
  newTask,
  registration,
  scheduledText,
  sendItem,
} from "../fixture.ts";

export const liveness: ContractSubject = {
  subject: "liveness",
  cases: [
    {
      title: "a registered runtime is listed with all fields of its registration",
      async run(setup) {
        const full = registration({
          id: GAMMA,
          nodeId: "node-9",
          hostname: "höst",
          registered: '{"orchestrations":["order@1.0.0"]}',
          process: { bootId: "boot", pidNamespace: "4026531836", pid: 4_194_304, startTime: "99" },
        });
        await setup.provider.registerRuntime(full);
        const runtimes = await setup.provider.listRuntimes();
        expect(runtimes.map((runtime) => runtime.id).toSorted()).toEqual(
          [ALPHA, BETA, GAMMA].toSorted(),
        );
        const now = setup.environment.now();
        const found = runtimes.find((runtime) => runtime.id === GAMMA);
        const unchecked = { leasesCheckedAt: null, strandedLeases: 0 };
        expect(found).toEqual({ ...full, startedAt: now, beatAt: now, note: null, ...unchecked });
        expect(runtimes.find((runtime) => runtime.id === ALPHA)?.process).toBeNull();
      },
    },
    {
      title: "a heartbeat is recorded with the time of the store's clock",
      async run(setup) {
        const startedAt = setup.environment.now();
        await setup.environment.advance(1_000);
        expect(await setup.provider.beat(ALPHA)).toBe(true);
        const found = (await setup.provider.listRuntimes()).find((runtime) => runtime.id === ALPHA);
        expect(found).toMatchObject({ startedAt, beatAt: startedAt + 1_000 });
        const other = (await setup.provider.listRuntimes()).find((runtime) => runtime.id === BETA);
        expect(other).toMatchObject({ beatAt: startedAt });
      },
    },
    {
      title:
        "a lease check is recorded with its time, and a new registration clears it (provider.runtimes.5)",
      async run(setup) {
        const { provider } = setup;
        const recorded = async (): Promise<readonly unknown[]> =>
          (await provider.listRuntimes()).map(({ id, leasesCheckedAt, strandedLeases }) => [
            id,
            leasesCheckedAt,
            strandedLeases,
          ]);
        const now = setup.environment.now();
        await setup.environment.advance(1_000);
        await provider.recordLeaseCheck({ runtimeId: ALPHA, stranded: 3 });
        await provider.recordLeaseCheck({ runtimeId: "never-registered", stranded: 9 });
        expect(await recorded()).toEqual([
          [ALPHA, now + 1_000, 3],
          [BETA, null, 0],
        ]);
        expect(await provider.readMetrics()).toMatchObject({ strandedLeases: 3 });
        await provider.registerRuntime(registration({ id: ALPHA }));
        expect((await recorded()).toSorted()).toEqual([
          [ALPHA, null, 0],
          [BETA, null, 0],
        ]);
        expect(await provider.readMetrics()).toMatchObject({ strandedLeases: 0 });
      },
    },
    {
      title: "a heartbeat of a runtime that is not registered returns false",
      async run(setup) {
        expect(await setup.provider.beat("never-registered")).toBe(false);
        await setup.die(ALPHA);
        expect(await setup.provider.beat(ALPHA)).toBe(false);
        expect((await setup.provider.listRuntimes()).map((runtime) => runtime.id)).toEqual([BETA]);
      },
    },
    {
      title:
        "the leases of a runtime are listed with their tokens, without released leases (provider.runtimes.4)",
      async run(setup) {
        expect(await setup.provider.readLeases(ALPHA)).toEqual({ instances: [], tasks: [] });
        const a = await setup.hold("a");
        const b = await setup.hold("b");
        await setup.hold("c", { owner: BETA });
        const token = fresh();
        const now = setup.environment.now();
        const task = newTask({ sequence: 2, name: CHARGE, lease: { owner: ALPHA, token } });
        const queued = newTask({ sequence: 3, name: CHARGE });
        await setup.turn(a, {
          events: [scheduledText(), scheduledText()],
          tasks: [task, queued],
        });
        const { key, execution } = a;
        const held = { key, execution, sequence: 2, token, name: CHARGE, availableAt: now };
        const lease = { key: b.key, token: b.token, execution: b.execution, lastEvent: 1 };
        expect(await setup.provider.readLeases(ALPHA)).toEqual({
          instances: [{ key, token: a.token, execution, lastEvent: 3 }, lease],
          tasks: [held],
        });
        await setup.commit({ kind: "releaseInstance", key, token: a.token });
        await setup.commit({ kind: "releaseTask", task: held });
        expect(await setup.provider.readLeases(ALPHA)).toEqual({ instances: [lease], tasks: [] });
      },
    },
    {
      title: "a runtime with a recent heartbeat is not declared dead (provider.runtimes.2)",
      async run(setup) {
        await setup.hold("a");
        await setup.environment.advance(4_000);
        await setup.provider.beat(ALPHA);
        await setup.environment.advance(4_000);
        expect(await setup.provider.expireRuntime({ id: ALPHA, staleMs: 5_000 })).toEqual({
          expired: false,
          instances: 0,
          tasks: 0,
        });
        expect(await setup.read("a")).toMatchObject({ owner: ALPHA });
        expect(await setup.provider.beat(ALPHA)).toBe(true);
      },
    },
    {
      title:
        "a heartbeat after the check prevents a runtime from being declared dead (provider.runtimes.2)",
      async run(setup) {
        await setup.hold("a");
        const [seen] = (await setup.provider.listRuntimes()).filter(({ id }) => id === ALPHA);
        const beatAt = seen?.beatAt ?? 0;
        await setup.environment.advance(1);
        await setup.provider.beat(ALPHA);
        const request = { id: ALPHA, staleMs: null };
        expect(await setup.provider.expireRuntime({ ...request, beatAt })).toMatchObject({
          expired: false,
        });
        expect(await setup.read("a")).toMatchObject({ owner: ALPHA });
        expect(
          await setup.provider.expireRuntime({ ...request, beatAt: beatAt + 1 }),
        ).toMatchObject({ expired: true, instances: 1 });
      },
    },
    {
      title: "declaring a stale runtime dead releases all its leases (provider.runtimes.3)",
      async run(setup) {
        const a = await setup.hold("a");
        await setup.hold("b");
        await setup.hold("of beta", { owner: BETA });
        await setup.schedule(a);
        await setup.leaseOneTask(ALPHA);
        await setup.environment.advance(5_001);
        expect(await setup.provider.expireRuntime({ id: ALPHA, staleMs: 5_000 })).toEqual({
          expired: true,
          instances: 2,
          tasks: 1,
        });
        expect(await setup.read("a")).toMatchObject({ owner: null });
        expect(await setup.read("b")).toMatchObject({ owner: null });
        expect(await setup.read("of beta")).toMatchObject({ owner: BETA });
        expect(await setup.provider.readTasks(a)).toMatchObject([{ owner: null }]);
      },
    },
    {
      title: "a runtime can be declared dead only once",
      async run(setup) {
        await setup.hold("a");
        await setup.die(ALPHA);
        expect(await setup.provider.expireRuntime({ id: ALPHA, staleMs: null })).toEqual({
          expired: false,
          instances: 0,
          tasks: 0,
        });
      },
    },
    {
      title:
        "a runtime that is known to be dead is declared dead at once, even after a recent heartbeat (P9)",
      async run(setup) {
        await setup.start("a");
        await setup.leaseOnly("a", ALPHA);
        await setup.provider.beat(ALPHA);
        expect(await setup.provider.expireRuntime({ id: ALPHA, staleMs: null })).toMatchObject({
          expired: true,
          instances: 1,
        });
        await setup.leaseSuspect("a");
      },
    },
    {
      title:
        "messages that a dead runtime received but did not commit are delivered to the next owner (I6)",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.turn(held, { events: [eventText()] });
        await setup.commit(sendItem({ id: "a", data: '"kept"' }));
        expect(await setup.due(held)).toHaveLength(1);
        await setup.die(ALPHA);
        const leased = await setup.leaseSuspect("a");
        expect(leased.messages.map((message) => message.data)).toEqual(['"kept"']);
        expect(leased).toMatchObject({ fresh: true, lastEvent: 2 });
        expect(leased.history).toHaveLength(2);
      },
    },
    {
      title:
        "an instance whose owner died with open steps receives a wake message (provider.runtimes.3)",
      async run(setup) {
        const open = await setup.hold("open");
        const closed = await setup.hold("closed");
        await setup.turn(open, { events: [eventText()], stepsOpen: true });
        await setup.turn(closed, { events: [eventText()], stepsOpen: true });
        await setup.turn(closed, { events: [eventText()], stepsOpen: false });
        await setup.die(ALPHA);
        expect(await setup.inboxKinds(closed.key)).toEqual([]);
        const leased = await setup.leaseSuspect("open");
        expect(leased.messages).toMatchObject([{ kind: "wake" }]);
      },
    },
    {
      title: "a deregistration releases leases and counts as no failure",
      async run(setup) {
        await setup.start("a");
        await setup.leaseOnly("a", ALPHA);
        await setup.provider.removeRuntime(ALPHA);
        expect((await setup.provider.listRuntimes()).map((runtime) => runtime.id)).toEqual([BETA]);
        expect(await setup.leaseOnly("a", BETA)).toMatchObject({ suspicion: 0, fresh: true });
      },
    },
    {
      title:
        "an instance whose owner deregistered with open steps also receives a wake message (P9)",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.turn(held, { events: [eventText()], stepsOpen: true });
        await setup.provider.removeRuntime(ALPHA);
        const leased = await setup.leaseOnly("a", BETA);
        expect(leased.messages).toMatchObject([{ kind: "wake" }]);
      },
    },
    {
      title:
        "an instance with open steps and an expired lease can be leased by another runtime (P9)",
      async run(setup) {
        const held = await setup.hold("a", { leaseMs: 1_000 });
        await setup.turn(held, { events: [eventText()], stepsOpen: true });
        await setup.environment.advance(1_001);
        const leased = await setup.leaseSuspect("a");
        expect(leased).toMatchObject({ fresh: true, lastEvent: 2 });
      },
    },
    {
      title: "declaring one runtime dead does not affect the leases of other runtimes",
      async run(setup) {
        const held = await setup.hold("a", { owner: BETA });
        await setup.die(ALPHA);
        await setup.turn(held, { events: [eventText()] });
        expect(await setup.read("a")).toMatchObject({ owner: BETA });
      },
    },
    {
      title: "the provider uses the clock of its environment (provider.1)",
      async run(setup) {
        expect(setup.provider.now()).toBe(setup.environment.now());
        await setup.environment.advance(12_345);
        expect(setup.provider.now()).toBe(setup.environment.now());
        expect(setup.provider.environment).toBe(setup.environment);
      },
    },
    {
      title: "an instance that is released with open steps can be leased by another runtime (P9)",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.turn(held, { events: [eventText()], stepsOpen: true });
        const { key, token } = held;
        await setup.commit({ kind: "releaseInstance", key, token });
        expect(await setup.leaseOnly("a", BETA)).toMatchObject({ fresh: true, lastEvent: 2 });
      },
    },
    {
      title:
        "a runtime that was declared dead cannot keep instances from other runtimes (provider.runtimes.1, P9)",
      async run(setup) {
        await setup.die(ALPHA);
        await setup.start("a");
        await setup.start("b", { lease: { owner: ALPHA, token: fresh() } });
        await setup.lease(ALPHA);
        const seen: string[] = [];
        for (let round = 0; round < 2; round++) {
          const { instances } = await setup.lease(BETA, { allowSuspect: true });
          seen.push(...instances.filter(({ fresh: isNew }) => isNew).map(({ id }) => id));
        }
        expect(seen.toSorted()).toEqual(["a", "b"]);
      },
    },
    {
      title:
        "a runtime that was declared dead cannot keep tasks from other runtimes (provider.runtimes.1, P9)",
      async run(setup) {
        const held = await setup.hold("a", { owner: BETA });
        await setup.die(ALPHA);
        await setup.schedule(held);
        await setup.leaseTasks(ALPHA);
        expect((await setup.leaseTasks(BETA, { allowSuspect: true })).tasks).toHaveLength(1);
      },
    },
    {
      title:
        "a runtime that was declared dead leases nothing, and the result reports no further work",
      async run(setup) {
        const held = await setup.hold("a", { owner: BETA });
        for (let task = 0; task < 2; task++) await setup.schedule(held);
        await setup.start("b");
        await setup.die(ALPHA);
        const tasks = await setup.leaseTasks(ALPHA, { limit: 1 });
        expect(tasks).toMatchObject({ tasks: [], more: false });
        const instances = await setup.lease(ALPHA, { limit: 1 });
        expect(instances).toMatchObject({ instances: [], more: false });
      },
    },
    {
      title: "an instance with open steps stays with its owner until the lease expires",
      async run(setup) {
        const timed = await setup.hold("timed", { leaseMs: 1_000 });
        const untimed = await setup.hold("untimed");
        await setup.turn(timed, { events: [eventText()], stepsOpen: true });
        await setup.turn(untimed, { events: [eventText()], stepsOpen: true });
        await setup.environment.advance(500);
        await setup.leaseNothing(BETA, { allowSuspect: true });
        await setup.turn(timed, { events: [eventText()] });
        await setup.turn(untimed, { events: [eventText()] });
      },
    },
    {
      title:
        "a runtime is stale exactly staleMs after its last heartbeat, not a millisecond earlier (provider.runtimes.2)",
      async run(setup) {
        await setup.environment.advance(4_999);
        const request = { id: ALPHA, staleMs: 5_000 };
        expect(await setup.provider.expireRuntime(request)).toMatchObject({ expired: false });
        await setup.environment.advance(1);
        expect(await setup.provider.expireRuntime(request)).toMatchObject({ expired: true });
      },
    },
  ],
};
